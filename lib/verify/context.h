/* SPDX-License-Identifier: Apache-2.0 */
/* The program's argument. */
#ifndef GT_VERIFY_CONTEXT_H
#define GT_VERIFY_CONTEXT_H

#include "lib/verify/verifier.h"

/* A load from the context: one field, a part of one, or two 4-byte fields at once. */
int gt_check_context(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		     int32_t offset, unsigned bytes);

/* Do the bytes differ between the threads of a warp? */
bool gt_context_is_per_lane(int32_t offset, unsigned bytes);

#endif
