/* SPDX-License-Identifier: Apache-2.0 */
/* Which side's programs use a map: the operating system's kernel's, the GPU's. */
#ifndef GT_ATTACH_USES_H
#define GT_ATTACH_USES_H

#include <stdint.h>

struct gputrace_object;

#define GT_USED_IN_KERNEL 1u
#define GT_USED_ON_GPU 2u

/*
 * Fill in ret_uses, a byte for each of the object's maps: whose programs refer to
 * it, by themselves or through functions that they call.  -ENOMEM, -ENOEXEC.
 */
int gt_map_uses(const struct gputrace_object *object, uint8_t *ret_uses);

#endif
