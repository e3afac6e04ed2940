/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of numbers: every result of an operation on members is a member of the result. */
#include <linux/bpf.h>
#include <stdlib.h>

#include <check.h>

#include "lib/verify/scalar.h"
#include "tests/suite.h"
#include "tests/verify/random.h"
#include "tests/verify/vm-alu.h"

#define ROUNDS 10000

static uint64_t seed = 42;

/* A set and one of its members. */
static struct gt_scalar random_set(uint64_t *ret_member)
{
	uint64_t member = vm_interesting(&seed), other = vm_interesting(&seed);
	struct gt_scalar set = gt_scalar_const(member), more;

	switch (vm_random(&seed) % 5) {
	case 0:
		break;
	case 1:
		set = gt_scalar_unknown();
		break;
	case 2:
		set = gt_scalar_urange(member < other ? member : other, member < other ? other : member);
		break;
	case 3:	/* known low bits */
		set = gt_scalar_unknown();
		set.bits = (struct gt_tnum){ member & 0xff, ~UINT64_C(0xff) };
		ck_assert(gt_scalar_settle(&set));
		break;
	default:
		more = gt_scalar_const(other);
		set = gt_scalar_union(&set, &more);
		break;
	}
	*ret_member = member;
	return set;
}

static uint64_t compute(unsigned op, bool is32, bool is_signed, uint64_t a, uint64_t b)
{
	uint64_t r = vm_arithmetic(op, is32, is_signed, a, b);

	return is32 ? (uint32_t)r : r;
}

START_TEST(arithmetic)
{
	static const unsigned ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_AND, BPF_OR, BPF_XOR, BPF_LSH, BPF_RSH,
					BPF_ARSH, BPF_NEG, BPF_DIV, BPF_MOD };
	unsigned op = ops[_i];

	for (unsigned i = 0; i < ROUNDS; i++) {
		bool is32 = i & 1, is_signed = (op == BPF_DIV || op == BPF_MOD) && (i & 2);
		uint64_t x, y, r;
		struct gt_scalar a = random_set(&x), b = random_set(&y), set;

		set = gt_scalar_alu(op, is32, is_signed, &a, &b);
		r = compute(op, is32, is_signed, x, y);
		ck_assert_msg(gt_scalar_holds(&set, r), "op %x 32 %d signed %d: %llx, %llx gives %llx", op, is32,
			      is_signed, (unsigned long long)x, (unsigned long long)y, (unsigned long long)r);
	}
}
END_TEST

START_TEST(comparisons)
{
	static const unsigned ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET,
					BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE };
	unsigned op = ops[_i], decided = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		bool is32 = i & 1;
		uint64_t x, y;
		struct gt_scalar a = random_set(&x), b = random_set(&y);
		bool truth = vm_compare(op, is32, x, y);
		int outcome = gt_scalar_compare(op, is32, &a, &b);

		decided += outcome >= 0;
		ck_assert_msg(outcome < 0 || outcome == truth, "op %x 32 %d: %llx, %llx", op, is32,
			      (unsigned long long)x, (unsigned long long)y);
		/* The members behave like this, so narrowing must keep them. */
		ck_assert(gt_scalar_assume(op, is32, truth, &a, &b));
		ck_assert_msg(gt_scalar_holds(&a, x) && gt_scalar_holds(&b, y), "op %x 32 %d: %llx, %llx", op, is32,
			      (unsigned long long)x, (unsigned long long)y);
	}
	ck_assert_uint_gt(decided, ROUNDS / 20);
}
END_TEST

START_TEST(extensions)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		unsigned bytes = 1u << i % 3, bits = 8 * bytes;
		uint64_t x;
		struct gt_scalar a = random_set(&x), low = gt_scalar_zero_extend(&a, bytes);
		struct gt_scalar wide = gt_scalar_sign_extend(&a, bytes);

		ck_assert(gt_scalar_holds(&low, x & (UINT64_MAX >> (64 - bits))));
		ck_assert(gt_scalar_holds(&wide, (uint64_t)((int64_t)(x << (64 - bits)) >> (64 - bits))));
	}
}
END_TEST

