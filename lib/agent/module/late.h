/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs for kernels that were loaded before the agent came: the image is looked for
 * among those that the process's objects carry, and a copy of it with programs in it is
 * loaded beside the program's module.
 */
#ifndef GT_AGENT_LATE_H
#define GT_AGENT_LATE_H

#include <stdbool.h>

/* A session begins: get to know what there is, if it wants this. */
void gt_late_prepare(void);
void gt_late_forget(void);

/* Does the session want it? */
bool gt_late_wanted(void);

/*
 * Get to know a function, or a kernel of a library, that nothing is known of: with a copy, or with
 * the reason why there is none.
 */
void gt_late_learn(void *function);

#endif
