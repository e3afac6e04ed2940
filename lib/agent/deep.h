/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What needs more of the stack than the program's thread may have: it may have been made
 * with as little as it needs itself.
 */
#ifndef GT_AGENT_DEEP_H
#define GT_AGENT_DEEP_H

/* Some compilers in the driver go deep. */
#define GT_DEEP_BYTES (8u << 20)

/*
 * Run it now, on the calling thread; on another stack if little is left of the thread's own, and there is memory.
 * A signal's handler that jumps out of it leaves that stack behind.
 */
void gt_run_deep(void (*run)(void *data), void *data);

#endif
