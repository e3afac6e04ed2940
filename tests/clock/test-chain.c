/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The chain against numbers worked out by hand.  Slopes are powers of two, so
 * that a slope of 2^-10 over a distance of 2^20 is 2^10 exactly.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "lib/clock/chain.h"
#include "lib/clock/slope.h"
#include "tests/suite.h"

#define SLOPE(bits) (GT_SLOPE_ONE >> (bits))
#define D (INT64_C(1) << 20)

static struct gt_chain chain;

/* Nothing assumed but +-2^-20 about whatever is measured; limit 2^-8 = 4096 in D. */
static void begin(int64_t start)
{
	gt_chain_init(&chain, &(struct gt_chain_opts){
		.wander = SLOPE(20), .wander_max = SLOPE(20), .start = start, .limit = SLOPE(8), .min_gap = 1000, .max_nodes = 64,
	});
}

static void expect_far(int64_t x, int64_t lo, int64_t hi)
{
	int64_t far_lo, far_hi;

	ck_assert_int_eq(gt_chain_to_far(&chain, x, x, &far_lo, &far_hi), 0);
	ck_assert_int_eq(far_lo - x, lo);
	ck_assert_int_eq(far_hi - x, hi);
}

START_TEST(rounding)
{
	ck_assert_int_eq(gt_slope_mul_down(3, SLOPE(1)), 1);
	ck_assert_int_eq(gt_slope_mul_up(3, SLOPE(1)), 2);
	ck_assert_int_eq(gt_slope_mul_down(-3, SLOPE(1)), -2);
	ck_assert_int_eq(gt_slope_mul_up(-3, SLOPE(1)), -1);
	ck_assert_int_eq(gt_div_down(-7, 2), -4);
	ck_assert_int_eq(gt_div_up(-7, 2), -3);
	ck_assert_int_eq(gt_div_down(7, 2), 3);
	ck_assert_int_eq(gt_div_up(7, 2), 4);
	/* 300 / (1 + 1/2) = 200; 301 / 1.5 = 200.67 */
	ck_assert_int_eq(gt_slope_undo_down(300, SLOPE(1)), 200);
	ck_assert_int_eq(gt_slope_undo_up(301, SLOPE(1)), 201);
	ck_assert_int_eq(gt_slope_to_ppb(GT_SLOPE_PPB(4700)), 4699);	/* rounded down twice */
	/* What a double would lose: 2^60 + 1 survives. */
	ck_assert_int_eq(gt_slope_mul_down((INT64_C(1) << 60) + 1, GT_SLOPE_ONE), (INT64_C(1) << 60) + 1);
	/* too large for 64 bits: held at 2^62 */
	ck_assert_int_eq(gt_slope_of_up(INT64_C(1) << 61, 1), INT64_C(1) << 62);
}
END_TEST

START_TEST(empty)
{
	int64_t lo = 7, hi = 7;

	begin(SLOPE(10));
	ck_assert_int_eq(gt_chain_to_near(&chain, 0, 0, &lo, &hi), -ENODATA);
	ck_assert_int_eq(gt_chain_to_far(&chain, 0, 0, &lo, &hi), -ENODATA);
	ck_assert_int_eq(lo, 7);
	ck_assert_int_eq(hi, 7);
	gt_chain_done(&chain);
}
END_TEST

/* One node: cones of 2^-10 + 2^-20, that is 1024 + 1 at a distance of D. */
START_TEST(one_node)
{
	int64_t lo, hi;

	begin(SLOPE(10));
	ck_assert_int_eq(gt_chain_add(&chain, 0, 1000, 1100), GT_CHAIN_TAKEN);
	expect_far(0, 1000, 1100);
	expect_far(D, 1000 - 1025, 1100 + 1025);
	expect_far(-D, 1000 - 1025, 1100 + 1025);
	/* far showed 1050: 50 ns either way, a little more since the slope is not known */
	ck_assert_int_eq(gt_chain_to_near(&chain, 1050, 1050, &lo, &hi), 0);
	ck_assert_int_eq(lo, -51);
	ck_assert_int_eq(hi, 51);
	ck_assert_int_eq(gt_chain_to_near(&chain, 2 * GT_CHAIN_REACH, 2 * GT_CHAIN_REACH, &lo, &hi), -ERANGE);
	ck_assert_int_eq(gt_chain_to_far(&chain, 0, 2 * GT_CHAIN_REACH, &lo, &hi), -ERANGE);
	gt_chain_done(&chain);
}
END_TEST

