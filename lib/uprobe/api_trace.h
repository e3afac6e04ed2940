/* SPDX-License-Identifier: Apache-2.0 */
/* The target's driver API calls, seen by uprobes on libcuda. */
#ifndef GT_UPROBE_API_TRACE_H
#define GT_UPROBE_API_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/uprobe/api_flags.h"

struct gt_api_trace;
struct gt_notes;

#define GT_API_CALL_ARGS 12

struct gt_api_call {
	uint64_t enter, leave;	/* CLOCK_MONOTONIC ns */
	uint32_t pid, tid;	/* as seen from the opener's pid namespace */
	uint32_t function;	/* index for gt_api_name(); of a trace by pattern, among the functions found */
	int32_t result;
	uint64_t value;		/* the whole register that the result is in */
	uint32_t depth;		/* 0: called by the program, 1: by a driver function that it called, ... */
	uint32_t flags;		/* GT_API_CALL_* */
	const char *name;	/* the trace's */
	/* Each widened from its type; of a trace by pattern, registers as they were. */
	unsigned arg_count;
	uint64_t args[GT_API_CALL_ARGS];
	char comm[16];
	/* From the agent: what the thread's work belonged to. */
	uint64_t range, external;
	/* Return addresses, the caller's first; the ring's memory. */
	uint32_t stack_count;
	const uint64_t *stack;
	/* Or where to find at most stack_frames of them; NULL and 0: not so. */
	const struct gt_stack_registers *registers;
	const uint8_t *copy;	/* of the stack */
	uint32_t copy_bytes, stack_frames;
};

struct gt_api_trace_opts {
	const char *library;	/* path of the libcuda that the target will load, or of what has the pattern's functions; or NULL */
	const char *soname;	/* watch every file of that library which the processes have loaded or load later; NULL: only `library` */
	struct gt_notes *notes;	/* gets what does not work as it should, also later; has to live as long as the trace */
	const char *pattern;	/* watch the functions that match, not the driver API's; NULL: those */
	uint64_t ring_bytes;	/* power of two, at least a page */
	pid_t pid;		/* this process and those it has started and will start; -1: every process */
	uint32_t flags;		/* GT_API_TRACE_* */
	uint32_t stack_frames;	/* of the caller's stack to take with each call, at most 127; with copies GT_UNWIND_FRAMES */
	uint32_t stack_bytes;	/* of it to copy, for the reader to find the callers in; 0: they are found here */
};

#define GT_API_TRACE_QUERIES 1u		/* functions that only ask too (cuCtxGetCurrent, ...): many calls, little news */
#define GT_API_TRACE_SINGLE 2u		/* one attachment for each function, as on kernels before 6.6 */

/*
 * 0, or the errors that gputrace_attach_api() documents, with gt_error() text.
 * Every process that has the library mapped pays for the breakpoints, watched or not.
 */
int gt_api_trace_open(const struct gt_api_trace_opts *opts, struct gt_api_trace **ret_trace);

/* Take the breakpoints away; what waits in the ring can still be consumed.  May be called twice. */
void gt_api_trace_detach(struct gt_api_trace *trace);

/* What was not consumed is gone. */
void gt_api_trace_close(struct gt_api_trace *trace);

/*
 * Hand over the calls that have ended, in the order of their ends (exactly so for
 * each thread; two threads that end at the same moment may come either way
 * round); returns how many, or -errno.  All that waits is handed over, and no more
 * than the ring holds, should calls come faster than fn takes them.  Files that were
 * loaded since the last time are attached to.
 */
int gt_api_trace_consume(struct gt_api_trace *trace,
			 void (*fn)(void *data, const struct gt_api_call *call), void *data);

/* Calls dropped so far because the ring was full or a map overflowed. */
uint64_t gt_api_trace_lost(const struct gt_api_trace *trace);

/* How many functions are watched. */
unsigned gt_api_trace_watched(const struct gt_api_trace *trace);

/* Is any process that it watches running?  false also when that is not known. */
bool gt_api_trace_has_processes(const struct gt_api_trace *trace);

/* What functions do. */
enum gt_api_group {
	GT_API_LAUNCH,		/* launch one kernel */
	GT_API_GRAPH_LAUNCH,
	GT_API_MODULE,		/* load code, find functions in it, set their attributes */
	GT_API_MEMORY,		/* allocate, free, register, map */
	GT_API_COPY,
	GT_API_MEMSET,
	GT_API_SYNC,		/* wait or poll */
	GT_API_STREAM,
	GT_API_EVENT,
	GT_API_CONTEXT,
	GT_API_GRAPH,		/* build and change graphs */
	GT_API_QUERY		/* only ask */
};

/* Name, group, argument count, names and types of a function; NULL, -1 or 0 past the table. */
const char *gt_api_name(uint32_t function);
int gt_api_group(uint32_t function);
unsigned gt_api_arg_count(uint32_t function);
const char *gt_api_arg_name(uint32_t function, unsigned index);
/* The letter that api_table.h explains. */
char gt_api_arg_type(uint32_t function, unsigned index);
/* An argument as it was passed: a narrow one has rubbish in the upper bits of its register or stack slot. */
uint64_t gt_api_widen(uint32_t function, unsigned index, uint64_t value);
/* Does the function launch a kernel (not a graph)? */
int gt_api_is_launch(uint32_t function);

#endif
