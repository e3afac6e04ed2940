/* SPDX-License-Identifier: Apache-2.0 */
/* The model against a simulated machine: bounds must hold at every point, and be as narrow as the samples allow. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdlib.h>

#include "lib/clock/slope.h"
#include "tests/suite.h"
#include "truth.h"

#define MS INT64_C(1000000)
#define S INT64_C(1000000000)
#define REGISTER GPUTRACE_CLOCK_BOUND_REGISTER
#define STRICT GPUTRACE_CLOCK_BOUND_STRICT

static struct truth truth;
static struct gt_model model;
static int64_t start;

/* What a run found. */
struct tally {
	unsigned checks, wrong, unanswered;
	int64_t *half;		/* half widths, ns */
};

static struct tally live, late;

static void begin(uint64_t seed)
{
	truth_init(&truth, seed);
	start = truth.now;
	gt_model_init(&model, &(struct gt_model_opts){ .tick = 32, .read_pair = truth_read_pair, .data = &truth });
}

static void forget(struct tally *tally)
{
	free(tally->half);
	*tally = (struct tally){ 0 };
}

static void end(void)
{
	gt_model_done(&model);
	forget(&live);
	forget(&late);
}

/* Convert what %globaltimer showed at this RAW time and compare with the truth. */
static void check_at(struct tally *tally, int64_t raw, int bound)
{
	int64_t host = truth_mono(&truth, raw);
	struct gt_range range;

	if (gt_model_to_host(&model, truth_gpu_shown(&truth, raw), bound, &range) < 0) {
		tally->unanswered++;
		return;
	}
	if (tally->checks % 1024 == 0)
		tally->half = realloc(tally->half, (tally->checks + 1024) * sizeof(*tally->half));
	tally->half[tally->checks++] = (range.hi - range.lo) / 2;
	if (host < range.lo || host > range.hi)
		tally->wrong++;
}

static int compare(const void *p, const void *q)
{
	int64_t a = *(const int64_t *)p, b = *(const int64_t *)q;

	return (a > b) - (a < b);
}

static int64_t median(struct tally *tally)
{
	ck_assert_uint_gt(tally->checks, 0);
	qsort(tally->half, tally->checks, sizeof(*tally->half), compare);
	return tally->half[tally->checks / 2];
}

/*
 * Go on for this long, sampling the register every 100 ms and checking ten times
 * in between: once just behind the present, once anywhere in the past since
 * `since`.
 */
static void go_on(int64_t duration, int64_t since, bool sample, int bound)
{
	int64_t until = truth.now + duration, next;

	while (truth.now < until) {
		next = truth.now + 100 * MS;
		if (sample)
			truth_sample(&truth, &model, 16);
		for (int i = 0; i < 10; i++) {
			truth.now += (next - truth.now) / (10 - i);
			check_at(&live, truth.now - 1000, bound);
			check_at(&late, since + (int64_t)((double)(truth.now - 1000 - since) * truth_uniform(&truth)), bound);
		}
	}
}

/*
 * 120,000 checks over six runs with different wander.  The half width, by hand:
 * half of the bracket, 435; half of the register's step and of the event's, 16 + 16;
 * half of what two readings of MONOTONIC around RAW leave, 20 to 27; and
 * jitter and drift, at most 0.5 + 0.5 ppm over 50 ms on average, some 50.  So 490
 * to 560 in the median; looking both ways less than live.
 */
START_TEST(bound_holds)
{
	static const double wander[6][2] = {	/* ppm, period in s */
		{ 0, 40 }, { 0.4, 40 }, { 0.7, 40 }, { 1.0, 40 }, { 0.2, 5 }, { 0.25, 1 },
	};
	int64_t live_median, late_median;

	begin(1 + (uint64_t)_i);
	truth.wander_ppm = wander[_i][0];
	truth.wander_period_s = wander[_i][1];
	truth.mono_ppm = -11.3;
	go_on(100 * S, start + MS, true, REGISTER);
	ck_assert_uint_ge(live.checks + late.checks, 20000);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_uint_eq(live.unanswered + late.unanswered, 0);
	ck_assert_uint_eq(model.reg.breaks + model.reg.jumps + model.reg.rejects, 0);
	live_median = median(&live);
	late_median = median(&late);
	ck_assert_int_ge(live_median, 490);
	ck_assert_int_le(live_median, 560);
	ck_assert_int_ge(late_median, 485);
	ck_assert_int_le(late_median, live_median - 10);
	end();
}
END_TEST