/*
 * Two nodes 2^30 apart, both [1000, 1100]: the mean slope is within 100 / 2^30,
 * the slope anywhere within that + 2^-20.  Half way, 2^29 from both, that is
 * 50 + 512 on top of either side.
 */
START_TEST(two_nodes)
{
	int64_t x = INT64_C(1) << 30, lo, hi;

	begin(SLOPE(10));
	gt_chain_add(&chain, 0, 1000, 1100);
	ck_assert_int_eq(gt_chain_add(&chain, x, 1000, 1100), GT_CHAIN_TAKEN);
	expect_far(0, 1000, 1100);
	expect_far(x, 1000, 1100);
	expect_far(x / 2, 1000 - 562, 1100 + 562);
	expect_far(x / 4, 1000 - 281, 1100 + 281);
	expect_far(x + x / 2, 1000 - 562, 1100 + 562);
	gt_chain_slope_ahead(&chain, 0, &lo, &hi);
	ck_assert_int_eq(hi, 100 * (GT_SLOPE_ONE >> 30) + SLOPE(20));
	ck_assert_int_eq(lo, -hi);
	/*
	 * far showed x/2 + 1050: at the earliest where the upper lines reach it, 50 below the middle of the
	 * interval and 562 for the slope, at the latest where the lower ones do
	 */
	ck_assert_int_eq(gt_chain_to_near(&chain, x / 2 + 1050, x / 2 + 1050, &lo, &hi), 0);
	ck_assert_int_eq(lo, x / 2 - 612);
	ck_assert_int_eq(hi, x / 2 + 612);
	gt_chain_done(&chain);
}
END_TEST

/* A drift of 2^-16 measured exactly, and the cone about it. */
START_TEST(drift)
{
	begin(SLOPE(10));
	gt_chain_add(&chain, 0, 0, 0);
	gt_chain_add(&chain, D, 16, 16);
	expect_far(2 * D, 32 - 1, 32 + 1);
	expect_far(-D, -16 - 2, -16 + 2);
	expect_far(D / 2, 8 - 1, 8 + 1);	/* half a ns either way, rounded outwards */
	gt_chain_done(&chain);
}
END_TEST

/* The slope is known to be 0 +- 2^-20: each node learns from the other, give or take 1. */
START_TEST(nodes_learn)
{
	begin(0);
	gt_chain_add(&chain, 0, 0, 1000);
	gt_chain_add(&chain, D, 900, 2000);
	expect_far(D, 900, 1001);
	expect_far(0, 899, 1000);
	/* a third one, exact, reaches back to the first */
	gt_chain_add(&chain, 2 * D, 950, 950);
	expect_far(D, 949, 951);
	expect_far(0, 948, 952);
	gt_chain_done(&chain);
}
END_TEST

START_TEST(close_samples_share_a_node)
{
	begin(0);
	gt_chain_add(&chain, 0, 0, 1000);
	ck_assert_int_eq(gt_chain_add(&chain, 999, 400, 1400), GT_CHAIN_TAKEN);
	ck_assert_uint_eq(chain.n, 1);
	expect_far(0, 399, 1000);
	ck_assert_int_eq(gt_chain_add(&chain, 1000, 0, 1000), GT_CHAIN_TAKEN);
	ck_assert_uint_eq(chain.n, 2);
	gt_chain_done(&chain);
}
END_TEST

START_TEST(one_bad_sample)
{
	begin(0);
	gt_chain_add(&chain, 0, 0, 100);
	ck_assert_int_eq(gt_chain_add(&chain, D, 5000, 5100), GT_CHAIN_SUSPECT);
	ck_assert_uint_eq(chain.n, 1);
	ck_assert_int_eq(gt_chain_add(&chain, 2 * D, 0, 100), GT_CHAIN_TAKEN);
	ck_assert_uint_eq(chain.rejects, 1);
	ck_assert_uint_eq(chain.breaks + chain.jumps, 0);
	/* two bad ones that do not agree with each other either */
	ck_assert_int_eq(gt_chain_add(&chain, 3 * D, 50000, 50100), GT_CHAIN_SUSPECT);
	ck_assert_int_eq(gt_chain_add(&chain, 4 * D, 90000, 90100), GT_CHAIN_SUSPECT);
	ck_assert_int_eq(gt_chain_add(&chain, 5 * D, 0, 100), GT_CHAIN_TAKEN);
	ck_assert_uint_eq(chain.rejects, 3);
	expect_far(5 * D, 0, 100);
	gt_chain_done(&chain);
}
END_TEST

