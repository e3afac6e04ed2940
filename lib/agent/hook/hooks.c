/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/hook/hooks.h"

#include <errno.h>
#include <stddef.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/patch.h"

_Thread_local int gt_depth;
atomic_bool gt_forked;

bool gt_enter(void)
{
	return gt_depth++ == 0 && !atomic_load_explicit(&gt_forked, memory_order_relaxed);
}

void gt_leave(void)
{
	gt_depth--;
}

static int install(const struct gt_hook *hooks)
{
	int count = 0;

	for (const struct gt_hook *hook = hooks; hook->name; hook++) {
		void *function = *hook->original;
		int r;

		if (!function)
			continue;	/* an older driver: then the program cannot call it either */
		r = gt_patch(function, hook->replacement, hook->original);
		if (!r) {
			count++;
			continue;
		}
		gt_note(hook->needed ? 3 : 4, "%s cannot be watched in this driver (%s)", hook->name,
			r == -ENOTSUP ? "it begins in an unknown way" : "its code cannot be changed");
		if (hook->needed)
			return r;
	}
	return count;
}

int gt_hooks_install(void)
{
	/* Launches first: from the first probed kernel on, they must be right. */
	const struct gt_hook *const lists[] = {
		gt_launch_hooks, gt_graph_hooks, gt_context_hooks, gt_load_hooks,
	};
	int count = 0;

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		int r = install(lists[i]);

		if (r < 0)
			return r;
		count += r;
	}
	return count;
}
