/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that a program is safe to run on the GPU: every access in bounds,
 * every helper argument typed, termination.  Pure function of its input.
 */
#ifndef GT_VERIFY_VERIFY_H
#define GT_VERIFY_VERIFY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/object/prog.h"

/*
 * What a memory instruction's address register points at; the same on every path,
 * or the program is refused.  Every accepted access is aligned to its size, given
 * that stack frames, map values and records begin at multiples of 8.  Memory that
 * helpers work on need not be aligned.
 */
enum gt_mem {
	GT_MEM_NONE,		/* no memory instruction, or never reached */
	GT_MEM_STACK,
	GT_MEM_CONTEXT,		/* offset in gt_fact.offset, always constant */
	GT_MEM_MAP,		/* a map's value; index in gt_fact.map, or -1 when paths differ */
	GT_MEM_RECORD,		/* reserved ring record */
};

/* How a program uses a map's values. */
#define GT_USE_ADD4 1u		/* adds to 4 bytes, and does not take the old value */
#define GT_USE_ADD8 2u		/* the same, to 8 bytes */
#define GT_USE_OTHER 4u		/* anything else: reads, stores, updates, other atomics */
#define GT_USE_ANY 7u

struct gt_fact {		/* one for each instruction */
	uint8_t mem;		/* enum gt_mem */
	uint8_t reached;
	uint8_t countdown;	/* see gt_verify_result.loop_budget */
	int16_t map;		/* memory: see above; helper call: map argument's index, -1 if none */
	int32_t offset;		/* context accesses: byte offset */
	uint32_t arg_size;	/* helper calls with a size argument: its greatest value */
	int32_t stack_frame_bytes; /* at a function's first instruction: stack used, a multiple of 8 */
	uint32_t callback;	/* bpf_loop calls: first instruction of the function it calls; else 0 */
};

struct gt_verify_opts {
	unsigned log_level;	/* 0 errors only, 1 and warnings, 2 every state */
	uint64_t insn_budget;	/* instructions followed before giving up; 0: 1,000,000 */
	uint32_t loop_budget;	/* rounds that loops not proved to end may make; 0: such loops are refused */
};

struct gt_verify_result {
	struct gt_fact *facts;	/* insn_count of them */
	unsigned fact_count;
	uint64_t max_steps;	/* bound on executed instructions; UINT64_MAX: that or more */
	/*
	 * 0, or: the program holds loops that only a countdown ends.  Before each
	 * instruction whose fact says `countdown`, the code takes one from a counter
	 * that starts at this number, and returns 0 from the program when it was 0.
	 * Such instructions are in the main program only, and hold no ring record.
	 */
	uint32_t loop_budget;
	uint64_t wants;		/* GT_PROBE_WANTS_*: what the program asks of its caller */
	uint8_t *map_uses;	/* GT_USE_* of the values of each of the program's maps */
	char *log;		/* never NULL */
};

/*
 * 0 with *ret_result; -EACCES refused: *ret_result is set too, for its log, whose
 * last line is the sentence also given to gt_error(); -ENOMEM.
 */
int gt_verify(const struct gt_prog *prog, const struct gt_verify_opts *opts,
	      struct gt_verify_result **ret_result);
void gt_verify_result_free(struct gt_verify_result *result);

#endif
