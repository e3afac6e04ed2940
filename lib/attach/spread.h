/* SPDX-License-Identifier: Apache-2.0 */
/* Which maps programs only add to, and which of those get a copy for each multiprocessor. */
#ifndef GT_ATTACH_SPREAD_H
#define GT_ATTACH_SPREAD_H

struct gputrace_object;

/*
 * Find the object's maps in the GPU's memory whose values no program does anything to
 * but add, and spread those that gain by it: small ones.  Decided before they are
 * placed.  -EBUSY: a program that came later does something else to one that
 * was found before; -ENOMEM.
 */
int gt_spread_maps(struct gputrace_object *object);

#endif
