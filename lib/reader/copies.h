/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and memsets of a process: first comes what was to be done, then when it was. */
#ifndef GT_READER_COPIES_H
#define GT_READER_COPIES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/wire.h"

struct gputrace_reader;
struct gt_copies;
struct gt_process;
struct gt_queued;

void gt_copies_free(struct gt_copies *copies);

/* Take in a record. */
void gt_reader_take_copy(struct gputrace_reader *reader, struct gt_process *process, const uint8_t *payload,
			 uint32_t size);
void gt_reader_take_copy_time(struct gputrace_reader *reader, struct gt_process *process, const uint8_t *payload,
			      uint32_t size);
void gt_reader_take_event_clock(struct gt_process *process, const uint8_t *payload, uint32_t size);

/* The process has ended: nothing more will be known of those that are left. */
void gt_reader_close_copies(struct gputrace_reader *reader, struct gt_process *process);

/* One of the latest; NULL: it is none. */
const struct gt_rec_copy *gt_copies_find(const struct gt_copies *copies, uint64_t id);

/* When a queued one ran, as far as it is known by now. */
void gt_copy_resolve(struct gt_queued *queued);
bool gt_copy_has_time(const struct gt_queued *queued);	/* or will never have one */

#endif
