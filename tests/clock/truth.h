/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated machine whose true times are known: CLOCK_MONOTONIC_RAW is the
 * time itself, CLOCK_MONOTONIC is slewed against it, and the GPU's counter
 * drifts, wanders, steps and jumps.  Offsets are small, so double holds them
 * to far below 1 ns; times are int64_t.
 */
#ifndef GT_TESTS_CLOCK_TRUTH_H
#define GT_TESTS_CLOCK_TRUTH_H

#include <stdint.h>

#include "lib/clock/model.h"

#define TRUTH_SLEWS 8

struct truth {
	uint64_t rng;
	int64_t now;			/* RAW ns */
	/* GPU: offset at RAW 0, mean drift, and a sine on top of it */
	int64_t gpu_epoch;
	double drift_ppm, wander_ppm, wander_period_s;
	int64_t jump_at, jump_by;	/* at this RAW time the counter moves; 0: never */
	int64_t kink_at;		/* from here on the drift is kink_ppm more */
	double kink_ppm;
	uint32_t tick;
	int64_t skew;			/* %globaltimer minus the timer register */
	/* MONOTONIC: offset at RAW 0, rate, and slews with a begin and an end */
	int64_t mono_epoch;
	double mono_ppm;
	struct {
		int64_t from, to;
		double ppm;
	} slew[TRUTH_SLEWS];
	/* one read of the register takes this long, half of it before the value is taken, and some more */
	int64_t read_ns, jitter_ns;
};

void truth_init(struct truth *t, uint64_t seed);
uint64_t truth_random(struct truth *t);
double truth_uniform(struct truth *t);	/* [0, 1) */

int64_t truth_mono(const struct truth *t, int64_t raw);
int64_t truth_gpu(const struct truth *t, int64_t raw);		/* without the step */
int64_t truth_gpu_shown(const struct truth *t, int64_t raw);	/* %globaltimer: skewed, rounded down to the step */

/* One read of the counter now: advances the time. */
struct gt_reading truth_read(struct truth *t);
/* n reads in a row into the model, as gputrace_clock_update() does.  Result of the last attempt. */
int truth_sample(struct truth *t, struct gt_model *model, unsigned n);
/* One stamp of %globaltimer by the agent: the interval is width ns wide, the value taken anywhere in it. */
int truth_stamp(struct truth *t, struct gt_model *model, int64_t width);

/* A gt_read_pair_fn; data is the struct truth. */
int truth_read_pair(void *data, struct gt_host_pair *ret_pair);

#endif
