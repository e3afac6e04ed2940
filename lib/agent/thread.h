/* SPDX-License-Identifier: Apache-2.0 */
/* What the agent keeps of each thread of the program, and the ring that such a thread writes to. */
#ifndef GT_AGENT_THREAD_H
#define GT_AGENT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/agent/agent.h"
#include "lib/agent/copy/copy.h"
#include "lib/agent/ticks.h"
#include "lib/wire/wire.h"

/* A range that the thread has pushed. */
struct gt_open_range {
	uint64_t id;
	const void *domain;
};

struct gt_thread {
	uint32_t tid;
	uint32_t session;		/* whose ring it has */
	bool writing;			/* a signal handler must not write into the middle of a record */
	struct gt_thread_ring *ring;	/* NULL: there are none, or none was free */
	uint8_t *data;			/* of the ring */
	uint64_t tail;			/* of the ring, as last seen */
	struct gt_ticks ticks;
	uint64_t stack_begin, stack_end;	/* addresses of its stack and behind it; end 0: not asked for yet, 1: not known */
	/* Stacks. */
	struct gt_open_range *ranges;
	uint32_t range_count, range_room;
	uint64_t *externals;		/* the program's own numbers */
	struct gt_copy untimed;		/* that it makes, if that has no place among those with events */
	uint32_t external_count, external_room;
};

extern _Thread_local struct gt_thread *gt_thread_known __attribute__((tls_model("initial-exec")));

/* A session begins, whose rings threads have to get one of; before gt_active is set. */
void gt_threads_begin(void);

/* A forked child's one thread is another than the parent's that it was. */
void gt_thread_in_child(void);

/* What gt_thread() does when the thread is new; NULL: no memory, or the program has taken all keys there are. */
struct gt_thread *gt_thread_new(void);

/* A record is lost, since there is no such thing.  Between gt_enter() and gt_leave(), while active. */
void gt_thread_missing(void);

static inline struct gt_thread *gt_thread(void)
{
	return gt_thread_known ? gt_thread_known : gt_thread_new();
}

/* The calling thread's, also where there is no memory for more. */
uint32_t gt_thread_id(void);

/*
 * When the calling thread does something, in the order in which it does it: CLOCK_MONOTONIC
 * ns, within GT_TICKS_ERROR_NS if the session finds the processor's counter good enough.
 */
static inline uint64_t gt_thread_now(void)
{
	struct gt_thread *thread = gt_thread_known;

	return thread && gt_session.flags & GT_CONFIG_TICKS ? gt_ticks_now(&thread->ticks) : gt_now();
}

/* What the calling thread's work belongs to now, 0: nothing. */
static inline uint64_t gt_thread_range(void)
{
	const struct gt_thread *thread = gt_thread_known;

	return thread && thread->range_count ? thread->ranges[thread->range_count - 1].id : 0;
}

static inline uint64_t gt_thread_external(void)
{
	const struct gt_thread *thread = gt_thread_known;

	return thread && thread->external_count ? thread->externals[thread->external_count - 1] : 0;
}

/*
 * Write a record of the calling thread: `size` bytes of `payload` and then
 * `more_size` bytes of `more`, at most GT_RECORD_MAX_PAYLOAD together; size is a
 * multiple of 8.  Without a ring of its own it goes to the agent's.  What finds no
 * room is counted as lost.  Between gt_enter() and gt_leave().
 */
void gt_thread_emit(struct gt_thread *thread, enum gt_record_type type, const void *payload, size_t size,
		    const void *more, size_t more_size);

/*
 * The same without a copy: where to put a payload of at most `max` bytes, a multiple
 * of 8, in the thread's own ring.  If not NULL, gt_thread_close() follows with what it
 * became, a multiple of 8, too.  NULL: gt_thread_emit() finds a way, or counts it.
 */
void *gt_thread_open(struct gt_thread *thread, size_t max);
void gt_thread_close(struct gt_thread *thread, enum gt_record_type type, size_t size);

#endif
