/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_AGENT_HOOK_HOOKS_H
#define GT_AGENT_HOOK_HOOKS_H

#include <errno.h>
#include <stdbool.h>

#include "lib/wire/cuda_abi.h"

/* One driver function and what it is replaced by; original: its place in gt_cu. */
struct gt_hook {
	const char *name;
	void *replacement;
	void **original;
	bool needed;	/* without it kernels with the hidden parameter could be launched wrongly */
};

/* Lists that end with a NULL name. */
extern const struct gt_hook gt_load_hooks[], gt_function_hooks[], gt_launch_hooks[], gt_graph_hooks[],
	gt_exec_hooks[], gt_context_hooks[];

/*
 * Install all hooks that this driver has functions for, or put those removed back.
 * busy: the program's threads may be in these functions.  Returns how many, or
 * a negative number when a needed one cannot be installed: then nothing may be
 * probed.
 */
int gt_hooks_install(bool busy);
/* The driver's functions are as they were; unloading: but for those that unload code. */
void gt_hooks_remove(bool unloading);

/*
 * Is this call the program's own?  False while the driver or the agent is at
 * work on this thread, and in a forked child, where CUDA does not work and our
 * locks may be held by threads that do not exist.  Every gt_enter() is paired
 * with a gt_leave(), and in between the thread cannot be cancelled.
 */
bool gt_enter(void);
void gt_leave(void);

/*
 * At a thread's end, by whatever is first to run there: it has come out of the hooks that it was in, though by no
 * gt_leave(), if pthread_exit() was called in one, by a signal's handler or by what the driver calls back.
 */
void gt_leave_at_end(void);

/*
 * Is the thread between a gt_enter() and its gt_leave()?  A signal's handler may have led it out by siglongjmp():
 * that is found out here and by gt_enter(), unless the thread is still deeper in its stack than it was then.
 */
bool gt_is_inside(void);

/* Before the first session's hooks: from now on gt_enter() counts most threads without an atomic operation. */
void gt_enter_prepare(void);

/* A forked child has no other threads, which may have been in hooks. */
void gt_enter_in_child(void);

/*
 * Once gt_active is cleared: wait until no thread is in a hook that it entered
 * before.  False: one still is after so many ms.
 */
bool gt_wait_until_left(unsigned patience_ms);

/*
 * Body of a hook around CALL, the driver's function.  When the call is the program's
 * own, BEFORE comes first, and AFTER when it succeeded; errno stays as the driver leaves it.
 */
#define GT_AROUND(BEFORE, CALL, AFTER) \
	int saved = errno; \
	bool own = gt_enter(); \
	CUresult result; \
	\
	if (own) \
		BEFORE; \
	errno = saved; \
	result = CALL; \
	saved = errno; \
	if (own && !result) \
		AFTER; \
	gt_leave(); \
	errno = saved; \
	return result

#define GT_HOOK(function, is_needed) \
	{ #function, (void *)hook_##function, (void **)&gt_cu.function, is_needed }

#endif
