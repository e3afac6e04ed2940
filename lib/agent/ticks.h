/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time for what happens often.  CLOCK_MONOTONIC takes 23 to 35 ns to read, most of it
 * waiting until the processor has done all that comes before; the processor's counter, which
 * the operating system makes it from, takes 10 where nobody waits.  So each thread reads the
 * clock when its last reading is GT_TICKS_SPAN_NS old, and in between adds what the counter says.
 */
#ifndef GT_AGENT_TICKS_H
#define GT_AGENT_TICKS_H

#include <stdbool.h>
#include <stdint.h>
#include <x86intrin.h>

#define GT_TICKS_SPAN_NS 100000
#define GT_TICKS_ERROR_NS 100	/* unless the clock has just been made to run faster or slower */

/* Of one thread; begins as zeros. */
struct gt_ticks {
	volatile uint32_t changes;	/* odd: being changed, by what a signal's handler has interrupted */
	uint64_t counter, ns;	/* the last reading of the clock */
	uint64_t rate;		/* ns in 2^32 ticks; 0: not measured yet */
	uint64_t span;		/* ticks from `counter` on for which this serves; 0 while it is changed */
	uint64_t old_counter, old_ns;	/* the reading from which on the rate is measured */
	uint64_t last;		/* time given */
	bool steady;		/* the last two rates were alike */
};

/* The clock is read again, and the rate measured.  Returns the time. */
uint64_t gt_ticks_read(struct gt_ticks *ticks);

/* One reading: at some moment between two values of the counter the clock showed ns. */
void gt_ticks_learn(struct gt_ticks *ticks, uint64_t before, uint64_t ns, uint64_t after);

/* CLOCK_MONOTONIC ns within GT_TICKS_ERROR_NS, later than all that were given before. */
static inline uint64_t gt_ticks_now(struct gt_ticks *ticks)
{
	uint32_t changes = ticks->changes;
	uint64_t since, span, ns;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	since = __rdtsc() - ticks->counter;
	span = ticks->span;
	ns = ticks->ns + (since * ticks->rate >> 32);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	/* Or a signal's handler came in between, and its reading stands beside what was there before. */
	if (since >= span || ticks->changes != changes)
		ns = gt_ticks_read(ticks);
	if (ns <= ticks->last)
		ns = ticks->last + 1;
	ticks->last = ns;
	return ns;
}

#endif
