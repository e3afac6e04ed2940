/* SPDX-License-Identifier: Apache-2.0 */
/* Which maps get a copy for each multiprocessor. */
#ifndef GT_ATTACH_SPREAD_H
#define GT_ATTACH_SPREAD_H

struct gputrace_object;

/*
 * Spread the object's maps that gain by it: small arrays in the GPU's memory whose
 * values no program does anything to but add.  Decided before they are placed.
 * -EBUSY: a program that came later does something else to a map that is spread
 * already; -ENOMEM.
 */
int gt_spread_maps(struct gputrace_object *object);

#endif
