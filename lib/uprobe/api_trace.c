/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_trace.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/uprobe/api_call.h"
#include "lib/uprobe/api_files.h"
#include "lib/uprobe/api_kernel.h"
#include "lib/util/error.h"
#include "lib/util/notes.h"

struct gt_api_trace {
	struct gt_api_trace_opts opts;		/* pattern and soname are malloc'd, library is not kept */
	struct gt_api_kernel kernel;
	struct gt_api_files files;
	/* While consuming: */
	void (*fn)(void *data, const struct gt_api_call *call);
	void *data;
	int taken;
	int64_t budget;		/* bytes to take before the others get their turn */
};

/* ---- reading ---- */

/* What a record takes up in the ring. */
#define RECORD_BYTES(size) (((int64_t)(size) + BPF_RINGBUF_HDR_SZ + 7) & ~7ll)

static int take_record(void *data, void *bytes, size_t size)
{
	struct gt_api_trace *trace = data;
	struct gt_api_call call;
	int r = gt_api_call_read(&trace->files, bytes, size, &call);

	if (r)
		return r;
	trace->fn(trace->data, &call);
	trace->taken++;
	trace->budget -= RECORD_BYTES(size);
	return trace->budget > 0 ? 0 : -ECANCELED;
}

int gt_api_trace_consume(struct gt_api_trace *trace,
			 void (*fn)(void *data, const struct gt_api_call *call), void *data)
{
	int r;

	gt_api_files_look(&trace->files);
	gt_process_filter_check(&trace->kernel.processes, trace->opts.notes);
	trace->fn = fn;
	trace->data = data;
	trace->taken = 0;
	/* All that is there now, but no endless race with those who add to it. */
	trace->budget = (int64_t)trace->opts.ring_bytes;
	r = ring_buffer__consume(trace->kernel.ring);
	return r < 0 && r != -ECANCELED ? r : trace->taken;
}

/* ---- beginning and ending ---- */

static int check_opts(const struct gt_api_trace_opts *opts)
{
	uint64_t ring = opts->ring_bytes;

	if (ring < (uint64_t)sysconf(_SC_PAGESIZE) || ring > 1ull << 30 || ring & (ring - 1))
		return gt_error(-EINVAL, "ring size %llu: it must be a power of two, a page to 1 GiB",
				(unsigned long long)ring);
	if (!opts->library && !opts->soname)
		return gt_error(-EINVAL, "no library to watch");
	if (opts->flags & ~(GT_API_TRACE_QUERIES | GT_API_TRACE_SINGLE))
		return gt_error(-EINVAL, "unknown flags %#x", opts->flags);
	if (opts->pid == 0 || opts->pid < -1)
		return gt_error(-EINVAL, "process id %d", (int)opts->pid);
	if (!opts->stack_bytes && opts->stack_frames > GT_API_STACK_MAX)
		return gt_error(-EINVAL, "%u frames of the stack: at most %d can be taken", opts->stack_frames,
				GT_API_STACK_MAX);
	if (opts->stack_bytes && libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_ringbuf_reserve_dynptr, NULL) != 1)
		return gt_error(-EOPNOTSUPP, "uprobes cannot copy stacks on this kernel (Linux 5.19 and newer can)");
	return 0;
}

static struct gt_api_trace *new_trace(const struct gt_api_trace_opts *opts)
{
	struct gt_api_trace *trace = calloc(1, sizeof(*trace));

	if (!trace)
		return NULL;
	trace->opts = *opts;
	trace->opts.pattern = opts->pattern ? strdup(opts->pattern) : NULL;
	trace->opts.soname = opts->soname ? strdup(opts->soname) : NULL;
	trace->files.opts = &trace->opts;
	trace->files.kernel = &trace->kernel;
	if (!trace->opts.pattern != !opts->pattern || !trace->opts.soname != !opts->soname) {
		gt_api_trace_close(trace);
		return NULL;
	}
	return trace;
}

int gt_api_trace_open(const struct gt_api_trace_opts *opts, struct gt_api_trace **ret_trace)
{
	struct gt_probed_file *file = NULL;
	struct gt_api_trace *trace;
	int r = check_opts(opts);

	if (r < 0)
		return r;
	trace = new_trace(opts);
	if (!trace)
		return gt_error(-ENOMEM, "no memory to watch calls");
	if (opts->library)
		r = gt_api_files_find(&trace->files, opts->library, &file);
	if (r == 0)
		r = gt_api_kernel_start(&trace->kernel, &trace->opts, take_record, trace);
	if (r == 0 && file)
		r = gt_api_files_attach(&trace->files, file);
	/* It is one of several, then. */
	if (r == -EBUSY && opts->soname) {
		gt_notes_add(opts->notes, "calls of %s are not seen: %s", opts->library, gt_error_text());
		r = 0;
	}
	if (r == 0 && opts->soname)
		r = gt_api_files_follow(&trace->files);
	if (r < 0) {
		gt_api_trace_close(trace);
		return r;
	}
	*ret_trace = trace;
	return 0;
}

void gt_api_trace_detach(struct gt_api_trace *trace)
{
	gt_api_files_detach(&trace->files);
}

void gt_api_trace_close(struct gt_api_trace *trace)
{
	if (!trace)
		return;
	gt_api_files_free(&trace->files);
	gt_api_kernel_stop(&trace->kernel);
	free((char *)(uintptr_t)trace->opts.pattern);
	free((char *)(uintptr_t)trace->opts.soname);
	free(trace);
}

uint64_t gt_api_trace_lost(const struct gt_api_trace *trace)
{
	return __atomic_load_n(&trace->kernel.counters->lost, __ATOMIC_RELAXED);
}

unsigned gt_api_trace_watched(const struct gt_api_trace *trace)
{
	unsigned watched = 0;

	for (unsigned i = 0; i < trace->files.count; i++)
		watched += trace->files.list[i]->watched;
	return watched;
}

bool gt_api_trace_has_processes(const struct gt_api_trace *trace)
{
	return gt_process_filter_has_any(&trace->kernel.processes);
}
