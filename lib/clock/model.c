/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/clock/model.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <string.h>

#include "lib/clock/slope.h"

/* An answer of the register's chain counts only this near to its samples, ns. */
#define REGISTER_NEAR (10 * GT_NS_PER_S)
/* Stamps seen before their common divisor says anything about the step. */
#define GCD_AFTER 16
#define INTERVAL_MAX (10 * GT_NS_PER_S)

/* What one chain answers. */
struct answer {
	int r;
	struct gt_range range;
};

void gt_model_init(struct gt_model *model, const struct gt_model_opts *opts)
{
	struct gt_chain_opts chain_opts = {
		.wander = GT_SLOPE_PPB(opts->wander_ppb ? opts->wander_ppb : 500),
		.wander_growth = GT_SLOPE_PPB(opts->wander_growth_ppb_s ? opts->wander_growth_ppb_s : 100),
		.wander_max = GT_SLOPE_PPB(5000),
		.start = GT_SLOPE_PPB(500000),
		.limit = GT_SLOPE_PPB(1000000),
		.min_gap = 1000000,
		.max_nodes = 16384,
	};

	memset(model, 0, sizeof(*model));
	gt_chain_init(&model->reg, &chain_opts);
	gt_chain_init(&model->ping, &chain_opts);
	gt_hostmap_init(&model->host, opts->read_pair, opts->data);
	model->tick = opts->tick ? opts->tick : GT_MODEL_TICK_UNKNOWN;
	model->tick_given = opts->tick != 0;
	model->reg_tick = GT_MODEL_REGISTER_TICK;
	model->source = GPUTRACE_CLOCK_SOURCE_NONE;
}

void gt_model_done(struct gt_model *model)
{
	gt_chain_done(&model->reg);
	gt_chain_done(&model->ping);
	gt_hostmap_done(&model->host);
}

void gt_model_set_tick(struct gt_model *model, uint32_t tick)
{
	model->tick = tick;
	model->tick_given = true;
}

/* ---- samples ---- */

/*
 * Turn readings into one statement about the offset at their middle.  Of a
 * reading g, taken somewhere in [before, after], is certain: at `before` the
 * counter was below g + tick, at `after` at least g.  Each is carried to the
 * middle along the slopes expected now.
 */
static struct gt_chain_node meet(const struct gt_chain *chain, const struct gt_reading *readings, size_t n,
				 uint32_t tick)
{
	struct gt_chain_node node = { .lo = INT64_MIN, .hi = INT64_MAX };
	int64_t ahead = 0, a, b, d, lo, hi;

	node.x = readings[0].before + (readings[n - 1].after - readings[0].before) / 2;
	if (chain->n)
		ahead = gt_max64(node.x - chain->nodes[chain->n - 1].x, 0);
	gt_chain_slope_ahead(chain, ahead, &a, &b);
	for (size_t i = 0; i < n; i++) {
		d = node.x - readings[i].before;
		hi = readings[i].gpu + tick - readings[i].before;
		hi += d >= 0 ? gt_slope_mul_up(d, b) : -gt_slope_mul_down(-d, a);
		d = readings[i].after - node.x;
		lo = readings[i].gpu - readings[i].after;
		lo += d >= 0 ? -gt_slope_mul_up(d, b) : gt_slope_mul_down(-d, a);
		node.lo = gt_max64(node.lo, lo);
		node.hi = gt_min64(node.hi, hi);
	}
	return node;
}

static int add_readings(struct gt_chain *chain, const struct gt_reading *readings, size_t n, uint32_t tick)
{
	struct gt_chain_node node = meet(chain, readings, n, tick);

	return gt_chain_add(chain, node.x, node.lo, node.hi);
}

int gt_model_add_register(struct gt_model *model, const struct gt_reading *readings, size_t n, uint32_t tick,
			  int source)
{
	int r = add_readings(&model->reg, readings, n, tick);

	if (r >= 0 && r != GT_CHAIN_REJECTED)
		model->source = source;
	return r;
}

