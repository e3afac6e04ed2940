/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled machine code: an ELF file. */
#ifndef GT_IMAGE_CUBIN_H
#define GT_IMAGE_CUBIN_H

#include "lib/agent/image/image.h"

/*
 * Size and architecture of a cubin known by its address only: fills
 * stored_size and arch.  -EINVAL: not one.
 */
int gt_cubin_measure(const uint8_t *data, struct gt_member *member, const char **ret_why);

#endif
