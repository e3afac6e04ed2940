/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_TARGET_CONTEXT_H
#define GT_TARGET_CONTEXT_H

#include <stdint.h>

struct gt_process;
struct gputrace_target;
struct gt_rec_context;

/*
 * A process has announced a CUDA context: open the clock of its GPU and give
 * every map an instance there.  -ERANGE: no such context area; -EALREADY.
 */
int gt_target_context_seen(struct gt_process *process, const struct gt_rec_context *record);

/* Take samples with the clocks that can do so by themselves and want one; now: CLOCK_MONOTONIC ns. */
void gt_target_update_clocks(struct gputrace_target *target, uint64_t now);

/* Shared memory is about to go: maps keep what they hold. */
void gt_target_keep_maps(struct gputrace_target *target);

#endif