/* The midpoint is far better than the bound when both ways of the read take equally long. */
START_TEST(estimate)
{
	struct gt_range range;
	int64_t at, off;
	unsigned near = 0, n = 0;

	begin(7);
	truth.wander_ppm = 0.4;
	for (int i = 0; i < 600; i++) {
		truth_sample(&truth, &model, 16);
		truth.now += 100 * MS;
		at = truth.now - 50 * MS;
		ck_assert_int_eq(gt_model_to_host(&model, truth_gpu_shown(&truth, at), REGISTER, &range), 0);
		off = (range.lo + range.hi) / 2 - truth_mono(&truth, at);
		near += off > -150 && off < 150;
		n++;
	}
	ck_assert_uint_ge(near * 100, n * 95);
	end();
}
END_TEST

/* Both directions about the same moments. */
START_TEST(there_and_back)
{
	struct gt_range gpu, lo, hi;
	int64_t at, host;

	begin(8);
	go_on(10 * S, start + MS, true, REGISTER);
	for (int i = 0; i < 1000; i++) {
		at = start + (int64_t)(truth_uniform(&truth) * 9e9) + S;
		host = truth_mono(&truth, at);
		ck_assert_int_eq(gt_model_from_host(&model, host, _i, &gpu), 0);
		ck_assert_int_le(gpu.lo, truth_gpu_shown(&truth, at));
		ck_assert_int_ge(gpu.hi, truth_gpu_shown(&truth, at));
		ck_assert_int_eq(gt_model_to_host(&model, gpu.lo, _i, &lo), 0);
		ck_assert_int_eq(gt_model_to_host(&model, gpu.hi, _i, &hi), 0);
		ck_assert_int_le(lo.lo, host);
		ck_assert_int_ge(hi.hi, host);
	}
	end();
}
END_TEST

/*
 * If %globaltimer were not the register, but 1 us ahead: the register bound
 * would be wrong (so this test can tell), the strict one holds.  From the
 * register alone that takes its slack; the median says so: 1500 more.
 */
START_TEST(strict_holds_with_skew)
{
	begin(9);
	truth.skew = _i ? 1000 : -1000;
	go_on(20 * S, start + MS, true, REGISTER);
	ck_assert_uint_gt(live.wrong + late.wrong, 1000);
	forget(&live);
	forget(&late);
	go_on(20 * S, start + MS, true, STRICT);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_int_ge(median(&live), 1500 + 480);
	ck_assert_int_le(median(&live), 1500 + 580);
	end();
}
END_TEST

/*
 * Stamps 1.4 us wide, as a resident kernel gives: half of that, steps, the pair,
 * and drift: 700 + 16 + 16 + 25 + 50 at most, less where neighbours help.
 */
START_TEST(strict_from_stamps)
{
	begin(10);
	truth.skew = _i;
	truth.wander_ppm = 0.4;
	for (int i = 0; i < 300; i++) {
		truth_stamp(&truth, &model, 1400);
		go_on(100 * MS, start + MS, true, STRICT);
	}
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_int_le(median(&live), 810);
	/* 1 us of skew contradicts the register's 0.5 us often enough to be noticed; none does not. */
	if (_i == 0)
		ck_assert_uint_eq(model.disagreements, 0);
	else
		ck_assert_uint_gt(model.disagreements, 10);
	end();
}
END_TEST

/* No register: stamps of the traced process, 10 to 50 us wide, ten a second. */
START_TEST(wide_stamps_alone)
{
	begin(11);
	truth.wander_ppm = 0.4;
	for (int i = 0; i < 600; i++) {
		truth_stamp(&truth, &model, 10000 + (int64_t)(truth_random(&truth) % 40000));
		go_on(100 * MS, start + MS, false, _i);
	}
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_int_eq(model.source, GPUTRACE_CLOCK_SOURCE_PING);
	/* Half the best width is 5 us; values at random places in wide intervals meet in less. */
	ck_assert_int_le(median(&live), 5500);
	end();
}
END_TEST

