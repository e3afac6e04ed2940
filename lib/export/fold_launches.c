/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/fold_launches.h"

#include <search.h>
#include <stdlib.h>

struct gt_fold_launches {
	struct gt_fold_launch ring[GT_FOLD_LAUNCHES_KEPT];
	unsigned next;
	void *tree;		/* of tsearch(3): those in the ring */
};

static int compare(const void *left, const void *right)
{
	const struct gt_fold_launch *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

struct gt_fold_launches *gt_fold_launches_new(void)
{
	return calloc(1, sizeof(struct gt_fold_launches));
}

static void keep(void *launch)
{
	(void)launch;
}

void gt_fold_launches_free(struct gt_fold_launches *launches)
{
	if (!launches)
		return;
	tdestroy(launches->tree, keep);
	for (unsigned i = 0; i < GT_FOLD_LAUNCHES_KEPT; i++)
		free(launches->ring[i].kernel);
	free(launches);
}

struct gt_fold_launch *gt_fold_launches_find(struct gt_fold_launches *launches, int pid, uint64_t id)
{
	const struct gt_fold_launch key = { .pid = pid, .id = id };
	struct gt_fold_launch **found = tfind(&key, &launches->tree, compare);

	return found ? *found : NULL;
}

struct gt_fold_launch *gt_fold_launches_oldest(struct gt_fold_launches *launches)
{
	return &launches->ring[launches->next];
}

struct gt_fold_launch *gt_fold_launches_add(struct gt_fold_launches *launches, int pid, uint64_t id)
{
	struct gt_fold_launch *launch = gt_fold_launches_oldest(launches);

	if (launch->id)
		tdelete(launch, &launches->tree, compare);
	free(launch->kernel);
	*launch = (struct gt_fold_launch){ .pid = pid, .id = id };
	if (!tsearch(launch, &launches->tree, compare)) {
		launch->id = 0;
		return NULL;
	}
	launches->next = (launches->next + 1) % GT_FOLD_LAUNCHES_KEPT;
	return launch;
}

struct gt_fold_launch *gt_fold_launches_at(struct gt_fold_launches *launches, unsigned index)
{
	return &launches->ring[index];
}