static int64_t gcd(int64_t a, int64_t b)
{
	int64_t rest;

	while (b) {
		rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* Stamps that share a divisor larger than the step assumed show a larger step. */
static void watch_tick(struct gt_model *model, int64_t gpu)
{
	model->ping_gcd = gcd(gpu, model->ping_gcd);
	if (model->ping.samples >= GCD_AFTER && model->ping_gcd > model->tick)
		model->tick = (uint32_t)gt_min64(model->ping_gcd, GT_MODEL_TICK_MAX);
}

static void watch_disagreement(struct gt_model *model, const struct gt_reading *stamp)
{
	int64_t lo, hi;

	if (gt_chain_distance(&model->reg, stamp->before, stamp->after) > GT_NS_PER_S ||
	    gt_chain_to_near(&model->reg, stamp->gpu, stamp->gpu + model->tick, &lo, &hi) < 0)
		return;
	if (hi < stamp->before || lo > stamp->after)
		model->disagreements++;
}

int gt_model_add_interval(struct gt_model *model, int64_t before, int64_t after, int64_t gpu, int source)
{
	struct gt_reading reading = { .gpu = gpu };
	int r;

	/* A time of CLOCK_MONOTONIC is rounded down to 1 ns. */
	r = gt_hostmap_to_raw(&model->host, before, after + 1, &reading.before, &reading.after);
	if (r < 0)
		return r;
	if (source == GPUTRACE_CLOCK_SOURCE_PING) {
		watch_tick(model, gpu);
		watch_disagreement(model, &reading);
		r = add_readings(&model->ping, &reading, 1, model->tick);
	} else {
		r = add_readings(&model->reg, &reading, 1, model->reg_tick);
	}
	if (r < 0)
		return r;
	if (r != GT_CHAIN_REJECTED)
		model->source = source;
	return 0;
}

/* ---- questions ---- */

static struct answer nothing(void)
{
	return (struct answer){ .r = -ENODATA };
}

static struct answer met(struct gt_model *model, struct answer p, struct answer q)
{
	struct answer both = { .range = { gt_max64(p.range.lo, q.range.lo), gt_min64(p.range.hi, q.range.hi) } };

	if (q.r < 0)
		return p;
	if (both.range.lo <= both.range.hi)
		return both;
	/* They exclude each other: say what covers either, and count it. */
	model->disagreements++;
	both.range.lo = gt_min64(p.range.lo, q.range.lo);
	both.range.hi = gt_max64(p.range.hi, q.range.hi);
	return both;
}

static int64_t width(struct answer a)
{
	return a.range.hi - a.range.lo;
}

/* near: whether the register was read around the time in question. */
static struct answer choose(struct gt_model *model, int bound, struct answer reg, bool near, struct answer ping)
{
	if (reg.r < 0)
		return ping.r < 0 && reg.r == -ERANGE ? reg : ping;
	if (bound == GPUTRACE_CLOCK_BOUND_REGISTER) {
		if (!near && ping.r >= 0 && width(ping) < width(reg))
			return ping;
		return reg;
	}
	if (model->disagreements && ping.r >= 0)
		return ping;
	reg.range.lo -= GT_MODEL_SLACK;
	reg.range.hi += GT_MODEL_SLACK;
	return met(model, reg, ping);
}

static struct answer to_raw(const struct gt_chain *chain, int64_t gpu, uint32_t tick)
{
	struct answer answer = nothing();

	answer.r = gt_chain_to_near(chain, gpu, gpu + tick, &answer.range.lo, &answer.range.hi);
	return answer;
}

int gt_model_to_host(struct gt_model *model, int64_t gpu, int bound, struct gt_range *ret_host)
{
	struct answer reg = to_raw(&model->reg, gpu, model->tick), ping = to_raw(&model->ping, gpu, model->tick);
	struct answer raw;
	bool near = reg.r >= 0 &&
		    gt_chain_distance(&model->reg, reg.range.lo, reg.range.hi) <= REGISTER_NEAR;

	raw = choose(model, bound, reg, near, ping);
	if (raw.r < 0)
		return raw.r;
	return gt_hostmap_to_mono(&model->host, raw.range.lo, raw.range.hi, &ret_host->lo, &ret_host->hi);
}

/* %globaltimer shows a time up to one step old. */
static struct answer to_gpu(const struct gt_chain *chain, struct gt_range raw, uint32_t tick)
{
	struct answer answer = nothing();

	answer.r = gt_chain_to_far(chain, raw.lo, raw.hi, &answer.range.lo, &answer.range.hi);
	answer.range.lo -= tick;
	return answer;
}

int gt_model_from_host(struct gt_model *model, int64_t host, int bound, struct gt_range *ret_gpu)
{
	struct answer gpu;
	struct gt_range raw;
	bool near;
	int r;

	r = gt_hostmap_to_raw(&model->host, host, host, &raw.lo, &raw.hi);
	if (r < 0)
		return r;
	near = gt_chain_distance(&model->reg, raw.lo, raw.hi) <= REGISTER_NEAR;
	gpu = choose(model, bound, to_gpu(&model->reg, raw, model->tick), near,
		     to_gpu(&model->ping, raw, model->tick));
	if (gpu.r < 0)
		return gpu.r;
	*ret_gpu = gpu.range;
	return 0;
}

int gt_model_check_start(struct gt_model *model, int64_t launch_enter, int64_t gpu_start)
{
	struct gt_range host;
	int r = gt_model_to_host(model, gpu_start, GPUTRACE_CLOCK_BOUND_REGISTER, &host);

	if (r < 0)
		return r;
	model->checks++;
	if (host.hi >= launch_enter)
		return 0;
	model->violations++;
	return 1;
}

int gt_model_check_end(struct gt_model *model, int64_t gpu_end, int64_t wait_return)
{
	struct gt_range host;
	int r = gt_model_to_host(model, gpu_end, GPUTRACE_CLOCK_BOUND_REGISTER, &host);

	if (r < 0)
		return r;
	model->checks++;
	if (host.lo <= wait_return)
		return 0;
	model->violations++;
	return 1;
}

int gt_model_drift(const struct gt_model *model, int64_t *ret_lo, int64_t *ret_hi)
{
	const struct gt_chain *gpu = model->reg.n >= 2 ? &model->reg : &model->ping;
	int64_t host_lo = 0, host_hi = 0, lo, hi;

	if (gpu->n < 2)
		return -ENODATA;
	gt_chain_slope_ahead(gpu, 0, &lo, &hi);
	if (model->host.read)
		gt_chain_slope_ahead(&model->host.chain, 0, &host_lo, &host_hi);
	*ret_lo = lo - host_hi;
	*ret_hi = hi - host_lo;
	return 0;
}
