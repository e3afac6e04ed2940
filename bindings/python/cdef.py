# SPDX-License-Identifier: Apache-2.0
"""Declarations for cffi, taken from the public headers, so that the two cannot differ.

The headers are plain enough for this: comments, include guards and
GPUTRACE_API go; a macro that is a number stays as one, its value left to the C
compiler.
"""
import pathlib
import re

AREAS = ["common", "ctx", "object", "compile", "clock", "target", "attach", "event", "gpu", "symbol", "reader",
         "export"]
BPF_HEADER = "bpf/gputrace_gpu.h"

# Of <linux/bpf.h>: kinds of maps that an object may hold, and flags of an update.
KERNEL_CONSTANTS = """
BPF_MAP_TYPE_HASH BPF_MAP_TYPE_ARRAY BPF_MAP_TYPE_PROG_ARRAY BPF_MAP_TYPE_PERF_EVENT_ARRAY
BPF_MAP_TYPE_PERCPU_HASH BPF_MAP_TYPE_PERCPU_ARRAY BPF_MAP_TYPE_STACK_TRACE
BPF_MAP_TYPE_LRU_HASH BPF_MAP_TYPE_LRU_PERCPU_HASH BPF_MAP_TYPE_LPM_TRIE
BPF_MAP_TYPE_QUEUE BPF_MAP_TYPE_STACK BPF_MAP_TYPE_RINGBUF
BPF_ANY BPF_NOEXIST BPF_EXIST BPF_F_MMAPABLE
""".split()

SOURCE = """
#include <linux/bpf.h>
#include <gputrace/gputrace.h>
#include <gputrace/bpf/gputrace_gpu.h>

#ifndef GPUTRACE_PYTHON_INCLUDEDIR
#define GPUTRACE_PYTHON_INCLUDEDIR ""
#endif
static const char *const gputrace_python_includedir = GPUTRACE_PYTHON_INCLUDEDIR;
"""

# For gputrace.trace(): what is due, in one call, during which the program's own Python runs.
RECORD = """
struct gputrace_python_record {
	uint64_t launch_id, start, end, time_error, duration, stream;
	uint32_t kernel_id, grid[3], block[3], shared_bytes;
	int32_t device, tid;
	int32_t run;	/* 0: a launch, of which only kernel_id counts */
};
"""

DRAIN = """
static void gputrace_python_take(const struct gputrace_event *event, struct gputrace_python_record *record)
{
	const uint32_t *grid = gputrace_event_get_grid(event), *block = gputrace_event_get_block(event);
	int i;

	record->run = gputrace_event_get_type(event) == GPUTRACE_EVENT_KERNEL;
	record->launch_id = gputrace_event_get_launch_id(event);
	record->start = gputrace_event_get_time(event);
	record->end = gputrace_event_get_end(event);
	record->time_error = gputrace_event_get_time_error(event);
	record->duration = gputrace_event_get_gpu_end(event) - gputrace_event_get_gpu_start(event);
	record->stream = gputrace_event_get_stream(event);
	record->kernel_id = gputrace_event_get_kernel_id(event);
	for (i = 0; i < 3; i++) {
		record->grid[i] = grid ? grid[i] : 0;
		record->block[i] = block ? block[i] : 0;
	}
	record->shared_bytes = gputrace_event_get_shared_bytes(event);
	record->device = gputrace_event_get_device(event);
	record->tid = gputrace_event_get_tid(event);
}

/*
 * Put what is due into the file, and runs and successful launches of kernels into records, until there
 * are so many, nothing is left, or a note comes (*ret_note, else NULL).  How many records there are.
 */
static unsigned gputrace_python_drain(struct gputrace_reader *reader, struct gputrace_writer *writer,
				      struct gputrace_python_record *records, unsigned capacity,
				      const struct gputrace_event **ret_note)
{
	const struct gputrace_event *event;
	unsigned count = 0;

	*ret_note = NULL;
	while (count < capacity && !*ret_note && (event = gputrace_reader_next(reader))) {
		switch (gputrace_event_get_type(event)) {
		case GPUTRACE_EVENT_LAUNCH:
			if (gputrace_event_get_result(event))
				break;
			/* fall through */
		case GPUTRACE_EVENT_KERNEL:
			gputrace_python_take(event, &records[count++]);
			break;
		case GPUTRACE_EVENT_NOTE:
			*ret_note = event;
			break;
		}
		gputrace_writer_add(writer, event);
	}
	return count;
}
"""

SOURCE += RECORD + DRAIN

EXTRA = """
static unsigned gputrace_python_drain(struct gputrace_reader *reader, struct gputrace_writer *writer,
				      struct gputrace_python_record *records, unsigned capacity,
				      const struct gputrace_event **ret_note);
extern "Python" void gputrace_python_log(void *data, int level, const char *text);
extern "Python" void gputrace_python_records(void *data, const struct gputrace_records *records);
static const char *const gputrace_python_includedir;
"""


def without_comments(text):
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)


def constants(text):
    """The macros that are numbers."""
    names = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(GPUTRACE_\w+)[ \t]+\(*-?\d", text, flags=re.MULTILINE)
    return "".join(f"#define {name} ...\n" for name in names)


def declarations(text):
    """What is declared, without the preprocessor's lines."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    text = "\n".join(lines)
    text = re.sub(r"\bGPUTRACE_(API|BEGIN_DECLS|END_DECLS)\b", "", text)
    return re.sub(r"\n\s*\n+", "\n", text)


def area(include, name):
    text = without_comments((pathlib.Path(include) / "gputrace" / f"{name}.h").read_text())
    return constants(text) + declarations(text)


def gpu_context(include):
    """From the header for authors of BPF programs: constants, and what a program gets."""
    text = without_comments((pathlib.Path(include) / "gputrace" / BPF_HEADER).read_text())
    struct = re.search(r"struct gputrace_gpu_ctx \{.*?\};", text, flags=re.DOTALL).group()
    return constants(text) + re.sub(r"\b__u(\d+)\b", r"uint\1_t", struct)


def of_headers(include):
    """Everything, as one text for each area."""
    kernel = "".join(f"#define {name} ...\n" for name in KERNEL_CONSTANTS)
    return [area(include, name) for name in AREAS] + [gpu_context(include), kernel, without_comments(RECORD) + EXTRA]
