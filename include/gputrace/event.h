/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_EVENT_H
#define GPUTRACE_EVENT_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

/*
 * One event of the stream, borrowed from the reader: valid until the reader's
 * next call.  Times are CLOCK_MONOTONIC nanoseconds unless said otherwise.
 * Names and texts are raw, as the traced program gave them: see gputrace_escape().
 * Accessors of a field that the event's type lacks return 0 or NULL, the device -1,
 * grid and block zeros.  Since 0.1.
 */
struct gputrace_event;

enum gputrace_event_type {
	GPUTRACE_EVENT_NONE,
	GPUTRACE_EVENT_PROCESS,		/* a process loaded the agent; name: its command */
	GPUTRACE_EVENT_EXIT,		/* such a process ended; count: launches whose kernels were not seen to end */
	GPUTRACE_EVENT_CONTEXT,		/* a CUDA context was seen; name: the GPU's */
	GPUTRACE_EVENT_API,		/* a driver API call; name: the function */
	GPUTRACE_EVENT_LAUNCH,		/* a kernel launch as the agent saw it; name: the kernel */
	GPUTRACE_EVENT_KERNEL,		/* a kernel ran on the GPU; name: the kernel */
	GPUTRACE_EVENT_DATA,		/* bytes that a GPU program wrote to a ring buffer map; name: the map */
	GPUTRACE_EVENT_PRINT,		/* text that a GPU program printed; name: the kernel */
	GPUTRACE_EVENT_FUNCTION,	/* a CUDA kernel became known; name: the kernel */
	GPUTRACE_EVENT_LOST,		/* records were dropped; count: how many; name: where */
	GPUTRACE_EVENT_NOTE,		/* something the user should know; text */
	GPUTRACE_EVENT_CALL,		/* a call of another function that is watched; name: the function */
	GPUTRACE_EVENT_RANGE,		/* a range that the program made known; name: what it said */
	GPUTRACE_EVENT_MARK,		/* a moment that the program made known; name: what it said */
	GPUTRACE_EVENT_THREAD,		/* the program named thread tid; name: how */
	GPUTRACE_EVENT_COPY,		/* the GPU copied or set memory; name: as profilers call it */
	GPUTRACE_EVENT_METRIC		/* a value sampled of a GPU or of what a process uses of it; name: of what */
};

GPUTRACE_API int gputrace_event_get_type(const struct gputrace_event *event);
/*
 * When it began, and when it ended (the same for what takes no time).  METRIC: the value is of a moment between
 * them, or of all of that time (gpm.*, pcie.*, process.utilization.*).
 */
GPUTRACE_API uint64_t gputrace_event_get_time(const struct gputrace_event *event);
GPUTRACE_API uint64_t gputrace_event_get_end(const struct gputrace_event *event);
/*
 * The true times lie within this many ns of the two above; 0 for times taken on the host, of which those of the agent are
 * right within 100 ns (gputrace_event_get_type(3) says when); UINT64_MAX: not known.
 */
GPUTRACE_API uint64_t gputrace_event_get_time_error(const struct gputrace_event *event);
/*
 * How late it comes, ns: the reader has given an event before it that ended by so much later, since this one's record
 * came after the reader's window (gputrace_reader_opts.window_ns).  0: it is in its place.  Since 0.1.
 */
GPUTRACE_API uint64_t gputrace_event_get_lateness(const struct gputrace_event *event);
/*
 * KERNEL and PRINT: the GPU's own times, %globaltimer ns.  COPY: from when its stream came to it until
 * the stream went on behind it, or, for a function that waits, until that returned; to within the time error.
 */
GPUTRACE_API uint64_t gputrace_event_get_gpu_start(const struct gputrace_event *event);
GPUTRACE_API uint64_t gputrace_event_get_gpu_end(const struct gputrace_event *event);
/* METRIC: 0 if it is the whole GPU's. */
GPUTRACE_API int gputrace_event_get_pid(const struct gputrace_event *event);
GPUTRACE_API int gputrace_event_get_tid(const struct gputrace_event *event);
GPUTRACE_API const char *gputrace_event_get_name(const struct gputrace_event *event);
/* API and CALL that the operating system's kernel saw: the thread's name, as in /proc/PID/task/TID/comm. */
GPUTRACE_API const char *gputrace_event_get_command(const struct gputrace_event *event);
/*
 * NOTE and PRINT: the text.  FUNCTION: why not every program meant for it is in it.
 * CONTEXT: how its clock is read.  METRIC: clocks_event_reasons.active in words.  RANGE, API and CALL: what is odd about it, else NULL.
 * COPY: why it is not known when it ran (the time error is UINT64_MAX, and time is when it was called for), else NULL.
 */
GPUTRACE_API const char *gputrace_event_get_text(const struct gputrace_event *event);

/*
 * Ties launch, kernel and API call of the same process together, or copy and API call;
 * 0: none.  A graph's kernel carries the id of the launch that was captured.
 */
