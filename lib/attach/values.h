/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU programs of an object do to the values of its maps. */
#ifndef GT_ATTACH_VALUES_H
#define GT_ATTACH_VALUES_H

#include <stdint.h>

#include "lib/object/object.h"
#include "lib/verify/verify.h"

/* By a program that is refused as it is: it may be another one by the time that it is attached. */
#define GT_USE_UNKNOWN (GT_USE_ANY + 1)

/* For each program flags for each map of the object, GT_USE_*: program_count times map_count.  -ENOMEM. */
int gt_value_uses(const struct gputrace_object *object, uint8_t *ret_uses);

/* Only added to, by all programs together, and in the memory of the GPU. */
bool gt_is_added_to(const struct gputrace_map *map, uint8_t uses);

/* Of all programs together. */
uint8_t gt_value_uses_of_all(const struct gputrace_object *object, const uint8_t *uses, unsigned map);

#endif
