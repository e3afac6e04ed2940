/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timer of one GPU, read from this process.  Reads of one GPU queue behind
 * each other inside it, so all clocks of a process share one reader per GPU.
 * Thread-safe.
 */
#ifndef GT_CLOCK_TIMER_H
#define GT_CLOCK_TIMER_H

#include "lib/clock/model.h"
#include "lib/clock/rm.h"

#define GT_TIMER_READS_MAX 64

/* Readings taken together. */
struct gt_timer_sample {
	struct gt_reading readings[GT_TIMER_READS_MAX];
	size_t n;
	uint32_t tick;		/* the register's step, ns */
	int source;		/* enum gputrace_clock_source: REGISTER or CALL */
};

struct gt_timer;

/* Find the GPU and prove that its timer runs.  Errors as gt_rm_open(), with text. */
int gt_timer_open(const struct gt_rm_sys *sys, const struct gt_rm_select *select,
		  struct gt_timer **ret_timer);
struct gt_timer *gt_timer_unref(struct gt_timer *timer);

/*
 * Read it `reads` times, 1 us each.  A sample that another caller took in the
 * last millisecond serves, unless `fresh`.  -EIO: the GPU no longer answers;
 * -ECHILD: opened by another process; -EAGAIN: every reading was torn.
 */
int gt_timer_take(struct gt_timer *timer, size_t reads, bool fresh, struct gt_timer_sample *ret_sample);

/* Which GPU is read and how; valid as long as the timer. */
const char *gt_timer_text(const struct gt_timer *timer);
/* The step of %globaltimer on this GPU as far as known, 0: unknown. */
uint32_t gt_timer_globaltimer_tick(const struct gt_timer *timer);

/* CLOCK_MONOTONIC_RAW, ns */
int64_t gt_timer_now(void);

#endif
