/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow among the instructions that can be reached. */
#ifndef GT_VERIFY_FLOW_H
#define GT_VERIFY_FLOW_H

#include "lib/verify/verifier.h"

#define GT_FLOW_NONE UINT32_MAX

/* Where execution may go from `at` within its function: 0 to 2 reached instructions. */
unsigned gt_flow_next(const struct gt_verifier *v, unsigned at, unsigned next[2]);

/*
 * For each reached instruction the one where all ways from it to the function's
 * end meet first; insn_count: at the end itself.  `meet` has insn_count entries.
 * -ENOMEM.
 */
int gt_flow_meet(const struct gt_verifier *v, uint32_t *meet);

#endif
