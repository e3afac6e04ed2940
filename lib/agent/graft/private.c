/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brings what a stub keeps in uniform registers, which belong to the warp, into
 * registers of the thread's own.  Kernels that use tensor cores or bulk copies
 * often name every uniform register, so an exit stub had better need none.
 *
 * Each uniform instruction has a counterpart of the same layout; each of the
 * others can take an ordinary register where it takes a uniform one.  What is
 * not sure to be so stays as it is, and then all stays.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/agent/graft/stub.h"

/* Named by no compiler but counted: the last two of those that the stub takes. */
#define REGISTERS_RESERVED 2u
#define REGISTERS_MAX 255u

/* The barrier that a load's reader waits for at once. */
#define LOAD_BARRIER 4u
#define MOVE_STALL 8u

struct mapping {
	unsigned first;				/* first register of the new ones, even */
	uint8_t pair[GT_UR_COUNT / 2];		/* for each pair its number among them */
};

static unsigned own_register(const struct mapping *mapping, unsigned uniform)
{
	return uniform == GT_URZ ? GT_RZ : mapping->first + 2u * mapping->pair[uniform / 2] + uniform % 2;
}

static gt_word move_field(const struct mapping *mapping, gt_word word, unsigned at)
{
	return gt_with(word, at, 8, own_register(mapping, gt_bits(word, at, 6)));
}

static gt_word with_form(gt_word word, unsigned form)
{
	return gt_with(gt_with(word, 9, 3, form), 91, 1, 0);
}

/* At least so many cycles before the next instruction. */
static gt_word with_stall(gt_word word, unsigned stall)
{
	if (gt_bits(word, 105, 4) >= stall)
		return word;
	return gt_with(gt_with(word, 105, 4, stall), 109, 1, 1);
}

/* The ordinary twin of an instruction of the uniform data path; 0: none is known. */
static unsigned twin(gt_word word)
{
	switch (gt_op_proper(word)) {
	case 0x090:	/* UIADD3 */
	case 0x091:	/* ULEA */
	case 0x092:	/* ULOP3 */
	case 0x099:	/* USHF */
	case 0x0a4:	/* UIMAD */
		return gt_op_form(word) == 1 || gt_op_form(word) == 4 ? gt_op_proper(word) & 0x7f : 0;
	}
	return 0;
}

static bool convert_twin(const struct mapping *mapping, gt_word *word)
{
	unsigned proper = twin(*word);
	gt_word new;

	if (!proper)
		return false;
	new = gt_with(gt_with(*word, 0, 9, proper), 91, 1, 0);
	new = move_field(mapping, move_field(mapping, move_field(mapping, new, 16), 24), 64);
	if (gt_op_form(new) == 1)
		new = move_field(mapping, new, 32);
	*word = new;
	return true;
}

/* A load answers late: *ret_wait is what the next instruction has to wait for. */
static bool convert_load(const struct mapping *mapping, gt_word *word, unsigned *ret_wait)
{
	if (gt_op(*word) != GT_OP_ULDC || gt_bits(*word, 91, 1))
		return false;
	*word = gt_with(*word, 0, 12, GT_OP_LDC);
	*word = gt_with(move_field(mapping, *word, 16), 24, 8, GT_RZ);
	*word = with_stall(gt_with(*word, 110, 3, LOAD_BARRIER), 2);
	*ret_wait = 1u << LOAD_BARRIER;
	return true;
}

static gt_word make_move(gt_word like, unsigned to, unsigned from)
{
	gt_word word = gt_with(gt_make_mov_like(like, 0), 9, 3, 1);

	return gt_with(gt_with(word, 16, 8, to), 32, 8, from);
}

/* Instructions that write a uniform register. */
static bool convert_writer(const struct mapping *mapping, gt_word *word, unsigned *ret_wait)
{
	unsigned to = own_register(mapping, gt_bits(*word, 16, 6));

	switch (gt_op(*word)) {
	case 0x9c3:	/* S2UR */
		*word = gt_with(gt_with(*word, 0, 12, GT_OP_S2R), 16, 8, to);
		return true;
	case 0x886:	/* VOTEU */
		*word = with_stall(gt_with(gt_with(*word, 0, 12, 0x806), 16, 8, to), MOVE_STALL);
		return true;
	case 0x882:	/* UMOV of a number */
		*word = gt_with(gt_make_mov_like(*word, gt_bits(*word, 32, 32)), 16, 8, to);
		return true;
	case 0xc82:	/* UMOV */
		*word = make_move(*word, to, own_register(mapping, gt_bits(*word, 32, 6)));
		return true;
	case 0x2ca:	/* R2UR */
	case 0x3c2:
		*word = make_move(*word, to, gt_bits(*word, 24, 8));
		return true;
	}
	return convert_load(mapping, word, ret_wait) || convert_twin(mapping, word);
}

