/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/stack.h"

#define STACK_TOP 0x28u		/* in bank 0 of constants */

bool gt_loads_stack_pointer(gt_word word)
{
	return gt_op(word) == GT_OP_LDC && gt_unguarded(word) && gt_bits(word, 16, 8) == GT_STACK_POINTER &&
	       gt_bits(word, 24, 8) == GT_RZ && gt_bits(word, 38, 21) == STACK_TOP && gt_bits(word, 73, 3) == 4;
}

/* Arithmetic whose second operand, from bit 32 on, is a number, a constant's place or a uniform register. */
static bool has_other_operand(gt_word word)
{
	return gt_is_arithmetic(word) && gt_op_form(word) != 1;
}

bool gt_may_read_stack_pointer(gt_word word)
{
	return gt_bits(word, 24, 8) == GT_STACK_POINTER || gt_bits(word, 64, 8) == GT_STACK_POINTER ||
	       (gt_bits(word, 32, 8) == GT_STACK_POINTER && !has_other_operand(word));
}

bool gt_moves_stack_pointer(gt_word word)
{
	bool viadd = gt_op(word) == GT_OP_VIADD_IMM;

	return (viadd || (gt_op(word) == GT_OP_IADD3_IMM && gt_bits(word, 64, 8) == GT_RZ)) && gt_unguarded(word) &&
	       gt_bits(word, 16, 8) == GT_STACK_POINTER && gt_bits(word, 24, 8) == GT_STACK_POINTER;
}

int32_t gt_stack_moved(gt_word word)
{
	return (int32_t)gt_bits(word, 32, 32);
}

/* Results of two registers and more, of those that compilers write. */
static bool is_wide(gt_word word)
{
	switch (gt_op_proper(word)) {
	case 0x005:	/* CS2R */
	case 0x025:	/* IMAD.WIDE */
	case 0x028:	/* DMUL */
	case 0x029:	/* DADD */
	case 0x02b:	/* DFMA */
		return true;
	case 0x180:	/* LD */
	case 0x181:	/* LDG */
	case 0x182:	/* LDC */
	case 0x183:	/* LDL */
	case 0x184:	/* LDS */
		return gt_bits(word, 73, 3) > 4;
	}
	return false;
}

static bool uses_below(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	return (proper == 0x183 || proper == 0x187) && gt_bits(word, 24, 8) == GT_STACK_POINTER && gt_bits(word, 63, 1);
}

bool gt_upsets_stack(gt_word word)
{
	unsigned result = gt_bits(word, 16, 8);

	if (result == GT_STACK_POINTER)
		return !gt_moves_stack_pointer(word) && !gt_names_barrier(word);
	return (!result && is_wide(word)) || uses_below(word);
}
