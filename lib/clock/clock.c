/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/clock/hostpair.h"
#include "lib/clock/model.h"
#include "lib/clock/slope.h"
#include "lib/clock/timer.h"
#include "lib/util/error.h"

#define READS_DEFAULT 16
#define PPB_MAX 100000
#define INTERVAL_MAX (10 * (uint64_t)GT_NS_PER_S)
/* A sample that does not fit is confirmed or not by others taken at once. */
#define CONFIRM 3

struct gputrace_clock {
	atomic_uint refs;
	struct gt_timer *timer;		/* NULL: none, and text says why */
	size_t reads;
	char text[640];
	pthread_mutex_t lock;		/* protects the model */
	struct gt_model model;
};

/* ---- opening ---- */

static int check_opts(const struct gputrace_clock_opts *opts)
{
	const char *bytes = (const char *)opts;

	if (opts->size < sizeof(*opts))
		return gt_error(-EINVAL, "clock options: size is %llu, set it to sizeof(struct gputrace_clock_opts)",
				(unsigned long long)opts->size);
	for (uint64_t i = sizeof(*opts); i < opts->size; i++)
		if (bytes[i])
			return gt_error(-E2BIG, "clock options: byte %llu is set, which this version does not know",
					(unsigned long long)i);
	if (opts->reserved)
		return gt_error(-E2BIG, "clock options: reserved must be 0");
	if (opts->select > GPUTRACE_CLOCK_OFFLINE)
		return gt_error(-EINVAL, "clock options: select %u is unknown", opts->select);
	if (opts->tick_ns > GT_MODEL_TICK_MAX)
		return gt_error(-EINVAL, "clock options: tick_ns is at most %d", GT_MODEL_TICK_MAX);
	if (opts->reads > GT_TIMER_READS_MAX)
		return gt_error(-EINVAL, "clock options: reads is at most %d", GT_TIMER_READS_MAX);
	if (opts->rate_uncertainty_ppb > PPB_MAX || opts->rate_change_ppb_s > PPB_MAX)
		return gt_error(-EINVAL, "clock options: rates are at most %d ppb", PPB_MAX);
	return 0;
}

/* Failing here is not failing to open: the clock can live on intervals from elsewhere. */
static void open_timer(struct gputrace_clock *clock, const struct gt_rm_sys *sys,
		       const struct gputrace_clock_opts *opts)
{
	struct gt_rm_select select = {
		.by = (int)opts->select, .ordinal = opts->ordinal,
		.domain = opts->pci_domain, .bus = opts->pci_bus, .device = opts->pci_device,
	};
	uint32_t tick;

	if (opts->select >= GPUTRACE_CLOCK_NO_DEVICE) {
		snprintf(clock->text, sizeof(clock->text), "samples from elsewhere alone; no GPU's timer is read");
		return;
	}
	memcpy(select.uuid, opts->uuid, sizeof(select.uuid));
	if (gt_timer_open(sys, &select, &clock->timer) < 0) {
		snprintf(clock->text, sizeof(clock->text), "the GPU's timer cannot be read: %s", gt_error_text());
		return;
	}
	snprintf(clock->text, sizeof(clock->text), "%s", gt_timer_text(clock->timer));
	tick = gt_timer_globaltimer_tick(clock->timer);
	if (tick && !opts->tick_ns)
		gt_model_set_tick(&clock->model, tick);
}

int gt_clock_open(const struct gt_rm_sys *sys, const struct gputrace_clock_opts *opts,
		  struct gputrace_clock **ret_clock)
{
	static const struct gputrace_clock_opts defaults = { .size = sizeof(defaults) };
	struct gputrace_clock *clock;
	int r;

	if (!opts)
		opts = &defaults;
	r = check_opts(opts);
	if (r < 0)
		return r;
	clock = calloc(1, sizeof(*clock));
	if (!clock)
		return gt_error(-ENOMEM, "no memory for a clock");
	gt_model_init(&clock->model, &(struct gt_model_opts){
		.tick = opts->tick_ns,
		.wander_ppb = opts->rate_uncertainty_ppb,
		.wander_growth_ppb_s = opts->rate_change_ppb_s,
		.read_pair = opts->select == GPUTRACE_CLOCK_OFFLINE ? NULL : gt_host_pair_read,
	});
	clock->refs = 1;
	clock->reads = opts->reads ? opts->reads : READS_DEFAULT;
	pthread_mutex_init(&clock->lock, NULL);
	open_timer(clock, sys, opts);
	r = gt_hostmap_touch(&clock->model.host);
	if (r < 0) {
		gputrace_clock_unref(clock);
		return gt_error(r, "cannot read the host's clocks: %s", strerror(-r));
	}
	*ret_clock = clock;
	return 0;
}

int gputrace_clock_open(struct gputrace_ctx *ctx, const struct gputrace_clock_opts *opts,
			struct gputrace_clock **ret_clock)
{
	(void)ctx;	/* nothing to log or to look up yet */
	return gt_clock_open(&gt_rm_sys_kernel, opts, ret_clock);
}

