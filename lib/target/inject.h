/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's way into a running process. */
#ifndef GT_TARGET_INJECT_H
#define GT_TARGET_INJECT_H

struct gputrace_target;

/*
 * Load the agent into the process and connect it, serving it meanwhile, until it
 * is ready.  With gt_error() text, see gputrace_target_resume().
 */
int gt_inject(struct gputrace_target *target);

/* The same for this very process. */
int gt_inject_here(struct gputrace_target *target);

#endif
