/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The newest launches, by process and id, in a ring whose oldest makes room.
 * A kernel comes soon after its launch or before it, but a graph's may come again.
 */
#ifndef GT_EXPORT_FOLD_LAUNCHES_H
#define GT_EXPORT_FOLD_LAUNCHES_H

#include <stdint.h>

#define GT_FOLD_LAUNCHES_KEPT 65536u

struct gt_fold_launches;
struct gt_stack_node;

struct gt_fold_launch {
	int pid;
	uint64_t id;		/* 0: there is none here yet */
	struct gt_stack_node *call;
	char *kernel;		/* the newest, which ended before the call did; freed with the launch */
	uint64_t kernel_ns;
};

struct gt_fold_launches *gt_fold_launches_new(void);
void gt_fold_launches_free(struct gt_fold_launches *launches);
/* NULL: not there. */
struct gt_fold_launch *gt_fold_launches_find(struct gt_fold_launches *launches, int pid, uint64_t id);
/* Whose place the next that is added takes. */
struct gt_fold_launch *gt_fold_launches_oldest(struct gt_fold_launches *launches);
/* One that is not there, id not 0.  NULL: no memory. */
struct gt_fold_launch *gt_fold_launches_add(struct gt_fold_launches *launches, int pid, uint64_t id);
/* index: below GT_FOLD_LAUNCHES_KEPT. */
struct gt_fold_launch *gt_fold_launches_at(struct gt_fold_launches *launches, unsigned index);

#endif