GPUTRACE_API uint64_t gputrace_event_get_launch_id(const struct gputrace_event *event);
/*
 * RANGE: the number by which it is known in its process.  LAUNCH, KERNEL, COPY, PRINT and
 * API: the range that the thread had pushed last, and not popped yet, when it
 * launched or called; 0: none.  Calls seen by uprobes have it if they launch a kernel.
 */
GPUTRACE_API uint64_t gputrace_event_get_range_id(const struct gputrace_event *event);
/* LAUNCH, KERNEL, COPY, PRINT and API, likewise: the number that the program gave with gputrace_agent_push_id(); 0: none. */
GPUTRACE_API uint64_t gputrace_event_get_external_id(const struct gputrace_event *event);
/* RANGE and MARK: the NVTX domain, "" for the default one. */
GPUTRACE_API const char *gputrace_event_get_domain(const struct gputrace_event *event);
GPUTRACE_API uint32_t gputrace_event_get_kernel_id(const struct gputrace_event *event);
/*
 * Ordinal of the GPU as the program numbers them, which two processes may do
 * differently (see gputrace_event_get_gpu()); -1: none.
 */
GPUTRACE_API int gputrace_event_get_device(const struct gputrace_event *event);
GPUTRACE_API uint32_t gputrace_event_get_context(const struct gputrace_event *event);
GPUTRACE_API uint64_t gputrace_event_get_stream(const struct gputrace_event *event);
/* LAUNCH, KERNEL and PRINT: 3 values each. */
GPUTRACE_API const uint32_t *gputrace_event_get_grid(const struct gputrace_event *event);
GPUTRACE_API const uint32_t *gputrace_event_get_block(const struct gputrace_event *event);
GPUTRACE_API uint32_t gputrace_event_get_shared_bytes(const struct gputrace_event *event);

enum gputrace_copy_kind {
	GPUTRACE_COPY_UNKNOWN,		/* a batch of several kinds */
	GPUTRACE_COPY_HOST_TO_DEVICE,
	GPUTRACE_COPY_DEVICE_TO_HOST,
	GPUTRACE_COPY_DEVICE_TO_DEVICE,
	GPUTRACE_COPY_HOST_TO_HOST,
	GPUTRACE_COPY_PEER,		/* from the memory of one context to that of another */
	GPUTRACE_COPY_MEMSET		/* no copy: memory was set */
};
/* COPY: enum gputrace_copy_kind, and how much was copied or set (0: 3D batches with arrays, whose elements are not known). */
GPUTRACE_API int gputrace_event_get_copy_kind(const struct gputrace_event *event);
GPUTRACE_API uint64_t gputrace_event_get_copy_bytes(const struct gputrace_event *event);
/* API: the CUresult returned, -1 if the call never did; LAUNCH likewise; CALL: the lower 32 bits. */
GPUTRACE_API int gputrace_event_get_result(const struct gputrace_event *event);
/* API and CALL: the register that the result came in, all 64 bits; UINT64_MAX if the call never returned. */
GPUTRACE_API uint64_t gputrace_event_get_return_value(const struct gputrace_event *event);
/*
 * API: the arguments, at most 12, each widened from its type, and how many there
 * are.  CALL: what the first six integer registers held, whatever the function takes.
 */
GPUTRACE_API const uint64_t *gputrace_event_get_args(const struct gputrace_event *event,
						     unsigned *ret_count);
/* API: names of these arguments as in the driver's documentation, `index` below the count; NULL past it. */
GPUTRACE_API const char *gputrace_event_get_arg_name(const struct gputrace_event *event, unsigned index);
/*
 * API and CALL, where stacks were asked for: the return addresses of the functions
 * that the call was made from, the caller's first, and how many.  Found by frame
 * pointers: functions compiled without them are missing, and what called them may
 * be.  With stack_bytes found by call frame information, which code on x86-64 has in
 * any case: none is missing.  gputrace_symbolizer_resolve() names them.
 */
GPUTRACE_API const uint64_t *gputrace_event_get_stack(const struct gputrace_event *event,
						      unsigned *ret_count);

enum gputrace_stack_end {
	GPUTRACE_STACK_UNKNOWN,		/* no stack, or found by frame pointers, which do not tell */
	GPUTRACE_STACK_COMPLETE,	/* the last function is the thread's first */
	GPUTRACE_STACK_FULL,		/* there are more callers than stack_frames */
	GPUTRACE_STACK_CUT,		/* the stack goes on behind the bytes that were copied (stack_bytes) */
	GPUTRACE_STACK_LOST		/* it goes on, but what called the last function could not be found */
};
/* What is behind the last address of the stack, enum gputrace_stack_end. */
GPUTRACE_API int gputrace_event_get_stack_end(const struct gputrace_event *event);
/* DATA: the bytes.  LOST: how many records.  EXIT: how many launches without an end. */
GPUTRACE_API const void *gputrace_event_get_data(const struct gputrace_event *event, size_t *ret_size);
GPUTRACE_API uint64_t gputrace_event_get_count(const struct gputrace_event *event);

GPUTRACE_END_DECLS

#endif
