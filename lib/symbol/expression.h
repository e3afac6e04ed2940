/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions in which call frame information says where a caller's registers are. */
#ifndef GT_SYMBOL_EXPRESSION_H
#define GT_SYMBOL_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* x86-64, by DWARF's numbers: those that a function keeps for its caller, and the return address. */
enum gt_register { GT_RBX = 3, GT_RBP = 6, GT_RSP = 7, GT_R12 = 12, GT_R13, GT_R14, GT_R15, GT_PC, GT_REGISTERS };

struct gt_registers {
	uint64_t value[GT_REGISTERS];
	uint32_t known;		/* bit mask of those that are */
};

/* What was copied of a thread's stack. */
struct gt_stack {
	uint64_t start;		/* address of the first byte */
	uint64_t size;
	const uint8_t *bytes;
};

/* -ENODATA: it lies behind what was copied; -EFAULT: not on the stack at all. */
int gt_stack_word(const struct gt_stack *stack, uint64_t address, uint64_t *ret_value);

/*
 * What an expression says.  The operations are those that compilers emit into .eh_frame
 * for code that makes calls; there are no branches, so it takes no longer than the
 * expression is.  first: what is on the expression's stack to begin with; NULL: nothing.
 * -ENODATA, -EFAULT; -EOPNOTSUPP: another operation; -EINVAL: it makes no sense, or
 * needs a register that is not known.
 */
int gt_expression_evaluate(const uint8_t *bytes, size_t size, const struct gt_registers *registers,
			   const uint64_t *first, const struct gt_stack *stack, uint64_t *ret_value);

#endif
