/* SPDX-License-Identifier: Apache-2.0 */
/* Where instructions name uniform registers. */
#include "lib/agent/graft/insn.h"

/* Operand places of the uniform data path: destination, then a, b, c. */
enum { PLACE_D = 1, PLACE_A = 2, PLACE_B = 4, PLACE_C = 8, WIDE_D = 16, WIDE_C = 32, NO_UP = 64, NO_UP2 = 128 };

/* What we know of the uniform data path; 0: nothing. */
static unsigned uniform_operands(gt_word word)
{
	switch (gt_op_proper(word)) {
	case 0x082:	/* UMOV */
		return PLACE_D | PLACE_B;
	case 0x086:	/* VOTEU */
		return PLACE_D | NO_UP;
	case 0x090:	/* UIADD3 */
		return PLACE_D | PLACE_A | PLACE_B | PLACE_C | NO_UP | NO_UP2;
	case 0x091:	/* ULEA */
	case 0x092:	/* ULOP3 */
	case 0x0a4:	/* UIMAD */
		return PLACE_D | PLACE_A | PLACE_B | PLACE_C | NO_UP;
	case 0x0a5:	/* UIMAD.WIDE */
		return PLACE_D | WIDE_D | PLACE_A | PLACE_B | PLACE_C | WIDE_C | NO_UP;
	case 0x099:	/* USHF */
	case 0x096:	/* UPRMT */
		return PLACE_D | PLACE_A | PLACE_B | PLACE_C;
	case 0x0bd:	/* UFLO */
	case 0x0be:	/* UBREV */
	case 0x0bf:	/* UPOPC */
		return PLACE_D | PLACE_B;
	case 0x0b9:	/* ULDC; indexed it would read a register */
		return gt_op(word) == GT_OP_ULDC && !gt_bits(word, 91, 1) ?
		       PLACE_D | (gt_bits(word, 73, 1) ? WIDE_D : 0) : 0;
	}
	return 0;
}

static int add(struct gt_uniform *places, int count, unsigned at, unsigned width, bool written)
{
	places[count] = (struct gt_uniform){ (uint8_t)at, (uint8_t)width, written };
	return count + 1;
}

/* An instruction of the uniform data path; one that writes a uniform predicate is none of ours. */
static int data_path_places(gt_word word, struct gt_uniform *places)
{
	unsigned operands = uniform_operands(word), form = gt_op_form(word);
	int count = 0;

	if (!operands || (operands & NO_UP && gt_bits(word, 81, 3) != GT_PT) ||
	    (operands & NO_UP2 && gt_bits(word, 84, 3) != GT_PT))
		return -1;
	count = add(places, count, 16, operands & WIDE_D ? 2 : 1, true);
	if (operands & PLACE_A)
		count = add(places, count, 24, 1, false);
	if (operands & PLACE_B && (form == 1 || form == 6))
		count = add(places, count, 32, 1, false);
	if (operands & PLACE_C)
		count = add(places, count, 64, operands & WIDE_C ? 2 : 1, false);
	return count;
}

int gt_uniform_places(gt_word word, struct gt_uniform places[GT_UNIFORM_MAX])
{
	unsigned proper = gt_op_proper(word);

	switch (gt_op(word)) {
	case 0x9c3:	/* S2UR */
	case 0x2ca:	/* R2UR, in two spellings */
	case 0x3c2:
		return add(places, 0, 16, 1, true);
	case GT_OP_LDCU:	/* indexed it would read a register */
		if (gt_bits(word, 24, 8) != 0xff || gt_bits(word, 73, 3) > 5)
			return -1;
		return add(places, 0, 16, gt_bits(word, 73, 3) == 5 ? 2 : 1, true);
	}
	if (proper >= 0x080 && proper < 0x100)
		return data_path_places(word, places);
	if (!gt_bits(word, 91, 1))
		return proper >= 0x1b0 ? -1 : 0;
	/* Elsewhere this bit says that there is one among the sources. */
	if (gt_is_arithmetic(word))
		return add(places, 0, 32, proper == 0x025 && gt_op_form(word) == 7 ? 2 : 1, false);	/* what is added */
	switch (proper) {
	case 0x180:	/* LD */
	case 0x181:	/* LDG */
	case 0x183:	/* LDL */
	case 0x184:	/* LDS */
		return add(places, 0, 32, 2, false);
	case 0x185:	/* ST */
	case 0x186:	/* STG */
	case 0x187:	/* STL */
	case 0x188:	/* STS */
	case 0x18a:	/* ATOM */
	case 0x18c:	/* ATOMS */
	case 0x18e:	/* RED */
	case 0x1a2:	/* ATOM on floats */
	case 0x1a5:	/* multimem */
	case 0x1a6:	/* RED on floats */
	case 0x1a8:	/* ATOMG */
	case 0x1ae:	/* LDGSTS */
		return add(places, 0, 64, 2, false);
	}
	return -1;
}

void gt_uniform_mark(gt_word word, bool used[GT_UR_COUNT])
{
	static const uint8_t anywhere[] = { 16, 24, 32, 64 };
	struct gt_uniform places[GT_UNIFORM_MAX];
	unsigned proper = gt_op_proper(word), span, i, j;
	int count = gt_uniform_places(word, places);

	for (int k = 0; k < count; k++)
		for (j = 0; j < 2; j++)
			used[(gt_bits(word, places[k].at, 6) + j) % GT_UR_COUNT] = true;
	/* A predicate alone is asked for, and the target lies where registers do. */
	if (count >= 0 || gt_op(word) == GT_OP_BRA_UNIFORM)
		return;
	/* Matrix and bulk copy instructions take runs of registers. */
	span = proper >= 0x080 && proper < 0x0e0 ? 2 : 8;
	for (i = 0; i < sizeof(anywhere); i++)
		for (j = 0; j < span; j++)
			used[(gt_bits(word, anywhere[i], 6) + j) % GT_UR_COUNT] = true;
}
