/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions of compute capability 9.0 that keep what a thread has in memory below its
 * stack, and the place of each thing there, in bytes below the stack pointer.
 */
#ifndef GT_GRAFT_KEEP_H
#define GT_GRAFT_KEEP_H

#include "lib/agent/graft/insn.h"

/* Registers that code at an access works with, until all are kept. */
#define GT_WORK_FIRST 4u
#define GT_WORK_COUNT 4u

enum gt_kept {
	GT_KEPT_WORK = 16,		/* the first of those; the others above it */
	GT_KEPT_INFO = 24,		/* how many bytes, and above them in which space */
	GT_KEPT_ADDRESS = 32,
	GT_KEPT_RETURN = 36,
	GT_KEPT_PREDICATES = 40,
	GT_KEPT_REGISTERS = 48,		/* register 0; the others below it */
};
#define GT_INFO_SPACE_AT 8u

/* All of it, for so many registers; what is below the stack is a multiple of 16 bytes. */
static inline unsigned gt_kept_bytes(unsigned registers)
{
	return (GT_KEPT_REGISTERS + 4 * registers + 15) & ~15u;
}

static inline bool gt_is_work(unsigned reg)
{
	return reg >= GT_WORK_FIRST && reg < GT_WORK_FIRST + GT_WORK_COUNT;
}

/* Loads announce themselves with barrier 0, stores with GT_LATE_BARRIER that their register has been read. */
#define GT_KEEP_BARRIER 0u
gt_word gt_make_keep(unsigned reg, unsigned below);
gt_word gt_make_restore(unsigned reg, unsigned below);

/* P0 to P6 into bits of a register, and back. */
gt_word gt_make_keep_predicates(unsigned reg);
gt_word gt_make_restore_predicates(unsigned reg);

gt_word gt_make_number(unsigned reg, uint32_t value);
/* 32 bits; of a stack pointer, for one. */
gt_word gt_make_add(unsigned reg, unsigned from, int32_t number);
/* Pairs of registers; the lower of the first holds 1. */
gt_word gt_make_add_wide(unsigned reg, unsigned from, int32_t number);

/* To where a pair of registers says, counted from the function's start. */
gt_word gt_make_return(int64_t at, unsigned reg);

/* Cycles in which nothing is done: until results are there that come after a fixed time. */
gt_word gt_make_pause(unsigned wait);

#endif
