/* SPDX-License-Identifier: Apache-2.0 */
/* The time by the processor's counter. */
#include <check.h>
#include <time.h>

#include "lib/agent/agent.h"
#include "lib/agent/ticks.h"
#include "tests/suite.h"

#define MS 1000000u

uint64_t gt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A counter of 2 GHz, read 20 ns on each side of the clock. */
static void learn(struct gt_ticks *ticks, uint64_t ns)
{
	gt_ticks_learn(ticks, 2 * ns - 40, ns, 2 * ns + 40);
}

/* At 10, 11 and 12 ms. */
static struct gt_ticks known(void)
{
	struct gt_ticks ticks = { 0 };

	for (unsigned ms = 10; ms < 13; ms++) {
		ck_assert_uint_eq(ticks.span, 0);
		learn(&ticks, ms * MS);
	}
	return ticks;
}

START_TEST(two_rates_alike_serve)
{
	struct gt_ticks ticks = known();

	ck_assert_uint_eq(ticks.rate, 1ull << 31);	/* half a nanosecond */
	ck_assert_uint_eq(ticks.counter, 24 * MS);
	ck_assert_uint_eq(ticks.ns, 12 * MS);
	ck_assert_uint_eq(ticks.span, 2 * GT_TICKS_SPAN_NS);
	ck_assert_uint_eq(ticks.changes & 1, 0);
}
END_TEST

/* What is measured over less than a millisecond is not exact enough. */
START_TEST(near_readings_keep_the_rate)
{
	struct gt_ticks ticks = known();

	gt_ticks_learn(&ticks, 24200160, 12100000, 24200240);	/* 100 ns late: 1,000 ppm since 12 ms */
	ck_assert_uint_eq(ticks.rate, 1ull << 31);
	ck_assert_uint_eq(ticks.counter, 24200200);
	ck_assert_uint_eq(ticks.span, 2 * GT_TICKS_SPAN_NS);
}
END_TEST

/* 150 ns are 300 ticks, and 301 not yet 151. */
START_TEST(interrupted_readings_are_none)
{
	struct gt_ticks ticks = known();

	gt_ticks_learn(&ticks, 26 * MS - 302, 13 * MS - 140, 26 * MS);
	ck_assert_uint_eq(ticks.span, 0);
	ck_assert_uint_eq(ticks.ns, 12 * MS);
	ck_assert_uint_eq(ticks.old_ns, 12 * MS);
	gt_ticks_learn(&ticks, 26 * MS - 150, 13 * MS, 26 * MS + 150);
	ck_assert_uint_eq(ticks.span, 2 * GT_TICKS_SPAN_NS);
	ck_assert_uint_eq(ticks.rate, 1ull << 31);
}
END_TEST

START_TEST(rates_that_change_are_followed)
{
	struct gt_ticks ticks = known();

	/* By 500 ppm: 1,000,500 ns while the counter counts 2,000,000. */
	gt_ticks_learn(&ticks, 26 * MS - 40, 13 * MS + 500, 26 * MS + 40);
	ck_assert_uint_eq(ticks.rate, (1000500ull << 32) / 2000000);
	ck_assert_uint_eq(ticks.span, ((uint64_t)GT_TICKS_SPAN_NS << 32) / ticks.rate);
}
END_TEST

/* As when a machine has been moved to another. */
START_TEST(counters_that_leap_do_not_serve)
{
	static const uint64_t leaps[] = { 10, 1000 * (uint64_t)MS };

	for (unsigned i = 0; i < 2; i++) {
		struct gt_ticks ticks = known();
		uint64_t counter = leaps[i];

		for (unsigned ms = 13; ms < 15; ms++, counter += 2 * MS) {
			gt_ticks_learn(&ticks, counter, ms * MS, counter + 80);
			ck_assert_uint_eq(ticks.span, 0);
		}
		gt_ticks_learn(&ticks, counter, 15 * MS, counter + 80);
		ck_assert_uint_eq(ticks.span, 2 * GT_TICKS_SPAN_NS);
		ck_assert_uint_eq(ticks.rate, 1ull << 31);
	}
}
END_TEST

START_TEST(counters_that_stand_still_do_not_serve)
{
	struct gt_ticks ticks = { 0 };

	for (unsigned ms = 10; ms < 20; ms++) {
		gt_ticks_learn(&ticks, 5, ms * MS, 5);
		ck_assert_uint_eq(ticks.span, 0);
	}
}
END_TEST

/* A rate over hours is the same number. */
START_TEST(long_pauses_overflow_nothing)
{
	struct gt_ticks ticks = known();

	learn(&ticks, 40000ull * 1000 * MS);
	ck_assert_uint_eq(ticks.rate, 1ull << 31);
	ck_assert_uint_eq(ticks.span, 2 * GT_TICKS_SPAN_NS);
}
END_TEST

/* A signal's handler that came while the reading was changed: neither uses nor touches it. */
START_TEST(handlers_leave_it_alone)
{
	struct gt_ticks ticks = known();
	uint64_t before = gt_now(), got;

	ticks.changes++;
	ticks.span = 0;
	got = gt_ticks_now(&ticks);
	ck_assert_uint_ge(got, before);
	ck_assert_uint_le(got, gt_now());
	ck_assert_uint_eq(ticks.ns, 12 * MS);
	ck_assert_uint_eq(ticks.counter, 24 * MS);
}
END_TEST

#define SLEWED_NS 50	/* by 500 ppm, as it may just be */

/* For a fifth of a second, while the clock is read on both sides. */
START_TEST(it_is_the_clock)
{
	struct gt_ticks ticks = { 0 };
	uint64_t begin = gt_now(), before = begin, last = 0;

	while (before < begin + 200 * MS) {
		uint64_t got = gt_ticks_now(&ticks), after = gt_now();

		ck_assert_uint_ge(got + GT_TICKS_ERROR_NS + SLEWED_NS, before);
		ck_assert_uint_le(got, after + GT_TICKS_ERROR_NS + SLEWED_NS);
		ck_assert_uint_gt(got, last);
		last = got;
		before = after;
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("ticks");

	tcase_add_test(tcase, two_rates_alike_serve);
	tcase_add_test(tcase, near_readings_keep_the_rate);
	tcase_add_test(tcase, interrupted_readings_are_none);
	tcase_add_test(tcase, rates_that_change_are_followed);
	tcase_add_test(tcase, counters_that_leap_do_not_serve);
	tcase_add_test(tcase, counters_that_stand_still_do_not_serve);
	tcase_add_test(tcase, long_pauses_overflow_nothing);
	tcase_add_test(tcase, handlers_leave_it_alone);
	tcase_add_test(tcase, it_is_the_clock);
	return run_case("ticks", tcase);
}
