# SPDX-License-Identifier: Apache-2.0
"""Declarations for cffi, taken from the public headers, so that the two cannot differ.

The headers are plain enough for this: comments, include guards and
GPUTRACE_API go; a macro that is a number stays as one, its value left to the C
compiler.
"""
import pathlib
import re

AREAS = ["common", "ctx", "object", "compile", "clock", "target", "attach", "event", "gpu", "symbol", "reader",
         "metrics", "export"]
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
#include <stdio.h>
#include <string.h>
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
	uint64_t launch_id, start, end, time_error, duration, stream, copy_bytes;
	uint32_t kernel_id, grid[3], block[3], shared_bytes;
	int32_t device, tid;
	int32_t type;	/* of the event; of a launch only kernel_id counts */
	int32_t copy_kind;
};
"""

DRAIN = """
static void gputrace_python_take(const struct gputrace_event *event, struct gputrace_python_record *record)
{
	const uint32_t *grid = gputrace_event_get_grid(event), *block = gputrace_event_get_block(event);
	int i;

	record->type = gputrace_event_get_type(event);
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
	record->copy_kind = gputrace_event_get_copy_kind(event);
	record->copy_bytes = gputrace_event_get_copy_bytes(event);
	record->device = gputrace_event_get_device(event);
	record->tid = gputrace_event_get_tid(event);
}

/*
 * Put what is due into the file, and runs and successful launches of kernels, and copies, into records, until
 * there are so many, nothing is left, or a note or a value of a metric comes (*ret_other, else NULL).  How many records
 * there are.
 */
static unsigned gputrace_python_drain(struct gputrace_reader *reader, struct gputrace_writer *writer,
				      struct gputrace_python_record *records, unsigned capacity,
				      const struct gputrace_event **ret_other)
{
	const struct gputrace_event *event;
	unsigned count = 0;

	*ret_other = NULL;
	while (count < capacity && !*ret_other && (event = gputrace_reader_next(reader))) {
		switch (gputrace_event_get_type(event)) {
		case GPUTRACE_EVENT_LAUNCH:
			if (gputrace_event_get_result(event))
				break;
			/* fall through */
		case GPUTRACE_EVENT_KERNEL:
		case GPUTRACE_EVENT_COPY:
			gputrace_python_take(event, &records[count++]);
			break;
		case GPUTRACE_EVENT_NOTE:
		case GPUTRACE_EVENT_METRIC:
			*ret_other = event;
			break;
		}
		gputrace_writer_add(writer, event);
	}
	return count;
}
"""

# For Reader: the next event and all that it tells, in one call.  gputrace.event knows the order.
NEXT = """
static uint64_t gputrace_python_put(unsigned char *to, uint64_t room, uint64_t *used, const void *bytes, uint64_t size)
{
	if (!bytes)
		return UINT64_MAX;
	if (*used + size <= room)
		memcpy(to + *used, bytes, size);
	*used += size;
	return size;
}

static uint64_t gputrace_python_put_text(unsigned char *to, uint64_t room, uint64_t *used, const char *text)
{
	return gputrace_python_put(to, room, used, text, text ? strlen(text) : 0);
}

static uint64_t gputrace_python_put_names(unsigned char *to, uint64_t room, uint64_t *used,
					  const struct gputrace_event *event, unsigned count)
{
	uint64_t size = 0;
	unsigned i;

	for (i = 0; i < count; i++) {
		const char *name = gputrace_event_get_arg_name(event, i);
		char number[16];

		snprintf(number, sizeof(number), "arg%u", i);
		size += gputrace_python_put_text(to, room, used, name ? name : number);
		size += gputrace_python_put(to, room, used, "", 1);
	}
	return size;
}

