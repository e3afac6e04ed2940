/* SPDX-License-Identifier: Apache-2.0 */
/* The target's driver API calls, seen by uprobes on libcuda. */
#ifndef GT_UPROBE_API_TRACE_H
#define GT_UPROBE_API_TRACE_H

#include <stdint.h>
#include <sys/types.h>

struct gt_api_trace;

struct gt_api_call {
	uint64_t enter, leave;	/* CLOCK_MONOTONIC ns */
	uint32_t pid, tid;
	uint32_t function;	/* index for gt_api_name() */
	int32_t result;
	uint64_t args[6];
	char comm[16];
};

struct gt_api_trace_opts {
	const char *library;	/* path of the libcuda that the target will load */
	uint64_t ring_bytes;	/* power of two */
	pid_t pid;		/* this process and those it will start */
};

/* 0, or the errors that gputrace_attach_api() documents, with gt_error() text. */
int gt_api_trace_open(const struct gt_api_trace_opts *opts, struct gt_api_trace **ret_trace);
void gt_api_trace_close(struct gt_api_trace *trace);

int gt_api_trace_fd(const struct gt_api_trace *trace);

/* Hand over the calls that have ended, oldest first; returns how many, or -errno. */
int gt_api_trace_consume(struct gt_api_trace *trace,
			 void (*fn)(void *data, const struct gt_api_call *call), void *data);

/* Calls dropped so far because the ring was full or a map overflowed. */
uint64_t gt_api_trace_lost(const struct gt_api_trace *trace);

/* Name, argument count and argument names of a function; NULL past the table. */
const char *gt_api_name(uint32_t function);
unsigned gt_api_arg_count(uint32_t function);
const char *gt_api_arg_name(uint32_t function, unsigned index);
/* Does the function launch a kernel? */
int gt_api_is_launch(uint32_t function);

/* Where the dynamic loader would find libcuda.so.1 for a program started from here; malloc'd. -ENOENT. */
int gt_api_find_libcuda(char **ret_path);

#endif
