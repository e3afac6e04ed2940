/* SPDX-License-Identifier: Apache-2.0 */
/* An event inside the library; the accessors of <gputrace/event.h> read it. */
#ifndef GT_READER_EVENT_H
#define GT_READER_EVENT_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

struct gputrace_gpu;

struct gputrace_event {
	int type;			/* enum gputrace_event_type */
	uint64_t time, end;		/* CLOCK_MONOTONIC ns */
	uint64_t time_error;
	uint64_t lateness;
	uint64_t gpu_start, gpu_end;
	int pid, tid;
	uint64_t launch_id;
	uint64_t range_id, external_id;
	const char *domain;
	bool spans;			/* a range that need not nest with its thread's others */
	uint32_t kernel_id;
	uint32_t context;
	int device;			/* ordinal as the program sees it */
	const struct gputrace_gpu *gpu;
	uint64_t stream;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
	int copy_kind;			/* enum gputrace_copy_kind */
	uint64_t copy_bytes;
	int result;
	uint64_t value;			/* the whole register that the result came in */
	uint64_t args[12];
	unsigned arg_count;
	int api_function;		/* for the names of its arguments */
	const uint64_t *stack;		/* return addresses, the caller's first */
	unsigned stack_count;
	int stack_end;			/* enum gputrace_stack_end */
	double metric_value;
	const char *unit;
	const char *name;
	const char *text;
	char command[16];		/* of the thread */
	const void *data;
	size_t data_size;
	uint64_t count;
};

#endif