struct gputrace_clock *gputrace_clock_ref(struct gputrace_clock *clock)
{
	atomic_fetch_add_explicit(&clock->refs, 1, memory_order_relaxed);
	return clock;
}

struct gputrace_clock *gputrace_clock_unref(struct gputrace_clock *clock)
{
	/* acq_rel: the last one to leave sees all that the others did. */
	if (!clock || atomic_fetch_sub_explicit(&clock->refs, 1, memory_order_acq_rel) != 1)
		return NULL;
	gt_timer_unref(clock->timer);
	gt_model_done(&clock->model);
	pthread_mutex_destroy(&clock->lock);
	free(clock);
	return NULL;
}

/* ---- samples ---- */

static int take_sample(struct gputrace_clock *clock, bool fresh)
{
	struct gt_timer_sample sample;
	int r = 0;

	if (clock->timer)
		r = gt_timer_take(clock->timer, clock->reads, fresh, &sample);
	pthread_mutex_lock(&clock->lock);
	if (r == -EAGAIN) {
		clock->model.rejects++;
		r = 0;
	} else if (r == 0) {
		r = gt_hostmap_touch(&clock->model.host);
		if (r == 0 && clock->timer)
			r = gt_model_add_register(&clock->model, sample.readings, sample.n, sample.tick,
						  sample.source);
	}
	pthread_mutex_unlock(&clock->lock);
	if (r == -ENOMEM)
		gt_error(r, "no memory for the clock's history");
	return r;
}

int gputrace_clock_update(struct gputrace_clock *clock)
{
	int r = take_sample(clock, false);

	for (int i = 1; i < CONFIRM && r == GT_CHAIN_SUSPECT; i++)
		r = take_sample(clock, true);
	return r < 0 ? r : 0;
}

int gputrace_clock_add_interval(struct gputrace_clock *clock, uint64_t before_ns, uint64_t after_ns,
				uint64_t gpu_ns, int source)
{
	int r;

	if (source <= GPUTRACE_CLOCK_SOURCE_NONE || source > GPUTRACE_CLOCK_SOURCE_CALL)
		return gt_error(-EINVAL, "clock interval: source %d is unknown", source);
	if (!before_ns || !gpu_ns || before_ns > after_ns || after_ns - before_ns > INTERVAL_MAX ||
	    after_ns > GT_CHAIN_TIME_MAX || gpu_ns > GT_CHAIN_TIME_MAX)
		return gt_error(-EINVAL, "clock interval: %llu to %llu with GPU time %llu makes no sense",
				(unsigned long long)before_ns, (unsigned long long)after_ns,
				(unsigned long long)gpu_ns);
	pthread_mutex_lock(&clock->lock);
	r = gt_model_add_interval(&clock->model, (int64_t)before_ns, (int64_t)after_ns, (int64_t)gpu_ns, source);
	pthread_mutex_unlock(&clock->lock);
	if (r < 0)
		return gt_error(r, "clock interval: %s", strerror(-r));
	return 0;
}

/* ---- questions ---- */

static int explain(int r)
{
	if (r == -ENODATA)
		return gt_error(r, "clock: no sample yet, or a moment at which the GPU's clock was reset");
	if (r == -ERANGE)
		return gt_error(r, "clock: the time is more than an hour away from every sample");
	return gt_error(r, "clock: %s", strerror(-r));
}

/* The middle of a range, and what it takes to cover all of it. */
static int middle(struct gt_range range, uint64_t *ret_ns, uint64_t *ret_error_ns)
{
	int64_t half = (range.hi - range.lo) / 2;

	if (range.lo + half < 0)
		return -ERANGE;
	*ret_ns = (uint64_t)(range.lo + half);
	*ret_error_ns = (uint64_t)(range.hi - range.lo - half);
	return 0;
}

typedef int (*question_fn)(struct gt_model *model, int64_t time, int bound, struct gt_range *ret_range);

static int ask(struct gputrace_clock *clock, question_fn question, uint64_t time, int bound, uint64_t *ret_ns,
	       uint64_t *ret_error_ns)
{
	struct gt_range range;
	int r;

	if (bound != GPUTRACE_CLOCK_BOUND_REGISTER && bound != GPUTRACE_CLOCK_BOUND_STRICT)
		return gt_error(-EINVAL, "clock: bound %d is unknown", bound);
	if (time > GT_CHAIN_TIME_MAX)
		return explain(-ERANGE);
	pthread_mutex_lock(&clock->lock);
	r = question(&clock->model, (int64_t)time, bound, &range);
	pthread_mutex_unlock(&clock->lock);
	if (r == 0)
		r = middle(range, ret_ns, ret_error_ns);
	return r < 0 ? explain(r) : 0;
}

int gputrace_clock_to_host(struct gputrace_clock *clock, uint64_t gpu_ns, int bound, uint64_t *ret_host_ns,
			   uint64_t *ret_error_ns)
{
	return ask(clock, gt_model_to_host, gpu_ns, bound, ret_host_ns, ret_error_ns);
}