/*
 * Those that are known to take an ordinary register as second operand, laid out
 * alike, and to read it at once: later it might hold another value already.
 */
static bool has_register_form(unsigned proper)
{
	switch (proper) {
	case 0x002:	/* MOV */
	case 0x007:	/* SEL */
	case 0x00c:	/* ISETP */
	case 0x010:	/* IADD3 */
	case 0x011:	/* LEA */
	case 0x012:	/* LOP3 */
	case 0x016:	/* PRMT */
	case 0x017:	/* IMNMX */
	case 0x019:	/* SHF */
	case 0x024:	/* IMAD */
	case 0x025:	/* IMAD.WIDE */
		return true;
	}
	return false;
}

#define VIADD 0x036u
#define ADD_NO_CARRY 0x07ffe0ffull	/* IADD3 a, b, RZ without carries, bits 64..95 */

/* An addition of two, for which the general one of three stands in. */
static bool convert_addition(gt_word *word, unsigned uniform)
{
	if (gt_op_form(*word) != 6 || gt_bits(*word, 62, 2) || gt_bits(gt_with(*word, 91, 1, 0), 64, 32) ||
	    gt_bits(*word, 96, 9))
		return false;
	*word = gt_with(gt_with(with_form(*word, 1), 0, 9, 0x010), 32, 8, uniform);
	*word = gt_with(*word, 64, 32, ADD_NO_CARRY);
	return true;
}

/*
 * Ordinary instructions that read one.  In form 6 it stands for the second
 * operand; in form 7 for the third, with the second in the third's place.
 */
static bool convert_reader(const struct mapping *mapping, gt_word *word)
{
	unsigned proper = gt_op_proper(*word), uniform = own_register(mapping, gt_bits(*word, 32, 6));
	bool simple = proper == 0x010 || proper == 0x024 || proper == 0x025;

	if (proper == VIADD)
		return convert_addition(word, uniform);
	if (gt_op_form(*word) == 6 && has_register_form(proper)) {
		*word = gt_with(with_form(*word, 1), 32, 8, uniform);
		return true;
	}
	/* Signs belong to places, so there may be none. */
	if (gt_op_form(*word) != 7 || !simple || gt_bits(*word, 62, 2) || gt_bits(*word, 75, 1))
		return false;
	*word = gt_with(with_form(*word, 1), 32, 8, gt_bits(*word, 64, 8));
	*word = gt_with(*word, 64, 8, uniform);
	return true;
}

static bool convert(const struct mapping *mapping, gt_word *word, unsigned *ret_wait)
{
	struct gt_uniform places[GT_UNIFORM_MAX];
	int count = gt_uniform_places(*word, places);

	if (count <= 0)
		return !count;
	return places[0].written ? convert_writer(mapping, word, ret_wait) : convert_reader(mapping, word);
}

/* Numbers the pairs that are named; how many. */
static unsigned number_pairs(const struct gt_graft_stub *stub, struct mapping *mapping)
{
	bool named[GT_UR_COUNT / 2] = { false };
	struct gt_uniform places[GT_UNIFORM_MAX];
	unsigned pairs = 0;

	for (unsigned i = 0; i < stub->count; i++) {
		int count = gt_uniform_places(stub->words[i], places);

		for (int k = 0; k < count; k++)
			named[gt_bits(stub->words[i], places[k].at, 6) / 2] |=
				gt_bits(stub->words[i], places[k].at, 6) != GT_URZ;
	}
	for (unsigned p = 0; p < GT_UR_COUNT / 2; p++)
		if (named[p])
			mapping->pair[p] = (uint8_t)pairs++;
	return pairs;
}

int gt_stub_make_private(struct gt_graft_stub *stub)
{
	struct mapping mapping = { .first = (stub->registers - REGISTERS_RESERVED + 1) & ~1u };
	gt_word *words = malloc(stub->count * sizeof(*words));
	unsigned pairs = number_pairs(stub, &mapping), wait = 0, i;
	unsigned registers = mapping.first + 2 * pairs + REGISTERS_RESERVED;
	bool possible = pairs && registers <= REGISTERS_MAX;

	if (!words)
		return -ENOMEM;
	for (i = 0; possible && i < stub->count; i++) {
		words[i] = stub->words[i];
		words[i] = gt_with(words[i], 116, 6, gt_bits(words[i], 116, 6) | wait);
		wait = 0;
		possible = convert(&mapping, &words[i], &wait);
	}
	if (possible) {
		free(stub->words);
		stub->words = words;
		stub->registers = registers;
	} else {
		free(words);
	}
	return 0;
}
