/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/launches.h"

#include <stdlib.h>

#define SLOTS 65536u

struct gt_launches {
	uint64_t count;
	struct gt_launch slots[SLOTS];
};

struct gt_launches *gt_launches_new(void)
{
	return calloc(1, sizeof(struct gt_launches));
}

struct gt_launches *gt_launches_free(struct gt_launches *launches)
{
	free(launches);
	return NULL;
}

/* Ids count up within a process, so its newest SLOTS launches have a slot each. */
static struct gt_launch *slot_of(struct gt_launches *launches, int pid, uint64_t id)
{
	uint64_t spread = (uint64_t)(uint32_t)pid * 40503u;

	return &launches->slots[(id + spread) % SLOTS];
}

const struct gt_launch *gt_launches_add(struct gt_launches *launches, int pid, int tid, uint64_t id,
					uint64_t time)
{
	struct gt_launch *slot = slot_of(launches, pid, id);

	*slot = (struct gt_launch){ .pid = pid, .tid = tid, .id = id, .time = time,
				    .correlation = ++launches->count };
	return slot;
}

struct gt_launch *gt_launches_find(struct gt_launches *launches, int pid, uint64_t id)
{
	struct gt_launch *slot = slot_of(launches, pid, id);

	return id && slot->id == id && slot->pid == pid ? slot : NULL;
}
