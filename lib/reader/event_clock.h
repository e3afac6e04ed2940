/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the driver's events of a context lie on the GPU's clock.  Both count the same
 * nanoseconds from moments that we do not know; how far these are apart is narrowed down
 * by events that are known to have happened between two moments of the host.
 */
#ifndef GT_READER_EVENT_CLOCK_H
#define GT_READER_EVENT_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct gputrace_clock;
struct gt_rec_event_clock;

struct gt_event_clock {
	uint32_t arch;			/* compute capability times ten of the GPU; 0: not known */
	bool known;
	int64_t lo, hi;			/* the GPU's time is an event's plus something between these */
	uint64_t before, after, at;	/* a reading that the clock knew nothing of; after 0: none */
};

/* A reading; those of before are a little less certain since. */
void gt_event_clock_add(struct gt_event_clock *events, struct gputrace_clock *clock,
			const struct gt_rec_event_clock *record);

/*
 * An event with the time `at` was passed after, or before, the GPU's clock showed that; or
 * after, or before, a moment of the host.  error: of `at`.
 */
void gt_event_clock_after(struct gt_event_clock *events, uint64_t gpu, uint64_t at, uint64_t error);
void gt_event_clock_before(struct gt_event_clock *events, uint64_t gpu, uint64_t at, uint64_t error);
void gt_event_clock_after_host(struct gt_event_clock *events, struct gputrace_clock *clock, uint64_t host,
			       uint64_t at, uint64_t error);
void gt_event_clock_before_host(struct gt_event_clock *events, struct gputrace_clock *clock, uint64_t host,
				uint64_t at, uint64_t error);

/* What %globaltimer showed when an event had the time `at`, itself known within `at_error`.  False: not known. */
bool gt_event_clock_to_gpu(struct gt_event_clock *events, struct gputrace_clock *clock, uint64_t at, uint64_t at_error,
			   uint64_t *ret_gpu, uint64_t *ret_error);

#endif
