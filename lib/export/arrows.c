/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/export/arrows.h"

#include <stddef.h>
#include <stdlib.h>

#include "lib/wire/wire.h"

#define LAUNCHES 65536u
#define ORPHANS 8192u

/*
 * Kernels whose launch is not known have a table of their own: those of graphs
 * come again and again long after their launch, and must not push out others.
 */
struct gt_arrows {
	uint64_t count;
	struct gt_arrow launches[LAUNCHES];
	struct gt_arrow orphans[ORPHANS];
};

struct gt_arrows *gt_arrows_new(void)
{
	return calloc(1, sizeof(struct gt_arrows));
}

struct gt_arrows *gt_arrows_free(struct gt_arrows *arrows)
{
	free(arrows);
	return NULL;
}

/* Ids count up within a process, in their upper bits, so its newest launches have a slot each. */
static struct gt_arrow *slot(struct gt_arrow *table, unsigned size, int pid, uint64_t launch)
{
	uint64_t low = launch & ((1u << GT_SLOT_BITS) - 1);

	return &table[((launch >> GT_SLOT_BITS) + low * 769u + (uint64_t)(uint32_t)pid * 40503u) % size];
}

static int is_of(const struct gt_arrow *arrow, int pid, uint64_t launch)
{
	return arrow->launch == launch && arrow->pid == pid;
}

static void begin(struct gt_arrows *arrows, struct gt_arrow *arrow, int pid, uint64_t launch)
{
	*arrow = (struct gt_arrow){ .pid = pid, .launch = launch, .correlation = ++arrows->count };
}

struct gt_arrow *gt_arrows_of_launch(struct gt_arrows *arrows, int pid, uint64_t launch)
{
	struct gt_arrow *arrow = slot(arrows->launches, LAUNCHES, pid, launch);
	struct gt_arrow *orphan = slot(arrows->orphans, ORPHANS, pid, launch);

	if (!launch)
		return NULL;
	if (is_of(arrow, pid, launch))
		return arrow;
	if (is_of(orphan, pid, launch)) {
		*arrow = *orphan;
		*orphan = (struct gt_arrow){ 0 };
	} else {
		begin(arrows, arrow, pid, launch);
	}
	return arrow;
}

struct gt_arrow *gt_arrows_of_kernel(struct gt_arrows *arrows, int pid, uint64_t launch)
{
	struct gt_arrow *arrow = slot(arrows->launches, LAUNCHES, pid, launch);

	if (!launch)
		return NULL;
	if (is_of(arrow, pid, launch))
		return arrow;
	arrow = slot(arrows->orphans, ORPHANS, pid, launch);
	if (!is_of(arrow, pid, launch))
		begin(arrows, arrow, pid, launch);
	return arrow;
}