START_TEST(unions)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t x, y;
		struct gt_scalar a = random_set(&x), b = random_set(&y);
		struct gt_scalar both = gt_scalar_union(&a, &b), wide = gt_scalar_widen(&a, &b);

		ck_assert(gt_scalar_within(&a, &both) && gt_scalar_within(&b, &both));
		ck_assert(gt_scalar_within(&both, &wide));
		ck_assert(gt_scalar_holds(&both, x) && gt_scalar_holds(&both, y));
	}
}
END_TEST

/* All pairs of small sets, against the exact answer: 4 bits, known or not. */
START_TEST(tnums)
{
	for (unsigned i = 0; i < 16 * 16 * 16 * 16; i++) {
		struct gt_tnum a = { i & 15, i >> 4 & 15 }, b = { i >> 8 & 15, i >> 12 & 15 };

		if ((a.value & a.mask) || (b.value & b.mask))
			continue;
		for (unsigned x = 0; x < 16; x++) {
			for (unsigned y = 0; y < 16; y++) {
				if (!gt_tnum_holds(a, x) || !gt_tnum_holds(b, y))
					continue;
				ck_assert(gt_tnum_holds(gt_tnum_add(a, b), x + y));
				ck_assert(gt_tnum_holds(gt_tnum_sub(a, b), (uint64_t)x - y));
				ck_assert(gt_tnum_holds(gt_tnum_mul(a, b), x * y));
				ck_assert(gt_tnum_holds(gt_tnum_and(a, b), x & y));
				ck_assert(gt_tnum_holds(gt_tnum_or(a, b), x | y));
				ck_assert(gt_tnum_holds(gt_tnum_xor(a, b), x ^ y));
				ck_assert(gt_tnum_holds(gt_tnum_union(a, b), x) && gt_tnum_holds(gt_tnum_union(a, b), y));
			}
		}
	}
}
END_TEST

START_TEST(by_hand)
{
	struct gt_scalar a = gt_scalar_urange(0, 100), b = gt_scalar_const(7), r;

	r = gt_scalar_alu(BPF_AND, false, false, &a, &b);
	ck_assert_uint_eq(r.umin, 0);
	ck_assert_uint_eq(r.umax, 7);
	r = gt_scalar_alu(BPF_MUL, false, false, &a, &b);
	ck_assert_uint_eq(r.umax, 700);
	r = gt_scalar_alu(BPF_SUB, false, false, &a, &b);
	ck_assert_int_eq(r.smin, -7);
	ck_assert_int_eq(r.smax, 93);
	r = gt_scalar_alu(BPF_SUB, true, false, &a, &b);
	ck_assert_int_eq(r.smin32, -7);
	ck_assert_int_eq(r.smax32, 93);
	ck_assert_uint_eq(r.umax, UINT32_MAX);
	r = gt_scalar_alu(BPF_DIV, false, false, &a, &b);
	ck_assert_uint_eq(r.umax, 14);
	r = gt_scalar_alu(BPF_MOD, false, false, &a, &b);
	ck_assert_uint_eq(r.umax, 6);
	r = gt_scalar_alu(BPF_LSH, false, false, &a, &b);
	ck_assert_uint_eq(r.umax, 12800);
	ck_assert_uint_eq(r.bits.mask & 127, 0);
	ck_assert(gt_scalar_assume(BPF_JGT, false, false, &a, &b));
	ck_assert_uint_eq(a.umax, 7);
	ck_assert(!gt_scalar_assume(BPF_JGT, false, true, &a, &b));
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("scalars");

	tcase_add_loop_test(tc, arithmetic, 0, 12);
	tcase_add_loop_test(tc, comparisons, 0, 11);
	tcase_add_test(tc, extensions);
	tcase_add_test(tc, unions);
	tcase_add_test(tc, tnums);
	tcase_add_test(tc, by_hand);
	return run_case("verify scalars", tc);
}
