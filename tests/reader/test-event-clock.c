/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's events on the GPU's clock, which here is 1 ms ahead of the host's, give or take 100 ns. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>

#include "lib/reader/event_clock.h"
#include "lib/reader/stream_order.h"
#include "lib/wire/wire.h"
#include "tests/suite.h"

#define AHEAD 1000000
#define CLOCK ((struct gputrace_clock *)&knows)	/* any pointer */

static struct gt_event_clock events;
static bool knows;

int gputrace_clock_from_host(struct gputrace_clock *clock, uint64_t host_ns, int bound, uint64_t *ret_gpu_ns,
			     uint64_t *ret_error_ns)
{
	ck_assert_ptr_eq(clock, CLOCK);
	ck_assert_int_eq(bound, GPUTRACE_CLOCK_BOUND_REGISTER);
	if (!knows)
		return -ENODATA;
	*ret_gpu_ns = host_ns + AHEAD;
	*ret_error_ns = 100;
	return 0;
}

static void setup(void)
{
	events = (struct gt_event_clock){ 0 };
	knows = true;
}

static void add(uint64_t before, uint64_t after, uint64_t at, uint64_t error)
{
	const struct gt_rec_event_clock record = { .before = before, .after = after, .at = at, .error = error };

	gt_event_clock_add(&events, CLOCK, &record);
}

/* An event with the time 6000 was seen when the GPU's clock showed that, within so much. */
static void check_event(uint64_t gpu, uint64_t error)
{
	uint64_t seen, seen_error;

	ck_assert(gt_event_clock_to_gpu(&events, CLOCK, 6000, 0, &seen, &seen_error));
	ck_assert_uint_eq(seen, gpu);
	ck_assert_uint_eq(seen_error, error);
}

/*
 * At 5000 it was 10,000 to 14,000 on the host and 1,009,900 to 1,014,100 on the GPU; with the
 * 500 ns of the events' resolution what lies between is 1,004,400 to 1,009,600.
 */
START_TEST(one_reading)
{
	add(10000, 14000, 5000, 1);
	check_event(1013000, 2600 + 1 + 500);
}
END_TEST

/* The same with the 32 ns of GPUs of compute capability 9.0: 1,004,868 to 1,009,132. */
START_TEST(one_reading_of_a_fine_clock)
{
	events.arch = 90;
	add(10000, 14000, 5000, 1);
	check_event(1013000, 2132 + 1 + 32);
	events.arch = 80;
	check_event(1013000, 2132 + 1 + 500);
}
END_TEST

/* 100,000 ns later at most 6,600 were between: 1,004,400 to 1,006,600. */
START_TEST(a_second_one_narrows)
{
	add(10000, 14000, 5000, 1);
	add(110000, 111000, 105000, 1);
	check_event(1011500, 1100 + 1 + 500);
}
END_TEST

/* What lies between the two counts less, by what the way from one to the other may be wrong. */
START_TEST(it_grows_old)
{
	add(10000, 14000, 5000, 1);
	add(110000, 118000, 105000, 50);
	/* 1,004,350 to 1,009,650, and the second reading says from 1,004,400 on. */
	check_event(1013025, 2625 + 1 + 500);
}
END_TEST

START_TEST(a_contradiction_begins_anew)
{
	add(10000, 14000, 5000, 1);
	add(910000, 914000, 5000, 1);
	check_event(1913000, 2600 + 1 + 500);
}
END_TEST

/* A copy's start, at 5000, came after its call at 12,000, and before its end at 13,000. */
START_TEST(calls_narrow)
{
	add(10000, 14000, 5000, 1);
	gt_event_clock_after_host(&events, CLOCK, 12000, 5000, 0);
	/* 1,006,400 to 1,009,600 */
	check_event(1014000, 1600 + 1 + 500);
	gt_event_clock_before_host(&events, CLOCK, 13000, 5000, 0);
	/* to 1,008,600 */
	check_event(1013500, 1100 + 1 + 500);
}
END_TEST

START_TEST(calls_that_say_nothing_change_nothing)
{
	/* Nothing is known that they could narrow. */
	gt_event_clock_after_host(&events, CLOCK, 12000, 5000, 0);
	ck_assert(!events.known);
	add(10000, 14000, 5000, 1);
	/* Less than is known; more than can be; and what is as uncertain as that. */
	gt_event_clock_after_host(&events, CLOCK, 9000, 5000, 0);
	gt_event_clock_before_host(&events, CLOCK, 15000, 5000, 0);
	gt_event_clock_after_host(&events, CLOCK, 20000, 5000, 0);
	gt_event_clock_before_host(&events, CLOCK, 8000, 5000, 0);
	gt_event_clock_after_host(&events, CLOCK, 12000, 5000, UINT64_MAX);
	gt_event_clock_before_host(&events, CLOCK, 12000, 5000, UINT64_MAX);
	check_event(1013000, 2600 + 1 + 500);
}
END_TEST

