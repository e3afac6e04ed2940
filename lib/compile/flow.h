/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be known of a program's registers without proof: which hold an
 * address in the stack frame at a known offset, the context, a map, a constant.
 * The verifier says whether a program is safe; this says how to translate it well,
 * and works without the verifier as well.
 */
#ifndef GT_COMPILE_FLOW_H
#define GT_COMPILE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/object/prog.h"

#define GT_REGS 11

enum gt_know {
	GT_KNOW_NOTHING,
	GT_KNOW_UNREACHED,	/* no path found so far */
	GT_KNOW_CONST,		/* value */
	GT_KNOW_FRAME,		/* this function's r10 + value */
	GT_KNOW_CONTEXT,	/* the program's argument + value */
	GT_KNOW_MAP,		/* the map `index` itself */
	GT_KNOW_VALUE,		/* somewhere in a value of map `index`, or NULL */
	GT_KNOW_RECORD,		/* the record reserved at instruction `index`, + value */
	GT_KNOW_FUNCTION,	/* the function that begins at instruction `index` */
};

struct gt_known {
	uint8_t what;		/* enum gt_know */
	int32_t index;
	int64_t value;
};

struct gt_regs {
	struct gt_known r[GT_REGS];
};

struct gt_function {
	unsigned start, end;	/* instructions [start, end) */
	bool callback;		/* its address is taken */
	struct gt_regs entry;	/* at its first instruction */
};

struct gt_flow {
	const struct gt_prog *prog;
	struct gt_function *functions;	/* by start; the first is the program */
	unsigned function_count;
	bool *leader;		/* by instruction: a block begins here */
	struct gt_regs *at;	/* by instruction, leaders only: registers on entry */
};

/*
 * -EOPNOTSUPP with gt_error() text: a jump out of a function or into the middle
 * of an instruction, or a function that runs off its end; -ENOMEM.
 */
int gt_flow_analyse(const struct gt_prog *prog, struct gt_flow *ret_flow);
void gt_flow_free(struct gt_flow *flow);

/* Index of the function that starts at an instruction; -1: none does. */
int gt_flow_function_at(const struct gt_flow *flow, unsigned insn);

/* The registers after an instruction, from those before it. */
void gt_flow_step(const struct gt_flow *flow, unsigned insn, struct gt_regs *regs);

#endif
