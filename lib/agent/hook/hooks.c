/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/hook/hooks.h"

#include <errno.h>
#include <stddef.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/patch.h"

static int install(const struct gt_hook *hooks, bool busy)
{
	int count = 0;

	for (const struct gt_hook *hook = hooks; hook->name; hook++) {
		void *function = *hook->original;
		int r;

		if (!function)
			continue;	/* an older driver: then the program cannot call it either */
		r = gt_patch(function, hook->replacement, NULL, busy, hook->original);
		if (!r) {
			count++;
			continue;
		}
		gt_note(hook->needed ? 3 : 4, "%s cannot be watched in this driver (%s)", hook->name,
			r == -ENOTSUP ? "it begins in an unknown way" :
			r == -EBUSY ? "no memory is free where a function in use could be led to" :
			"its code cannot be changed");
		if (hook->needed)
			return r;
	}
	return count;
}

/* Launches first: from the first probed kernel on, they must be right. */
static const struct gt_hook *const lists[] = {
	gt_launch_hooks, gt_graph_hooks, gt_exec_hooks, gt_context_hooks, gt_function_hooks, gt_load_hooks,
};
#define LISTS (sizeof(lists) / sizeof(lists[0]))

static int install_all(bool busy)
{
	int count = 0;

	for (size_t i = 0; i < LISTS; i++) {
		int r = install(lists[i], busy);

		if (r < 0)
			return r;
		count += r;
	}
	return count;
}

static bool is_hooked(void *const *place)
{
	for (size_t i = 0; i < LISTS; i++) {
		for (const struct gt_hook *hook = lists[i]; hook->name; hook++) {
			if ((void *const *)hook->original == place)
				return true;
		}
	}
	return false;
}

/* The agent's calls of functions that are not hooked go past uprobes on them. */
static void bypass_others(void)
{
	void **functions = (void **)&gt_cu;

	for (size_t i = 0; i < sizeof(gt_cu) / sizeof(void *); i++) {
		if (functions[i] && !is_hooked(&functions[i]))
			functions[i] = gt_bypass(functions[i]);
	}
}

int gt_hooks_install(bool busy)
{
	static bool done;
	static int result;
	int r;

	if (done) {
		r = gt_patches_restore();
		return result < 0 || !r ? result : r;
	}
	done = true;
	/* First: as soon as one is in, its calls come. */
	bypass_others();
	result = install_all(busy);
	return result;
}

void gt_hooks_remove(bool unloading)
{
	const void *const kept[] = { (void *)gt_cu.cuModuleUnload, (void *)gt_cu.cuLibraryUnload };

	gt_patches_remove(kept, unloading ? 2 : 0);
}