/*
 * From [0, 100] to [3000, 3100] within D: less than the limit's 4096, so the far
 * clock ran faster than assumed.  Nobody knows when it gained; only that it did
 * not lose: half way between 0 - 1 and min(100 + 2048, 3100 + 1).
 */
START_TEST(slope_breaks)
{
	begin(0);
	gt_chain_add(&chain, 0, 0, 100);
	ck_assert_int_eq(gt_chain_add(&chain, D, 3000, 3100), GT_CHAIN_SUSPECT);
	ck_assert_int_eq(gt_chain_add(&chain, D + 10, 3000, 3100), GT_CHAIN_BROKE);
	ck_assert_uint_eq(chain.breaks, 1);
	ck_assert_uint_eq(chain.jumps, 0);
	ck_assert_uint_eq(chain.n, 2);
	expect_far(0, 0, 100);
	expect_far(D / 2, 3000 - 2048, 100 + 2048);
	expect_far(D / 8, -1, 100 + 512);
	expect_far(D - D / 8, 3000 - 512, 3101);
	gt_chain_done(&chain);
}
END_TEST

/* The far clock goes back by 10 D at near time between D and 2 D. */
START_TEST(jump)
{
	int64_t lo, hi;

	begin(0);
	gt_chain_add(&chain, 0, 0, 100);
	gt_chain_add(&chain, D, 0, 100);
	ck_assert_int_eq(gt_chain_add(&chain, 2 * D, -10 * D, -10 * D + 100), GT_CHAIN_SUSPECT);
	ck_assert_int_eq(gt_chain_add(&chain, 3 * D, -10 * D, -10 * D + 100), GT_CHAIN_JUMPED);
	ck_assert_uint_eq(chain.jumps, 1);
	ck_assert_uint_eq(chain.n, 4);
	ck_assert_int_eq(gt_chain_to_far(&chain, D + D / 2, D + D / 2, &lo, &hi), -ENODATA);
	expect_far(D, 0, 100);
	expect_far(2 * D, -10 * D, -10 * D + 100);
	/* a time of the new epoch, and one of the old */
	ck_assert_int_eq(gt_chain_to_near(&chain, -8 * D + 50, -8 * D + 50, &lo, &hi), 0);
	ck_assert_int_eq(lo, 2 * D - 51);
	ck_assert_int_eq(hi, 2 * D + 51);
	ck_assert_int_eq(gt_chain_to_near(&chain, D + 50, D + 50, &lo, &hi), 0);
	ck_assert_int_ge(lo, D - 52);
	ck_assert_int_le(hi, D + 52);
	/* a late sample from inside the jump belongs nowhere */
	ck_assert_int_eq(gt_chain_add(&chain, D + D / 2, 0, 100), GT_CHAIN_REJECTED);
	/* epochs are separate: the new one taught the old one nothing */
	ck_assert_int_eq(gt_chain_add(&chain, D / 2, 40, 60), GT_CHAIN_TAKEN);
	expect_far(D, 39, 61);
	expect_far(2 * D, -10 * D, -10 * D + 100);
	gt_chain_done(&chain);
}
END_TEST

START_TEST(late_samples)
{
	begin(0);
	gt_chain_add(&chain, D, 0, 1000);
	gt_chain_add(&chain, 3 * D, 0, 1000);
	ck_assert_int_eq(gt_chain_add(&chain, 2 * D, 500, 500), GT_CHAIN_TAKEN);
	ck_assert_uint_eq(chain.n, 2);
	expect_far(D, 499, 501);
	expect_far(3 * D, 499, 501);
	ck_assert_int_eq(gt_chain_add(&chain, 2 * D, 700, 800), GT_CHAIN_REJECTED);
	ck_assert_int_eq(gt_chain_add(&chain, 0, 500, 501), GT_CHAIN_TAKEN);	/* older than all */
	ck_assert_int_eq(gt_chain_add(&chain, 0, 600, 700), GT_CHAIN_REJECTED);
	ck_assert_uint_eq(chain.rejects, 2);
	gt_chain_done(&chain);
}
END_TEST

