/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that write additions as it is natural in C, `value->count++`, get them done as one operation. */
#ifndef GT_ATTACH_PLAIN_H
#define GT_ATTACH_PLAIN_H

struct gputrace_object;

/*
 * A load, an addition and a store become one atomic addition where the object's GPU
 * programs do nothing else to the map: threads that count in one place then lose nothing, and
 * such a map can be spread, and added to later.  What reads the map, too, stays as it is
 * written: it may count on its own order.  -ENOMEM.
 */
int gt_join_additions(struct gputrace_object *object);

#endif