/* NTP slews MONOTONIC: a little, as much as the kernel's loop may, as much as a daemon may. */
START_TEST(host_slews)
{
	static const double ppm[] = { 5, -400, 80000 };

	begin(12);
	truth.mono_ppm = 12;
	truth.slew[0].from = start + 5 * S + 37 * MS;
	truth.slew[0].to = start + 9 * S;
	truth.slew[0].ppm = ppm[_i];
	go_on(20 * S, start + MS, true, REGISTER);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_uint_eq(live.unanswered + late.unanswered, 0);
	ck_assert_uint_ge(model.host.chain.breaks, 2);
	ck_assert_uint_eq(model.reg.breaks + model.reg.jumps, 0);
	ck_assert_int_le(median(&live), 600);
	end();
}
END_TEST

/* The driver sets the GPU's clock anew, forward or back by an hour. */
START_TEST(reset)
{
	int64_t jump = 30 * S + 50 * MS;
	struct gt_range range;

	begin(13);
	truth.jump_at = start + jump;
	truth.jump_by = _i ? 3600 * S : -3600 * S;
	go_on(30 * S, start + MS, true, REGISTER);
	truth.now = start + jump + 10 * MS;
	truth_sample(&truth, &model, 16);
	ck_assert_uint_eq(model.reg.jumps, 1);
	go_on(30 * S, start + jump + 100 * MS, true, REGISTER);
	for (int i = 0; i < 1000; i++)
		check_at(&late, start + MS + i * 29 * MS, REGISTER);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_uint_eq(model.reg.jumps, 1);
	ck_assert_int_eq(gt_model_from_host(&model, truth_mono(&truth, start + jump), REGISTER, &range), -ENODATA);
	end();
}
END_TEST

/*
 * Outside of what is assumed: the rate changes by 20 ppm at once.  It must be
 * noticed, and what is asked about later times must be right again.
 */
START_TEST(rate_break_is_noticed)
{
	begin(14);
	truth.kink_at = start + 10 * S + 50 * MS;
	truth.kink_ppm = _i ? 20 : -20;
	go_on(10 * S, start + MS, true, REGISTER);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_uint_eq(model.reg.breaks, 0);
	go_on(S, start + MS, true, REGISTER);
	ck_assert_uint_ge(model.reg.breaks, 1);
	ck_assert_uint_eq(model.reg.jumps, 0);
	forget(&live);
	forget(&late);
	go_on(10 * S, start + 11 * S, true, REGISTER);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_int_le(median(&live), 600);
	end();
}
END_TEST

/* A model told that rates are steady to 1 ppb must find out that they are not. */
START_TEST(false_assumption_is_noticed)
{
	truth_init(&truth, 15);
	start = truth.now;
	truth.wander_ppm = 1.0;
	gt_model_init(&model, &(struct gt_model_opts){ .tick = 32, .wander_ppb = 1, .wander_growth_ppb_s = 1,
						       .read_pair = truth_read_pair, .data = &truth });
	go_on(60 * S, start + MS, true, REGISTER);
	ck_assert_uint_ge(model.reg.breaks, 3);
	ck_assert_uint_gt(live.wrong + late.wrong, 0);	/* and these checks can fail */
	end();
}
END_TEST

/*
 * Nobody sampled for 100 s.  Half way, 50 s from both sides, the slope is
 * uncertain by 0.5 to 5 ppm: the bound must be between 25 and 265 us, and holds.
 */
START_TEST(long_pause)
{
	struct gt_range range;
	int64_t middle;

	begin(16);
	truth.wander_ppm = 0.7;
	go_on(10 * S, start + MS, true, REGISTER);
	go_on(100 * S, start + MS, false, REGISTER);
	middle = start + 60 * S;
	ck_assert_int_eq(gt_model_to_host(&model, truth_gpu_shown(&truth, middle), REGISTER, &range), 0);
	ck_assert_int_ge(range.hi - range.lo, 50000);
	go_on(10 * S, start + MS, true, REGISTER);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_uint_eq(model.reg.breaks, 0);
	ck_assert_int_eq(gt_model_to_host(&model, truth_gpu_shown(&truth, middle), REGISTER, &range), 0);
	ck_assert_int_ge(range.hi - range.lo, 50000);
	ck_assert_int_le(range.hi - range.lo, 530000);
	/* more than an hour away nothing is said */
	ck_assert_int_eq(gt_model_to_host(&model, truth_gpu_shown(&truth, start) - 3700 * S, REGISTER, &range), -ERANGE);
	end();
}
END_TEST