/* Numbers, the first of which says how many bytes all takes, and then what has lengths, of which those are numbers. */
static void gputrace_python_copy(const struct gputrace_event *event, unsigned char *to, uint64_t room)
{
	static const uint32_t none[3];
	const uint32_t *grid = gputrace_event_get_grid(event), *block = gputrace_event_get_block(event);
	unsigned arg_count, frame_count;
	const uint64_t *args = gputrace_event_get_args(event, &arg_count);
	const uint64_t *stack = gputrace_event_get_stack(event, &frame_count);
	size_t data_size;
	const void *data = gputrace_event_get_data(event, &data_size);
	uint64_t numbers[GPUTRACE_PYTHON_NUMBERS], *at = numbers + 1, used = sizeof(numbers);
	double value = gputrace_event_get_metric_value(event);

	grid = grid ? grid : none;
	block = block ? block : none;
	*at++ = gputrace_event_get_time(event);
	*at++ = gputrace_event_get_end(event);
	*at++ = gputrace_event_get_time_error(event);
	*at++ = gputrace_event_get_lateness(event);
	*at++ = gputrace_event_get_gpu_start(event);
	*at++ = gputrace_event_get_gpu_end(event);
	*at++ = gputrace_event_get_launch_id(event);
	*at++ = gputrace_event_get_range_id(event);
	*at++ = gputrace_event_get_external_id(event);
	*at++ = gputrace_event_get_kernel_id(event);
	*at++ = gputrace_event_get_context(event);
	*at++ = gputrace_event_get_stream(event);
	*at++ = gputrace_event_get_shared_bytes(event);
	*at++ = gputrace_event_get_copy_bytes(event);
	*at++ = gputrace_event_get_return_value(event);
	*at++ = gputrace_event_get_count(event);
	*at++ = (uintptr_t)gputrace_event_get_gpu(event);
	*at++ = grid[0];
	*at++ = grid[1];
	*at++ = grid[2];
	*at++ = block[0];
	*at++ = block[1];
	*at++ = block[2];
	memcpy(at++, &value, sizeof(value));
	/* What can be negative from here on. */
	*at++ = (uint64_t)(int64_t)gputrace_event_get_type(event);
	*at++ = (uint64_t)(int64_t)gputrace_event_get_pid(event);
	*at++ = (uint64_t)(int64_t)gputrace_event_get_tid(event);
	*at++ = (uint64_t)(int64_t)gputrace_event_get_device(event);
	*at++ = (uint64_t)(int64_t)gputrace_event_get_copy_kind(event);
	*at++ = (uint64_t)(int64_t)gputrace_event_get_result(event);
	*at++ = (uint64_t)(int64_t)gputrace_event_get_stack_end(event);
	*at++ = gputrace_python_put_text(to, room, &used, gputrace_event_get_name(event));
	*at++ = gputrace_python_put_text(to, room, &used, gputrace_event_get_text(event));
	*at++ = gputrace_python_put_text(to, room, &used, gputrace_event_get_command(event));
	*at++ = gputrace_python_put_text(to, room, &used, gputrace_event_get_domain(event));
	*at++ = gputrace_python_put_text(to, room, &used, gputrace_event_get_unit(event));
	*at++ = gputrace_python_put_names(to, room, &used, event, arg_count);
	*at++ = gputrace_python_put(to, room, &used, args ? (const void *)args : "", arg_count * sizeof(*args));
	*at++ = gputrace_python_put(to, room, &used, stack ? (const void *)stack : "", frame_count * sizeof(*stack));
	*at++ = gputrace_python_put(to, room, &used, data ? data : "", data_size);
	numbers[0] = used;
	memcpy(to, numbers, sizeof(numbers));
}

/* `room` is at least what the numbers take. */
static const struct gputrace_event *gputrace_python_next(struct gputrace_reader *reader, unsigned char *to, uint64_t room)
{
	const struct gputrace_event *event = gputrace_reader_next(reader);

	if (event)
		gputrace_python_copy(event, to, room);
	return event;
}
"""

SOURCE += "#define GPUTRACE_PYTHON_NUMBERS 41\n" + RECORD + DRAIN + NEXT

EXTRA = """
#define GPUTRACE_PYTHON_NUMBERS ...
static void gputrace_python_copy(const struct gputrace_event *event, unsigned char *to, uint64_t room);
static const struct gputrace_event *gputrace_python_next(struct gputrace_reader *reader, unsigned char *to, uint64_t room);
static unsigned gputrace_python_drain(struct gputrace_reader *reader, struct gputrace_writer *writer,
				      struct gputrace_python_record *records, unsigned capacity,
				      const struct gputrace_event **ret_other);
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
