/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redirects a function by a jump in its first bytes.
 *
 * The first byte is left alone: a kernel uprobe, ours or another tool's, lives
 * there.  The kernel runs the original first instruction (push rbp) out of line
 * and goes on at the second byte, whatever is in memory; so the jump begins at
 * the second byte and the pad it leads to takes the pushed register off again.
 */
#ifndef GT_AGENT_HOOK_PATCH_H
#define GT_AGENT_HOOK_PATCH_H

#include <stdbool.h>

/*
 * From now on calls of `function` go to `replacement`, which finds `site` in
 * register r11; *ret_original is a function that does what `function` did, for the
 * life of the process.  A function that was patched before gets the new replacement
 * in front, and what it did was to call the earlier one.  From one thread at a time;
 * others may be running the function meanwhile.  busy: one may even have been interrupted in its first
 * instructions; then no thread is led astray either.
 * -ENOTSUP: the function does not begin in a way we know; -ENOMEM: no memory
 * within reach of a jump; -EBUSY: none that a busy function can be led to;
 * -EACCES: code cannot be made writable.
 */
int gt_patch(void *function, void *replacement, const void *site, bool busy, void **ret_original);

/*
 * Let all patched functions be as they were, but for those whose originals are
 * kept[]; or be led to their replacements again.  -EACCES.
 */
int gt_patches_remove(const void *const *kept, unsigned count);
int gt_patches_restore(void);

/*
 * A function that does what `function` does without passing its first bytes, so
 * that the agent's own calls are not taken for the program's by a uprobe there.
 * `function` itself where it begins in a way we do not know.
 */
void *gt_bypass(void *function);

#endif