/* A reading torn between two halves is 4.3 s off: dropped, and nothing else happens. */
START_TEST(torn_reading)
{
	struct gt_reading reading;

	begin(17);
	go_on(5 * S, start + MS, true, REGISTER);
	reading = truth_read(&truth);
	reading.gpu += INT64_C(1) << 32;
	ck_assert_int_eq(gt_model_add_register(&model, &reading, 1, 32, GPUTRACE_CLOCK_SOURCE_REGISTER),
			 GT_CHAIN_SUSPECT);
	go_on(5 * S, start + MS, true, REGISTER);
	ck_assert_uint_eq(model.reg.rejects, 1);
	ck_assert_uint_eq(model.reg.jumps + model.reg.breaks, 0);
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	end();
}
END_TEST

/* Stamps are the traced process's word; lies must not reach the register's bound. */
START_TEST(lying_stamps)
{
	begin(18);
	for (int i = 0; i < 50; i++) {
		go_on(100 * MS, start + MS, true, REGISTER);
		int64_t now = truth_mono(&truth, truth.now);

		gt_model_add_interval(&model, now - 1000, now, truth_gpu_shown(&truth, truth.now) + 5000 * (i % 3),
				      GPUTRACE_CLOCK_SOURCE_PING);
	}
	ck_assert_uint_eq(live.wrong + late.wrong, 0);
	ck_assert_uint_ge(model.disagreements, 30);
	end();
}
END_TEST

/* Launches that take 3 us to start and waits that take 2 us to return; then an impossible one of each. */
START_TEST(causality)
{
	int64_t at, host;

	begin(19);
	go_on(5 * S, start + MS, true, REGISTER);
	for (int i = 0; i < 1000; i++) {
		at = start + S + i * 3 * MS;
		host = truth_mono(&truth, at);
		ck_assert_int_eq(gt_model_check_start(&model, host - 3000, truth_gpu_shown(&truth, at)), 0);
		ck_assert_int_eq(gt_model_check_end(&model, truth_gpu_shown(&truth, at), host + 2000), 0);
	}
	ck_assert_uint_eq(model.checks, 2000);
	ck_assert_uint_eq(model.violations, 0);
	at = start + 2 * S;
	host = truth_mono(&truth, at);
	ck_assert_int_eq(gt_model_check_start(&model, host + 2000, truth_gpu_shown(&truth, at)), 1);
	ck_assert_int_eq(gt_model_check_end(&model, truth_gpu_shown(&truth, at), host - 2000), 1);
	/* within the bound nothing is proved */
	ck_assert_int_eq(gt_model_check_start(&model, host + 300, truth_gpu_shown(&truth, at)), 0);
	ck_assert_uint_eq(model.violations, 2);
	end();
}
END_TEST

/* A GPU whose %globaltimer steps by 1024 ns, known or found out from 16 stamps. */
START_TEST(coarse_step)
{
	begin(20);
	truth.tick = 1024;
	for (int i = 0; i < 100; i++) {
		truth_stamp(&truth, &model, 3000);
		truth.now += 100 * MS;
		if (i >= 20)
			check_at(&live, truth.now - MS, STRICT);
	}
	ck_assert_uint_eq(model.tick, 1024);
	ck_assert_uint_eq(live.wrong, 0);
	end();
}
END_TEST

/* Recorded intervals, with no clock to look at: exact numbers. */
START_TEST(offline)
{
	struct gt_range range;

	gt_model_init(&model, &(struct gt_model_opts){ .tick = 32 });
	/* at host 1000000 the GPU was 5 s ahead: seen between -400 and +500 */
	ck_assert_int_eq(gt_model_add_interval(&model, 1000000 - 400, 1000000 + 500, 5 * S + 1000000,
					       GPUTRACE_CLOCK_SOURCE_PING), 0);
	ck_assert_int_eq(gt_model_to_host(&model, 5 * S + 1000000, STRICT, &range), 0);
	/*
	 * g + 32 not yet reached at `before`, g reached at `after` (+ 1): the offset
	 * less 5 s is in [-501, 432]; the value stands for [g, g + 32].
	 */
	ck_assert_int_ge(range.lo, 1000000 - 432 - 2);	/* rounded outwards twice */
	ck_assert_int_le(range.lo, 1000000 - 432);
	ck_assert_int_ge(range.hi, 1000000 + 501 + 32);
	ck_assert_int_le(range.hi, 1000000 + 501 + 32 + 2);
	ck_assert_int_eq(gt_model_from_host(&model, 1000000, REGISTER, &range), 0);
	ck_assert_int_ge(range.lo, 5 * S + 1000000 - 501 - 32 - 2);
	ck_assert_int_le(range.hi, 5 * S + 1000000 + 432 + 2);
	gt_model_done(&model);
}
END_TEST

