/* SPDX-License-Identifier: Apache-2.0 */
/* What is inside a stub, for the parts of this library. */
#ifndef GT_GRAFT_STUB_H
#define GT_GRAFT_STUB_H

#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/insn.h"

/*
 * The stub's text reads two special registers that nobody else reads; they hold
 * our numbers once the reading instructions have become moves.  The compiler
 * takes them for different in every thread, so what depends on them stays out
 * of registers that a warp shares.
 */
#define GT_SR_HIDDEN GT_SR_LANEMASK_GT		/* see gt_hidden_number() */
#define GT_SR_KERNEL GT_SR_LANEMASK_GE		/* kernel id and the bit below */
#define GT_KERNEL_BIT 0x80000000u		/* always set in this special register, as compilers know */

/*
 * Where the hidden parameter is, counted from where the stub takes the
 * parameters to be, and above it how far the kernel has moved its parameters
 * from there: older architectures keep large ones elsewhere.
 */
static inline uint32_t gt_hidden_number(uint32_t hidden_offset, uint32_t moved)
{
	return moved << 16 | (hidden_offset + moved);
}

/* Lists of code offsets that .nv.info.KERNEL has; the stub's are added to the kernel's. */
enum gt_list { GT_LIST_S2RCTAID, GT_LIST_LD_CACHEMOD, GT_LIST_ATOM_SYS, GT_LIST_COOP, GT_LIST_WARP_WIDE, GT_LISTS };
extern const uint8_t gt_list_attribute[GT_LISTS];

struct gt_offsets {
	uint32_t *values;
	unsigned count;
};

struct gt_graft_stub {
	uint32_t point;
	unsigned arch;
	gt_word *words;			/* up to and with the last that can be reached */
	unsigned count;
	unsigned registers;
	uint32_t frame, min_stack, max_stack;
	struct gt_offsets lists[GT_LISTS];
	struct gt_offsets coop_masks;	/* goes with GT_LIST_COOP */
	uint32_t sw_war;
	bool ctaidz;			/* it reads the block's third index */
	bool branches;			/* threads may part */
	unsigned convergence;		/* one more than the highest convergence barrier it names */
	/* Exit stubs: uniform registers that it names, by pairs. */
	bool uniform[GT_UR_COUNT / 2];
	unsigned uniform_pairs;
};

/* For stubs that run while other threads of the warp are elsewhere; *ret_why when they may not. */
int gt_stub_make_divergent(struct gt_graft_stub *stub, const char **ret_why);

#endif
