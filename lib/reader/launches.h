/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process's launches were, by launch id, so that kernels and API calls
 * can be tied to them.  Filled from the agent's records, which a target can
 * forge: memory is bounded whatever they say.
 */
#ifndef GT_READER_LAUNCHES_H
#define GT_READER_LAUNCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/wire.h"

struct gt_launches;

struct gt_launches *gt_launches_new(void);
void gt_launches_free(struct gt_launches *launches);

void gt_launches_add(struct gt_launches *launches, const struct gt_rec_launch *record);
/* Something else that a thread called for, with an id of its own: only gt_launches_within() knows it. */
void gt_launches_add_call(struct gt_launches *launches, uint32_t tid, uint64_t enter, uint64_t leave, uint64_t id);

/* The launch with this id, NULL if it is not known (any more).  Valid until the next add. */
const struct gt_rec_launch *gt_launches_find(const struct gt_launches *launches, uint64_t id);

/*
 * The latest launch that thread `tid` made within [enter, leave], 0 if none: the
 * one that an API call with these times stands for.
 */
uint64_t gt_launches_within(const struct gt_launches *launches, uint32_t tid, uint64_t enter,
			    uint64_t leave);

#endif