/*
 * An hour of recorded stamps, five times more than nodes are kept, 20 us wide: what is asked
 * of any part of it later is answered as well as of the latest.  Nodes at most 3 s apart remain, and
 * slopes wander by 0.5 + 0.3 ppm over that: 2 us beside what stamps leave.
 */
START_TEST(an_hour_of_stamps_offline)
{
	truth_init(&truth, 31);
	truth.wander_ppm = 0.4;
	gt_model_init(&model, &(struct gt_model_opts){ .tick = 32 });
	start = truth.now;
	for (int i = 0; i < 80000; i++) {
		truth_stamp(&truth, &model, 20000);
		truth.now += 45 * MS;
	}
	ck_assert_uint_lt(model.ping.n, 16385);
	for (int i = 0; i < 20000; i++)
		check_at(&late, start + (int64_t)(truth_uniform(&truth) * (double)(truth.now - start)), STRICT);
	ck_assert_uint_eq(late.wrong + late.unanswered, 0);
	ck_assert_int_le(median(&late), 2000);
	ck_assert_int_le(late.half[late.checks - 1], 5000);
	end();
}
END_TEST

/* 30 minutes at 10 a second: memory stays, ten minutes back are as good as ever, all of it holds. */
START_TEST(half_an_hour)
{
	struct tally old = { 0 };

	begin(21);
	truth.wander_ppm = 0.5;
	while (truth.now < start + 1800 * S) {
		truth_sample(&truth, &model, 4);
		truth.now += 100 * MS;
	}
	ck_assert_uint_le(model.reg.n, 16384);
	ck_assert_uint_le(model.host.chain.n, 16384);
	for (int i = 0; i < 2000; i++) {
		check_at(&late, truth.now - 600 * S + i * 299 * MS, REGISTER);
		check_at(&old, start + MS + i * 590 * MS, REGISTER);
	}
	ck_assert_uint_eq(late.wrong + old.wrong, 0);
	ck_assert_uint_eq(late.unanswered + old.unanswered, 0);
	ck_assert_int_le(median(&late), 580);
	forget(&old);
	end();
}
END_TEST

START_TEST(drift)
{
	int64_t lo, hi;

	begin(22);
	truth.mono_ppm = 1.7;		/* GPU against MONOTONIC: 4.7 - 1.7 = 3.0 ppm */
	ck_assert_int_eq(gt_model_drift(&model, &lo, &hi), -ENODATA);
	go_on(20 * S, start + MS, true, REGISTER);
	ck_assert_int_eq(gt_model_drift(&model, &lo, &hi), 0);
	ck_assert_int_le(gt_slope_to_ppb(lo), 3000);
	ck_assert_int_ge(gt_slope_to_ppb(hi), 3000);
	ck_assert_int_le(gt_slope_to_ppb(hi) - gt_slope_to_ppb(lo), 3000);
	end();
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("model");

	tcase_add_loop_test(tc, bound_holds, 0, 6);
	tcase_add_test(tc, estimate);
	tcase_add_loop_test(tc, there_and_back, 0, 2);
	tcase_add_loop_test(tc, strict_holds_with_skew, 0, 2);
	tcase_add_loop_test(tc, strict_from_stamps, 0, 1);
	tcase_add_loop_test(tc, strict_from_stamps, 1000, 1001);
	tcase_add_loop_test(tc, wide_stamps_alone, 0, 2);
	tcase_add_loop_test(tc, host_slews, 0, 3);
	tcase_add_loop_test(tc, reset, 0, 2);
	tcase_add_loop_test(tc, rate_break_is_noticed, 0, 2);
	tcase_add_test(tc, false_assumption_is_noticed);
	tcase_add_test(tc, long_pause);
	tcase_add_test(tc, torn_reading);
	tcase_add_test(tc, lying_stamps);
	tcase_add_test(tc, causality);
	tcase_add_test(tc, coarse_step);
	tcase_add_test(tc, offline);
	tcase_add_test(tc, an_hour_of_stamps_offline);
	tcase_add_test(tc, half_an_hour);
	tcase_add_test(tc, drift);
	return run_case("clock model", tc);
}
