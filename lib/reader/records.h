/* SPDX-License-Identifier: Apache-2.0 */
/* Records of ring buffer maps that a function gets in batches, instead of as events. */
#ifndef GT_READER_RECORDS_H
#define GT_READER_RECORDS_H

#include <gputrace/gputrace.h>

#include "lib/reader/ring.h"

struct gt_handler {
	struct gputrace_map *map;	/* a reference to its object is held */
	gputrace_records_fn fn;
	void *data;
};

/* What a batch is collected in, and who gets what. */
struct gt_handlers {
	struct gt_handler *handlers;
	unsigned count;
	struct gt_batch batch;
};

void gt_handlers_free(struct gt_handlers *handlers);

/* NULL: its records become events.  handlers may be NULL. */
const struct gt_handler *gt_handlers_find(const struct gt_handlers *handlers, const struct gputrace_map *map);

/*
 * Hand over what is in the ring, once around at most.  records: of whom they are; the rest
 * of it is filled in here.  How many; *ret_error as gt_ring_take().
 */
unsigned gt_handlers_drain(struct gt_handlers *handlers, const struct gt_handler *handler, struct gt_ring *ring,
			   struct gputrace_records *records, int *ret_error);

#endif
