/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model of one GPU's clock, without any device: fed with intervals, asked
 * for times.  Not thread-safe.
 *
 * Two chains over CLOCK_MONOTONIC_RAW, never mixed: what the timer register
 * showed, and what %globaltimer showed.  That the two are one counter is
 * supported by all measurements but cannot be proved from the host, so
 *
 *   the register bound takes the register's chain for %globaltimer;
 *   the strict bound takes %globaltimer's own chain, met with the register's
 *   widened by GT_MODEL_SLACK.
 *
 * A stamp of %globaltimer that the register's chain rules out is counted as a
 * disagreement; from then on the strict bound no longer uses the register.
 * Stamps come from the traced process and may be lies; they never touch the
 * register's chain.
 *
 * A value v of a counter with step q means a time in [v, v + q).
 */
#ifndef GT_CLOCK_MODEL_H
#define GT_CLOCK_MODEL_H

#include "lib/clock/chain.h"
#include "lib/clock/hostmap.h"

/* Causal order alone leaves register - %globaltimer in [-1.09, +1.34] us (H200). */
#define GT_MODEL_SLACK 1500
/* Step of %globaltimer where nothing better is known, and the largest believed. */
#define GT_MODEL_TICK_UNKNOWN 1024
#define GT_MODEL_TICK_MAX 1048576
#define GT_MODEL_REGISTER_TICK 32

/* The counter was read between two times of CLOCK_MONOTONIC_RAW, ns; after is rounded up. */
struct gt_reading {
	int64_t before, after;
	int64_t gpu;
};

struct gt_model_opts {
	uint32_t tick;			/* of %globaltimer; 0: unknown */
	uint32_t wander_ppb, wander_growth_ppb_s;	/* 0: 500 and 100 */
	gt_read_pair_fn read_pair;	/* NULL: offline, RAW stands for MONOTONIC */
	void *data;
};

struct gt_model {
	struct gt_chain reg, ping;
	struct gt_hostmap host;
	uint32_t tick;			/* of %globaltimer */
	uint32_t reg_tick;
	bool tick_given;
	int64_t ping_gcd;		/* of all stamps */
	int source;			/* enum gputrace_clock_source of the latest sample */
	uint64_t rejects;		/* beside those of the chains */
	uint64_t disagreements, checks, violations;
};

void gt_model_init(struct gt_model *model, const struct gt_model_opts *opts);
void gt_model_done(struct gt_model *model);

/*
 * Add some readings of the timer register, close together (one sample).
 * Returns enum gt_chain_result or -ENOMEM.
 */
int gt_model_add_register(struct gt_model *model, const struct gt_reading *readings, size_t n,
			  uint32_t tick, int source);

/* Add a sample in CLOCK_MONOTONIC; see gputrace_clock_add_interval(). */
int gt_model_add_interval(struct gt_model *model, int64_t before, int64_t after, int64_t gpu,
			  int source);

void gt_model_set_tick(struct gt_model *model, uint32_t tick);

/* A time range, both ends included. */
struct gt_range {
	int64_t lo, hi;
};

/* %globaltimer showed gpu: when on CLOCK_MONOTONIC?  bound: enum gputrace_clock_bound. */
int gt_model_to_host(struct gt_model *model, int64_t gpu, int bound, struct gt_range *ret_host);
/* What did %globaltimer show at this CLOCK_MONOTONIC time? */
int gt_model_from_host(struct gt_model *model, int64_t host, int bound, struct gt_range *ret_gpu);

/* 1: certainly before / after the host time, counted; 0; -errno. */
int gt_model_check_start(struct gt_model *model, int64_t launch_enter, int64_t gpu_start);
int gt_model_check_end(struct gt_model *model, int64_t gpu_end, int64_t wait_return);

/* GPU against CLOCK_MONOTONIC, as slopes; -ENODATA below two samples. */
int gt_model_drift(const struct gt_model *model, int64_t *ret_lo, int64_t *ret_hi);

#endif
