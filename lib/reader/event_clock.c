/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/event_clock.h"

#include <gputrace/gputrace.h>

#include "lib/wire/wire.h"

/* What the driver's documentation says of its events' resolution; and what a GPU of compute capability 9.0 was seen to have. */
#define RESOLUTION_NS 500
#define RESOLUTION_90_NS 32

/* One that is less exact than that says nothing. */
#define ERROR_MAX (1ull << 40)

static unsigned resolution(const struct gt_event_clock *events)
{
	return events->arch == 90 ? RESOLUTION_90_NS : RESOLUTION_NS;
}

/* The least and the most that %globaltimer may have shown at a moment of the host. */
static bool bounds(struct gputrace_clock *clock, uint64_t host, uint64_t *ret_least, uint64_t *ret_most)
{
	uint64_t gpu, error;

	if (!clock || gputrace_clock_from_host(clock, host, GPUTRACE_CLOCK_BOUND_REGISTER, &gpu, &error) || error > ERROR_MAX)
		return false;
	*ret_least = gpu - error;
	*ret_most = gpu + error;
	return true;
}

/* What contradicts all that was known is believed: the clock has been set. */
static void narrow(struct gt_event_clock *events, int64_t lo, int64_t hi)
{
	if (lo > hi)
		return;
	if (!events->known || lo > events->hi || hi < events->lo) {
		events->lo = lo;
		events->hi = hi;
		events->known = true;
		return;
	}
	if (lo > events->lo)
		events->lo = lo;
	if (hi < events->hi)
		events->hi = hi;
}

static void take_reading(struct gt_event_clock *events, struct gputrace_clock *clock)
{
	uint64_t least, most, unused;

	if (!events->after || !bounds(clock, events->before, &least, &unused) ||
	    !bounds(clock, events->after, &unused, &most))
		return;
	events->after = 0;
	narrow(events, (int64_t)(least - events->at - resolution(events)), (int64_t)(most - events->at + resolution(events)));
}

void gt_event_clock_add(struct gt_event_clock *events, struct gputrace_clock *clock,
			const struct gt_rec_event_clock *record)
{
	if (record->error > ERROR_MAX || events->lo < INT64_MIN / 2 || events->hi > INT64_MAX / 2)
		events->known = false;
	if (events->known) {
		events->lo -= (int64_t)record->error;
		events->hi += (int64_t)record->error;
	}
	events->before = record->before;
	events->after = record->after;
	events->at = record->at;
	take_reading(events, clock);
}

/* What contradicts what is known says nothing here. */
void gt_event_clock_after(struct gt_event_clock *events, uint64_t gpu, uint64_t at, uint64_t error)
{
	int64_t lo = (int64_t)(gpu - at - error - resolution(events));

	if (events->known && error <= ERROR_MAX && lo > events->lo && lo <= events->hi)
		events->lo = lo;
}

void gt_event_clock_before(struct gt_event_clock *events, uint64_t gpu, uint64_t at, uint64_t error)
{
	int64_t hi = (int64_t)(gpu - at + error + resolution(events));

	if (events->known && error <= ERROR_MAX && hi < events->hi && hi >= events->lo)
		events->hi = hi;
}

void gt_event_clock_after_host(struct gt_event_clock *events, struct gputrace_clock *clock, uint64_t host,
			       uint64_t at, uint64_t error)
{
	uint64_t least, most;

	if (bounds(clock, host, &least, &most))
		gt_event_clock_after(events, least, at, error);
}

void gt_event_clock_before_host(struct gt_event_clock *events, struct gputrace_clock *clock, uint64_t host,
				uint64_t at, uint64_t error)
{
	uint64_t least, most;

	if (bounds(clock, host, &least, &most))
		gt_event_clock_before(events, most, at, error);
}

bool gt_event_clock_to_gpu(struct gt_event_clock *events, struct gputrace_clock *clock, uint64_t at, uint64_t at_error,
			   uint64_t *ret_gpu, uint64_t *ret_error)
{
	uint64_t half, error;

	take_reading(events, clock);
	if (!events->known)
		return false;
	half = ((uint64_t)events->hi - (uint64_t)events->lo) / 2;
	error = half + 1 + resolution(events);
	if (error > ERROR_MAX || at_error > ERROR_MAX - error)
		return false;
	*ret_gpu = at + (uint64_t)events->lo + half;
	*ret_error = error + at_error;
	return true;
}
