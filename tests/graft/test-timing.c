/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves in place of what takes longer follow one another faster.  Whatever stubs are made of, on every way
 * through them what reads something comes as late behind what gives it as in the compiler's code.
 */
#include <check.h>
#include <stdlib.h>

#include "lib/agent/graft/writer.h"
#include "tests/suite.h"

#define WORDS 24
#define STUBS 20000
#define KEPT 40
#define SURE 15		/* any result is there after so many cycles */

/*
 * moved: what is moved is there after so many.  In all of NVIDIA's libraries a move comes no less than 5 before an access
 * to memory that reads it, and for sm_75 no less than 8.
 */
static const struct {
	uint32_t point;
	unsigned arch, moved;
} cases[] = {
	{ GT_POINT_ENTRY, 75, 8 }, { GT_POINT_EXIT, 75, 8 }, { GT_POINT_ENTRY, 80, 6 }, { GT_POINT_ENTRY, 90, 6 },
	{ GT_POINT_EXIT, 90, 6 }, { GT_POINT_LOAD, 90, 6 },
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

struct timing {
	struct gt_graft_stub stub;
	gt_word words[WORDS], written[WORDS];
};

static unsigned below(unsigned limit)
{
	return (unsigned)rand() / 7 % limit;
}

/* What the words of stubs are by their kind: for moves, in runs of them, and what reads them. */
static gt_word any_word(unsigned arch, unsigned index)
{
	static const unsigned special[] = { 0x21, GT_SR_TID, GT_SR_HIDDEN, GT_SR_INDEX };
	gt_word word = gt_with_stall((gt_word)GT_BARRIER_NONE << 110 | (gt_word)GT_BARRIER_NONE << 113, 2 + below(14));

	word = gt_with(gt_with(word, 116, 6, 1u << below(6)), 12, 3, below(4) ? GT_PT : 0);
	switch (below(9)) {
	case 0:
	case 1:
		return gt_with(gt_with(gt_with(word, 0, 12, GT_OP_S2R), 72, 8, special[below(4)]), 110, 3, below(6));
	case 2:
	case 3:
	case 4:	/* the size of the block */
		return gt_with(gt_with(gt_with(word, 0, 12, GT_OP_LDC), 24, 8, GT_RZ), 73, 3, 4);
	case 5:
		return gt_with(gt_with(word, 0, 12, GT_OP_ULDC), 12, 3, GT_PT);
	case 6:
		return gt_with(gt_with(word, 0, 12, GT_OP_NOP), 12, 3, GT_PT);
	case 7:	/* onwards */
		word = gt_with(gt_with(word, 0, 12, GT_OP_BRA), 87, 3, GT_PT);
		return gt_with_target(gt_with(word, 12, 3, 0), arch, index * GT_WORD,
				      (index + 1 + below(WORDS - index - 1)) * GT_WORD);
	}
	return gt_with(word, 0, 12, GT_OP_IADD3);
}

static void make(struct timing *t, uint32_t point, unsigned arch)
{
	struct gt_writer writer = { .arch = arch, .kept = point < GT_POINT_LOAD && below(2) ? KEPT : 0 };

	*t = (struct timing){ .stub = { .point = point, .arch = arch, .count = WORDS, .registers = 32 } };
	t->stub.words = t->words;
	for (unsigned i = 0; i + 1 < WORDS; i++)
		t->words[i] = any_word(arch, i);
	t->words[WORDS - 1] = gt_with((gt_word)GT_OP_EXIT | (gt_word)GT_PT << 12, 87, 3, GT_PT);
	t->stub.targets = gt_stub_find_targets(&t->stub);
	ck_assert_ptr_nonnull(t->stub.targets);
	gt_take_stub(&writer, &t->stub);
	for (unsigned i = 0; i < WORDS; i++)
		t->written[i] = gt_fill_in(&writer, i);
	free(t->stub.targets);
}

static bool is_move(gt_word word)
{
	return gt_op(word) == GT_OP_MOV_CONSTANT || gt_op(word) == GT_OP_MOV_IMM || gt_op(word) == GT_OP_MOV;
}

/* Something that the stub gives, or a predicate. */
static bool reads(gt_word word)
{
	unsigned op = gt_op(word);

	return !gt_unguarded(word) || !(is_move(word) || op == GT_OP_S2R || op == GT_OP_NOP || op == GT_OP_ULDC);
}

/* Is there after a fixed time. */
static bool gives(gt_word word)
{
	unsigned op = gt_op(word);

	return !(op == GT_OP_S2R || op == GT_OP_NOP || op == GT_OP_BRA || op == GT_OP_EXIT);
}

/* moved: 0 if that is not what it is about. */
static void follow(const struct timing *t, unsigned at, unsigned moved, unsigned compiled, unsigned written)
{
	for (; at < WORDS && written < SURE; at++) {
		unsigned due = moved ? moved : compiled < SURE ? compiled : SURE;

		if (reads(t->written[at]))
			ck_assert_uint_ge(written, due);
		compiled += gt_stall(t->words[at]);
		written += gt_stall(t->written[at]);
		if (gt_op(t->words[at]) == GT_OP_BRA)
			follow(t, (unsigned)(gt_target(t->words[at], t->stub.arch, at * GT_WORD) / GT_WORD), moved, compiled, written);
	}
}

START_TEST(nothing_is_read_too_soon)
{
	unsigned shorter = 0;
	struct timing t;

	srand(1);
	for (unsigned i = 0; i < STUBS; i++) {
		make(&t, cases[_i].point, cases[_i].arch);
		for (unsigned k = 0; k < WORDS; k++) {
			unsigned compiled = gt_stall(t.words[k]), written = gt_stall(t.written[k]);

			if (gives(t.written[k]))
				follow(&t, k + 1, is_move(t.written[k]) ? cases[_i].moved : 0, compiled, written);
			shorter += written < compiled;
		}
	}
	ck_assert_uint_ge(shorter, STUBS);
}
END_TEST

/* A barrier takes two cycles to be there for those that wait for it; and they all still wait. */
START_TEST(barriers_are_waited_for)
{
	struct timing t;

	srand(2);
	for (unsigned i = 0; i < STUBS; i++) {
		make(&t, cases[_i].point, cases[_i].arch);
		for (unsigned k = 0; k < WORDS; k++) {
			unsigned barrier = gt_write_barrier(t.written[k]);

			ck_assert_uint_eq(gt_bits(t.words[k], 116, 6) & ~gt_bits(t.written[k], 116, 6), 0);
			if (k + 1 < WORDS && barrier != GT_BARRIER_NONE && gt_bits(t.written[k + 1], 116, 6) >> barrier & 1)
				ck_assert_uint_ge(gt_stall(t.written[k]), 2);
		}
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("timing");

	tcase_add_loop_test(tcase, nothing_is_read_too_soon, 0, CASES);
	tcase_add_loop_test(tcase, barriers_are_waited_for, 0, CASES);
	return run_case("timing", tcase);
}
