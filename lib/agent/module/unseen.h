/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose image was loaded before the agent looked, or was not understood: the driver knows their names. */
#ifndef GT_AGENT_UNSEEN_H
#define GT_AGENT_UNSEEN_H

#include <stdint.h>

struct gt_kernel;

/*
 * The kernel that a handle of the driver's stands for, one for each name and module (its number; 0: not known); it
 * lives as long as the process.  why: it has no programs.  NULL: out of memory.  Not for two threads at once.
 */
struct gt_kernel *gt_unseen_kernel(void *function, uint32_t module, const char *why);

/* Tell a new controller of those that handles lead to; of others when they do again. */
void gt_unseen_tell(void);
/* No handle leads to one any more. */
void gt_unseen_forget(void);

#endif
