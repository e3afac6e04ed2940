/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_ATTACH_ATTACH_H
#define GT_ATTACH_ATTACH_H

struct gputrace_target;

/* The layout is final: link what depends on it.  -ENOMEM. */
int gt_attach_finish(struct gputrace_target *target);

#endif