int gputrace_clock_from_host(struct gputrace_clock *clock, uint64_t host_ns, int bound, uint64_t *ret_gpu_ns,
			     uint64_t *ret_error_ns)
{
	return ask(clock, gt_model_from_host, host_ns, bound, ret_gpu_ns, ret_error_ns);
}

int gputrace_clock_check_start(struct gputrace_clock *clock, uint64_t launch_enter_ns, uint64_t gpu_start_ns)
{
	int r = -ERANGE;

	pthread_mutex_lock(&clock->lock);
	if (launch_enter_ns <= GT_CHAIN_TIME_MAX && gpu_start_ns <= GT_CHAIN_TIME_MAX)
		r = gt_model_check_start(&clock->model, (int64_t)launch_enter_ns, (int64_t)gpu_start_ns);
	pthread_mutex_unlock(&clock->lock);
	return r < 0 ? explain(r) : r;
}

int gputrace_clock_check_end(struct gputrace_clock *clock, uint64_t gpu_end_ns, uint64_t wait_return_ns)
{
	int r = -ERANGE;

	pthread_mutex_lock(&clock->lock);
	if (wait_return_ns <= GT_CHAIN_TIME_MAX && gpu_end_ns <= GT_CHAIN_TIME_MAX)
		r = gt_model_check_end(&clock->model, (int64_t)gpu_end_ns, (int64_t)wait_return_ns);
	pthread_mutex_unlock(&clock->lock);
	return r < 0 ? explain(r) : r;
}

/* ---- about the clock ---- */

int gputrace_clock_get_source(struct gputrace_clock *clock)
{
	int source;

	pthread_mutex_lock(&clock->lock);
	source = clock->model.source;
	pthread_mutex_unlock(&clock->lock);
	return source;
}

const char *gputrace_clock_source_name(int source)
{
	static const char *const names[] = {
		[GPUTRACE_CLOCK_SOURCE_NONE] = "none",
		[GPUTRACE_CLOCK_SOURCE_REGISTER] = "register",
		[GPUTRACE_CLOCK_SOURCE_PING] = "ping",
		[GPUTRACE_CLOCK_SOURCE_CALL] = "call",
	};

	if (source < 0 || (size_t)source >= sizeof(names) / sizeof(names[0]))
		return NULL;
	return names[source];
}

const char *gputrace_clock_get_source_text(struct gputrace_clock *clock)
{
	return clock->text;	/* never changes */
}

int gputrace_clock_get_drift(struct gputrace_clock *clock, int64_t *ret_ppb, uint64_t *ret_error_ppb)
{
	int64_t lo, hi, half;
	int r;

	pthread_mutex_lock(&clock->lock);
	r = gt_model_drift(&clock->model, &lo, &hi);
	pthread_mutex_unlock(&clock->lock);
	if (r < 0)
		return gt_error(r, "clock: the drift is known after two samples");
	lo = gt_slope_to_ppb(lo);
	hi = gt_slope_to_ppb(hi) + 1;
	half = (hi - lo) / 2;
	if (ret_ppb)
		*ret_ppb = lo + half;
	if (ret_error_ppb)
		*ret_error_ppb = (uint64_t)(hi - lo - half);
	return 0;
}

uint32_t gputrace_clock_get_tick(struct gputrace_clock *clock)
{
	uint32_t tick;

	pthread_mutex_lock(&clock->lock);
	tick = clock->model.tick;
	pthread_mutex_unlock(&clock->lock);
	return tick;
}

int gputrace_clock_set_tick(struct gputrace_clock *clock, uint32_t tick_ns)
{
	if (tick_ns == 0 || tick_ns > GT_MODEL_TICK_MAX)
		return gt_error(-EINVAL, "clock: a step of %u ns makes no sense", tick_ns);
	pthread_mutex_lock(&clock->lock);
	gt_model_set_tick(&clock->model, tick_ns);
	pthread_mutex_unlock(&clock->lock);
	return 0;
}

int gputrace_clock_get_stats(struct gputrace_clock *clock, struct gputrace_clock_stats *stats)
{
	struct gputrace_clock_stats now = { 0 };
	const struct gt_model *model = &clock->model;

	if (stats->size < 2 * sizeof(uint64_t))
		return gt_error(-EINVAL, "clock counters: set size to sizeof(struct gputrace_clock_stats)");
	pthread_mutex_lock(&clock->lock);
	now.samples = model->reg.samples + model->ping.samples;
	now.rejects = model->reg.rejects + model->ping.rejects + model->rejects;
	now.resets = model->reg.jumps > model->ping.jumps ? model->reg.jumps : model->ping.jumps;
	now.rate_breaks = model->reg.breaks + model->ping.breaks;
	now.host_slews = model->host.chain.breaks + model->host.chain.jumps;
	now.disagreements = model->disagreements;
	now.checks = model->checks;
	now.violations = model->violations;
	pthread_mutex_unlock(&clock->lock);
	now.size = stats->size;
	memcpy(stats, &now, stats->size < sizeof(now) ? (size_t)stats->size : sizeof(now));
	return 0;
}
