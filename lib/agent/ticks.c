/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/ticks.h"

#include "lib/agent/agent.h"

/*
 * A reading is right within half its width, and the rate is measured over no less than
 * RATE_NS: what that is wrong adds a tenth of the other error within GT_TICKS_SPAN_NS.
 */
#define WIDTH_NS 150
#define RATE_NS 1000000

/* A clock that is set right runs up to 500 ppm faster or slower; more, and the counter has leapt. */
static bool is_like(uint64_t rate, uint64_t before)
{
	return (rate > before ? rate - before : before - rate) <= before >> 10;
}

/* The thread was interrupted between the two. */
static bool is_wide(const struct gt_ticks *ticks, uint64_t width)
{
	return width * ticks->rate >> 32 > WIDTH_NS;
}

static void measure(struct gt_ticks *ticks)
{
	uint64_t ns = ticks->ns - ticks->old_ns, counted = ticks->counter - ticks->old_counter;
	bool begun = ticks->old_ns;

	if (begun && ns < RATE_NS)
		return;
	ticks->old_ns = ticks->ns;
	ticks->old_counter = ticks->counter;
	if (begun && counted) {
		uint64_t rate = (uint64_t)(((unsigned __int128)ns << 32) / counted);

		ticks->steady = is_like(rate, ticks->rate);
		ticks->rate = rate;
	}
}

void gt_ticks_learn(struct gt_ticks *ticks, uint64_t before, uint64_t ns, uint64_t after)
{
	uint64_t span = 0;

	ticks->changes++;
	ticks->span = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!ticks->steady || !is_wide(ticks, after - before)) {
		ticks->counter = before + (after - before) / 2;
		ticks->ns = ns;
		measure(ticks);
		if (ticks->steady && !is_wide(ticks, after - before))
			span = ((uint64_t)GT_TICKS_SPAN_NS << 32) / ticks->rate;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ticks->span = span;
	ticks->changes++;
}

uint64_t gt_ticks_read(struct gt_ticks *ticks)
{
	uint64_t before, ns, after;

	if (ticks->changes & 1)
		return gt_now();
	/* Neither value of the counter may be taken on the clock's other side. */
	before = __rdtsc();
	_mm_lfence();
	ns = gt_now();
	_mm_lfence();
	after = __rdtsc();
	gt_ticks_learn(ticks, before, ns, after);
	return ns;
}
