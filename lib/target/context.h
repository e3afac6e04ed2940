/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TARGET_CONTEXT_H
#define GT_TARGET_CONTEXT_H

#include <stdint.h>

struct gt_process;
struct gputrace_target;
struct gt_rec_context;
struct gt_target_context;

/*
 * A process has announced a CUDA context: find its GPU and that one's clock, and give
 * every map an instance there.  -EALREADY; -ENOSPC: too many; -ENOMEM; as gt_area_take().
 */
int gt_target_context_seen(struct gt_process *process, const struct gt_rec_context *record);

/* NULL is fine. */
void gt_target_context_free(struct gt_target_context *context);
/* It has ended: what helped to place its copies is of no use any more. */
void gt_target_context_ended(struct gt_target_context *context);

/* Take samples with the clocks that can do so by themselves and want one; now: CLOCK_MONOTONIC ns. */
void gt_target_update_clocks(struct gputrace_target *target, uint64_t now);

#endif
