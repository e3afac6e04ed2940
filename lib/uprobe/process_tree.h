/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UPROBE_PROCESS_TREE_H
#define GT_UPROBE_PROCESS_TREE_H

#include <sys/types.h>

/*
 * Call fn for a running process and all its descendants, once or more for each.
 * Who forks meanwhile is caught by looking again until a round brings nothing
 * new: fn returns 1 for a process it did not know, 0 for one it knew, or
 * -errno, which ends the walk.  -ESRCH: no such process.  Without gt_error() text.
 */
int gt_process_tree_walk(pid_t root, int (*fn)(void *data, pid_t pid), void *data);

#endif