START_TEST(impossible_samples)
{
	begin(0);
	ck_assert_int_eq(gt_chain_add(&chain, 0, 2, 1), GT_CHAIN_REJECTED);
	ck_assert_int_eq(gt_chain_add(&chain, INT64_MAX, 0, 1), GT_CHAIN_REJECTED);
	ck_assert_int_eq(gt_chain_add(&chain, 0, INT64_MIN, 1), GT_CHAIN_REJECTED);
	ck_assert_int_eq(gt_chain_add(&chain, 0, 0, INT64_MAX), GT_CHAIN_REJECTED);
	ck_assert_uint_eq(chain.n, 0);
	ck_assert_uint_eq(chain.rejects, 4);
	/* extremes that are let in stay within 64 bits (the sanitizers watch) */
	gt_chain_add(&chain, -GT_CHAIN_TIME_MAX, -GT_CHAIN_TIME_MAX, GT_CHAIN_TIME_MAX);
	gt_chain_add(&chain, GT_CHAIN_TIME_MAX - 2000, -GT_CHAIN_TIME_MAX, GT_CHAIN_TIME_MAX);
	gt_chain_add(&chain, GT_CHAIN_TIME_MAX, -GT_CHAIN_TIME_MAX, -GT_CHAIN_TIME_MAX);
	gt_chain_add(&chain, 0, 0, 0);
	gt_chain_done(&chain);
}
END_TEST

/* 64 nodes hold 5,000 samples; recent ones stay apart, old ones still bound the truth. */
START_TEST(memory)
{
	int64_t lo, hi;

	begin(0);
	for (int64_t i = 0; i < 5000; i++)
		ck_assert_int_eq(gt_chain_add(&chain, i * D, 0, 100), GT_CHAIN_TAKEN);
	ck_assert_uint_le(chain.n, 64);
	ck_assert_uint_ge(chain.n, 40);
	for (size_t i = chain.n - 20; i < chain.n; i++)
		ck_assert_int_eq(chain.nodes[i].x - chain.nodes[i - 1].x, D);
	ck_assert_int_eq(gt_chain_to_far(&chain, 4800 * D, 4800 * D, &lo, &hi), 0);
	ck_assert_int_le(lo, 4800 * D);
	ck_assert_int_ge(hi, 4800 * D + 100);
	/* a clock that jumps with every second sample keeps within its memory too */
	for (int64_t i = 5000; i < 6000; i++)
		gt_chain_add(&chain, i * D, i / 2 * 100 * D, i / 2 * 100 * D + 100);
	ck_assert_uint_le(chain.n, 64);
	ck_assert_uint_ge(chain.jumps, 400);
	ck_assert(chain.nodes[0].first);
	gt_chain_done(&chain);
}
END_TEST

START_TEST(drop_last)
{
	begin(0);
	gt_chain_add(&chain, 0, 0, 1000);
	gt_chain_add(&chain, D, 500, 500);
	gt_chain_drop_last(&chain);
	ck_assert_uint_eq(chain.n, 1);
	expect_far(0, 499, 501);	/* what it taught stays */
	gt_chain_drop_last(&chain);
	gt_chain_drop_last(&chain);
	ck_assert_uint_eq(chain.n, 0);
	gt_chain_done(&chain);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("chain");

	tcase_add_test(tc, rounding);
	tcase_add_test(tc, empty);
	tcase_add_test(tc, one_node);
	tcase_add_test(tc, two_nodes);
	tcase_add_test(tc, drift);
	tcase_add_test(tc, nodes_learn);
	tcase_add_test(tc, close_samples_share_a_node);
	tcase_add_test(tc, one_bad_sample);
	tcase_add_test(tc, slope_breaks);
	tcase_add_test(tc, jump);
	tcase_add_test(tc, late_samples);
	tcase_add_test(tc, impossible_samples);
	tcase_add_test(tc, memory);
	tcase_add_test(tc, drop_last);
	return run_case("clock chain", tc);
}
