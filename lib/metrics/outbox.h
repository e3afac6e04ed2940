/* SPDX-License-Identifier: Apache-2.0 */
/* From the thread that samples to the reader's. */
#ifndef GT_METRICS_OUTBOX_H
#define GT_METRICS_OUTBOX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gputrace_gpu;

/* A value, or a note. */
struct gt_metric {
	const struct gputrace_gpu *gpu;
	const char *name, *unit;	/* static */
	double value;
	uint64_t time, end;		/* CLOCK_MONOTONIC ns: it is of a moment, or of all, between them */
	int pid;			/* 0: of the GPU as a whole */
	char *note;			/* malloc'd; NULL: a value */
};

struct gt_outbox {
	pthread_mutex_t lock;
	struct gt_metric *metrics;
	size_t count, room;
	uint64_t lost;
	atomic_bool filled;		/* may be looked at without the lock */
};

void gt_outbox_init(struct gt_outbox *outbox);
void gt_outbox_free(struct gt_outbox *outbox);

/* Takes the note over.  What finds no room, since nobody has read for long, is counted as lost. */
void gt_outbox_put(struct gt_outbox *outbox, const struct gt_metric *metric);

__attribute__((format(printf, 2, 3)))
void gt_outbox_put_note(struct gt_outbox *outbox, const char *format, ...);

/* All that is there; the caller frees it and the notes.  NULL: nothing. */
struct gt_metric *gt_outbox_take(struct gt_outbox *outbox, size_t *ret_count, uint64_t *ret_lost);

#endif
