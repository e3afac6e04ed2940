/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_AGENT_HOOK_HOOKS_H
#define GT_AGENT_HOOK_HOOKS_H

#include <stdbool.h>

/* One driver function and what it is replaced by; original: its place in gt_cu. */
struct gt_hook {
	const char *name;
	void *replacement;
	void **original;
	bool needed;	/* without it kernels with the hidden parameter could be launched wrongly */
};

/* Lists that end with a NULL name. */
extern const struct gt_hook gt_load_hooks[], gt_launch_hooks[], gt_graph_hooks[], gt_exec_hooks[], gt_context_hooks[];

/*
 * Install all hooks that this driver has functions for.  Returns how many, or
 * -ENOTSUP when a needed one cannot be installed: then nothing may be probed.
 */
int gt_hooks_install(void);

/* Afterwards: the agent's calls of functions that are not hooked go past uprobes on them. */
void gt_hooks_bypass_others(void);

/*
 * Is this call the program's own?  False while the driver or the agent is at
 * work on this thread, and in a forked child, where CUDA does not work and our
 * locks may be held by threads that do not exist.  Every gt_enter() is paired
 * with a gt_leave().
 */
bool gt_enter(void);
void gt_leave(void);

#define GT_HOOK(function, is_needed) \
	{ #function, (void *)hook_##function, (void **)&gt_cu.function, is_needed }

#endif