/* A copy in stream 7, called for from 300 to 310; by its events it ran from 5000 to 5800. */
static const struct gt_stream_work copy = { .stream = 7, .enter = 300, .leave = 310, .start = 5000, .end = 5800 };

/* And a kernel of a stream, called for at a time, that ran on the GPU's clock. */
static void add_kernel(struct gt_stream_order *order, uint64_t stream, uint64_t enter, uint64_t start, uint64_t end)
{
	const struct gt_stream_work kernel = { .stream = stream, .enter = enter, .leave = enter + 10, .start = start,
					       .end = end };

	gt_stream_order_add_kernel(order, &events, &kernel);
}

/*
 * 1,004,400 to 1,009,600 are known; the kernel before ended at 1,012,000, so that at least
 * 1,006,500 are between, and the next one began at 1,014,300: at most 1,009,000.
 */
START_TEST(kernels_of_the_stream_narrow)
{
	struct gt_stream_order order = { 0 };

	add(10000, 14000, 5000, 1);
	add_kernel(&order, 7, 100, 1011000, 1012000);
	gt_stream_order_add_copy(&order, &events, &copy);
	/* 1,006,500 to 1,009,600 */
	check_event(1014050, 1550 + 1 + 500);
	add_kernel(&order, 7, 400, 1014300, 1015000);
	/* to 1,009,000 */
	check_event(1013750, 1250 + 1 + 500);
}
END_TEST

START_TEST(other_kernels_say_nothing)
{
	struct gt_stream_order order = { 0 };
	struct gt_stream_work waits = copy;

	add(10000, 14000, 5000, 1);
	/* Of another stream; called for at the same time; and nothing is known of the end of one that waits. */
	add_kernel(&order, 8, 100, 1011000, 1012000);
	add_kernel(&order, 7, 295, 1011000, 1012000);
	gt_stream_order_add_copy(&order, &events, &copy);
	waits.stream = 9;
	waits.end = 0;
	gt_stream_order_add_copy(&order, &events, &waits);
	add_kernel(&order, 9, 400, 1010000, 1011000);
	check_event(1013000, 2600 + 1 + 500);
	/* Only the latest are remembered. */
	for (unsigned i = 0; i < GT_STREAM_WORK; i++)
		gt_stream_order_add_copy(&order, &events, &waits);
	add_kernel(&order, 7, 400, 1014300, 1015000);
	check_event(1013000, 2600 + 1 + 500);
}
END_TEST

START_TEST(the_clock_may_be_known_later)
{
	uint64_t gpu, error;

	knows = false;
	add(10000, 14000, 5000, 1);
	ck_assert(!gt_event_clock_to_gpu(&events, CLOCK, 6000, 0, &gpu, &error));
	ck_assert(!gt_event_clock_to_gpu(&events, NULL, 6000, 0, &gpu, &error));
	knows = true;
	check_event(1013000, 2600 + 1 + 500);
}
END_TEST

/* A program may write anything into its rings. */
START_TEST(nonsense)
{
	uint64_t gpu, error;

	add(14000, 10000, 5000, 1);
	ck_assert(!gt_event_clock_to_gpu(&events, CLOCK, 6000, 0, &gpu, &error));
	add(10000, 14000, 5000, UINT64_MAX);
	check_event(1013000, 2600 + 1 + 500);
	ck_assert(gt_event_clock_to_gpu(&events, CLOCK, 6000, 1ull << 39, &gpu, &error));
	ck_assert_uint_eq(error, (1ull << 39) + 2600 + 1 + 500);
	/* An error that would wrap around to a small one; and one that is too large with the clock's alone. */
	ck_assert(!gt_event_clock_to_gpu(&events, CLOCK, 6000, UINT64_MAX - 3000, &gpu, &error));
	ck_assert(!gt_event_clock_to_gpu(&events, CLOCK, 6000, 1ull << 40, &gpu, &error));
	for (int i = 0; i < 100; i++) {
		add(i, UINT64_MAX, UINT64_MAX / 3 * (uint64_t)i, 1ull << 40);
		gt_event_clock_to_gpu(&events, CLOCK, UINT64_MAX - (uint64_t)i, (uint64_t)i << 57, &gpu, &error);
		gt_event_clock_after_host(&events, CLOCK, UINT64_MAX, (uint64_t)i << 60, 1);
		gt_event_clock_before_host(&events, CLOCK, (uint64_t)i << 59, UINT64_MAX, 1);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("event clock");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, one_reading);
	tcase_add_test(tcase, one_reading_of_a_fine_clock);
	tcase_add_test(tcase, a_second_one_narrows);
	tcase_add_test(tcase, it_grows_old);
	tcase_add_test(tcase, a_contradiction_begins_anew);
	tcase_add_test(tcase, calls_narrow);
	tcase_add_test(tcase, calls_that_say_nothing_change_nothing);
	tcase_add_test(tcase, kernels_of_the_stream_narrow);
	tcase_add_test(tcase, other_kernels_say_nothing);
	tcase_add_test(tcase, the_clock_may_be_known_later);
	tcase_add_test(tcase, nonsense);
	return run_case("event clock", tcase);
}
