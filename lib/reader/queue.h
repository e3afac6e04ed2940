/* SPDX-License-Identifier: Apache-2.0 */
/* Events waiting until nothing earlier can come any more, in order of their ends. */
#ifndef GT_READER_QUEUE_H
#define GT_READER_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/reader/event.h"

struct gt_process;

/* An event and what it owns. */
struct gt_queued {
	struct gputrace_event event;
	struct gt_process *process;	/* whose it is, NULL: nobody's */
	uint64_t told;			/* when its record came, if the GPU's clock says when it was */
	char bytes[];			/* copies of its text and data */
};

/* What the order needs is here: the events themselves lie anywhere in memory. */
struct gt_queue_place {
	uint64_t end;
	uint64_t order;		/* of two that end at once the one that came first */
	struct gt_queued *queued;
};

struct gt_queue {
	struct gt_queue_place *heap;
	size_t count, room;
	uint64_t next_order;
};

/* A blank event with room for `bytes` bytes; NULL: no memory. */
struct gt_queued *gt_queued_new(int type, struct gt_process *process, size_t bytes);

/* Takes the event over (frees it when there is no memory). */
int gt_queue_push(struct gt_queue *queue, struct gt_queued *queued);

/* The earliest, which stays in the queue; NULL if empty. */
struct gt_queued *gt_queue_first(const struct gt_queue *queue);
/* Remove it; the caller frees it. */
struct gt_queued *gt_queue_pop(struct gt_queue *queue);

void gt_queue_free(struct gt_queue *queue);

#endif
