/* SPDX-License-Identifier: Apache-2.0 */
/* What the BPF programs of api_trace.bpf.c and the library tell each other; <linux/types.h> first. */
#ifndef GT_UPROBE_API_RECORD_H
#define GT_UPROBE_API_RECORD_H

#define GT_API_ARGS_MAX 12
#define GT_API_DEPTH_MAX 8	/* exported functions that call each other on one thread */
#define GT_API_STACK_MAX 127	/* kernel.perf_event_max_stack, as the kernel comes */

/* Stacks are copied by whole pages, each of which is there or not: the copy begins below what is wanted and ends behind. */
#define GT_API_PAGE 4096

/*
 * One call in the ring: args has arg_count elements, and what follows them is the caller's
 * stack: return addresses; or, where copies are wanted, struct gt_stack_registers and a copy.
 */
struct gt_api_record {
	__u64 enter, leave;	/* bpf_ktime_get_ns(), CLOCK_MONOTONIC */
	__u32 pid, tid;
	__u16 function;		/* index in the table, or among those of the library that match */
	__u16 library;		/* which of the files that are watched */
	__u8 depth;
	__u8 arg_count;
	__u16 flags;		/* GT_API_CALL_* of api_flags.h */
	__u64 result;		/* the whole register */
	char comm[16];
	__u64 args[GT_API_ARGS_MAX];
};

/* The cookie of an attached function, and what is in it. */
#define GT_API_COOKIE(function, library, arg_count) \
	((__u64)(function) | (__u64)(library) << 16 | (__u64)(arg_count) << 32)
#define GT_API_COOKIE_FUNCTION(cookie) ((__u16)(cookie))
#define GT_API_COOKIE_LIBRARY(cookie) ((__u16)((cookie) >> 16))
#define GT_API_COOKIE_ARGS(cookie) ((__u32)((cookie) >> 32))

/* Constant while the programs run. */
struct gt_api_config {
	__u32 stack_frames;	/* of the caller's stack, at most GT_API_STACK_MAX; 0: none */
	__u32 stack_bytes;	/* instead: how many of its bytes, at most GT_STACK_COPY_MAX; 0: not so */
};

struct gt_api_counters {
	__u64 lost;		/* calls not delivered */
};

#endif
