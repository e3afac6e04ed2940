/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/process_tree.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/proc_stat.h"

struct process {
	pid_t pid, parent;
	bool inside;
};

struct processes {
	struct process *list;
	size_t count, room;
};

static int add(struct processes *all, pid_t pid, pid_t parent)
{
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 256;
		struct process *list = reallocarray(all->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		all->list = list;
		all->room = room;
	}
	all->list[all->count++] = (struct process){ .pid = pid, .parent = parent };
	return 0;
}

static int read_one(void *data, int pid)
{
	struct gt_proc_stat stat;

	return gt_proc_stat_read(pid, &stat) ? 0 : add(data, pid, stat.parent);
}

/* Mark the descendants; ids are in no order, so go round until nothing changes. */
static void mark(struct processes *all, pid_t root)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < all->count; i++) {
			struct process *p = &all->list[i];

			if (p->inside)
				continue;
			p->inside = p->pid == root;
			for (size_t j = 0; j < all->count && !p->inside; j++)
				p->inside = all->list[j].inside && all->list[j].pid == p->parent;
			changed |= p->inside;
		}
	}
}

/* 1 when something new was met. */
static int walk_once(pid_t root, int (*fn)(void *data, pid_t pid), void *data)
{
	struct processes all = { 0 };
	int r = gt_proc_each(read_one, &all), news = 0;

	if (r == 0)
		mark(&all, root);
	for (size_t i = 0; r >= 0 && i < all.count; i++) {
		if (!all.list[i].inside)
			continue;
		r = fn(data, all.list[i].pid);
		news |= r > 0;
	}
	free(all.list);
	return r < 0 ? r : news;
}

int gt_process_tree_walk(pid_t root, int (*fn)(void *data, pid_t pid), void *data)
{
	int r;

	if (kill(root, 0) && errno == ESRCH)
		return -ESRCH;
	r = fn(data, root);
	while (r > 0)
		r = walk_once(root, fn, data);
	return r;
}
