/* SPDX-License-Identifier: Apache-2.0 */
#include "truth.h"

#include <gputrace/gputrace.h>
#include <math.h>
#include <string.h>

void truth_init(struct truth *t, uint64_t seed)
{
	memset(t, 0, sizeof(*t));
	t->rng = seed * 2 + 1;
	t->now = INT64_C(3600) * 1000000000;
	t->gpu_epoch = INT64_C(1795958394912347424);
	t->drift_ppm = 4.7;
	t->wander_period_s = 40;
	t->tick = 32;
	t->mono_epoch = INT64_C(246581303);
	t->read_ns = 870;
	t->jitter_ns = 60;
}

uint64_t truth_random(struct truth *t)
{
	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	return t->rng;
}

double truth_uniform(struct truth *t)
{
	return (double)(truth_random(t) >> 11) / 9007199254740992.0;
}

int64_t truth_mono(const struct truth *t, int64_t raw)
{
	double offset = (double)raw * t->mono_ppm * 1e-6;

	for (int i = 0; i < TRUTH_SLEWS; i++) {
		int64_t end = raw < t->slew[i].to ? raw : t->slew[i].to;

		if (end > t->slew[i].from)
			offset += (double)(end - t->slew[i].from) * t->slew[i].ppm * 1e-6;
	}
	return raw + t->mono_epoch + (int64_t)floor(offset);
}

int64_t truth_gpu(const struct truth *t, int64_t raw)
{
	double w = 2 * M_PI / (t->wander_period_s * 1e9);
	double offset = (double)raw * t->drift_ppm * 1e-6;
	int64_t gpu;

	offset += t->wander_ppm * 1e-6 / w * (1 - cos(w * (double)raw));
	if (t->kink_at && raw > t->kink_at)
		offset += (double)(raw - t->kink_at) * t->kink_ppm * 1e-6;
	gpu = raw + t->gpu_epoch + (int64_t)floor(offset);
	if (t->jump_at && raw >= t->jump_at)
		gpu += t->jump_by;
	return gpu;
}

int64_t truth_gpu_shown(const struct truth *t, int64_t raw)
{
	int64_t gpu = truth_gpu(t, raw) + t->skew;

	return gpu - gpu % t->tick;
}

/* Mostly a little late, now and then very late (an interrupt). */
static int64_t lateness(struct truth *t)
{
	double u = truth_uniform(t);

	if (u < 0.002)
		return (int64_t)(20000 * truth_uniform(t));
	return (int64_t)((double)t->jitter_ns * -log(1 - truth_uniform(t)));
}

struct gt_reading truth_read(struct truth *t)
{
	struct gt_reading reading;

	reading.before = t->now;
	t->now += t->read_ns / 2 + lateness(t);
	reading.gpu = truth_gpu(t, t->now);
	reading.gpu -= reading.gpu % t->tick;
	t->now += t->read_ns / 2 + lateness(t);
	reading.after = t->now + 1;
	return reading;
}

int truth_sample(struct truth *t, struct gt_model *model, unsigned n)
{
	struct gt_reading readings[64];
	int r = 0;

	for (int attempt = 0; attempt < 3; attempt++) {
		for (unsigned i = 0; i < n; i++)
			readings[i] = truth_read(t);
		r = gt_hostmap_touch(&model->host);
		if (r < 0)
			return r;
		r = gt_model_add_register(model, readings, n, t->tick, GPUTRACE_CLOCK_SOURCE_REGISTER);
		if (r != GT_CHAIN_SUSPECT)
			return r;
	}
	return r;
}

int truth_stamp(struct truth *t, struct gt_model *model, int64_t width)
{
	int64_t before = truth_mono(t, t->now), gpu, after;
	double at = truth_uniform(t);

	t->now += (int64_t)((double)width * at);
	gpu = truth_gpu_shown(t, t->now);
	t->now += (int64_t)((double)width * (1 - at));
	after = truth_mono(t, t->now);
	return gt_model_add_interval(model, before, after, gpu, GPUTRACE_CLOCK_SOURCE_PING);
}

int truth_read_pair(void *data, struct gt_host_pair *ret_pair)
{
	struct truth *t = data;

	ret_pair->mono_before = truth_mono(t, t->now);
	t->now += 20 + (int64_t)(truth_random(t) % 8);
	ret_pair->raw = t->now;
	t->now += 20 + (int64_t)(truth_random(t) % 8);
	ret_pair->mono_after = truth_mono(t, t->now);
	return 0;
}
