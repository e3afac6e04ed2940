/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels without programs of which the driver knows the names: their image was loaded before the agent looked, or was not understood. */
#ifndef GT_AGENT_UNSEEN_H
#define GT_AGENT_UNSEEN_H

#include <stdint.h>

#include "lib/wire/wire.h"

struct gt_kernel;

/*
 * The kernel that a handle of the driver's stands for, one for each name and module (its number; 0: not known); it
 * lives as long as the process.  reason, why: it has no programs.  NULL: out of memory.  Not for two threads at once.
 */
struct gt_kernel *gt_unseen_kernel(void *function, uint32_t module, enum gt_reason reason, const char *why);

/* Tell a new controller of those that handles lead to; of others when they do again. */
void gt_unseen_tell(void);
/* No handle leads to one any more. */
void gt_unseen_forget(void);

#endif
