/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/launches.h"

#include <stdlib.h>
#include <string.h>

/*
 * Launches that ran once are kept in a ring by id: a kernel's record comes soon
 * after its launch's, or never.  Graph nodes run again and again, so captured
 * launches stay.
 */
#define RECENT 65536u		/* a power of two */
#define CAPTURED_MAX (1u << 20)
#define CAPTURED_STEPS 128u	/* looked at for an id: it may be chosen to collide with others */
#define THREADS 256u		/* threads looked after at a time; a power of two */
#define PER_THREAD 1024u	/* their latest launches; a power of two */

struct thread {
	uint32_t tid;
	uint32_t head;		/* launches ever added, modulo 2^32 */
	struct {
		uint64_t enter, leave, id;
	} latest[PER_THREAD];
};

struct gt_launches {
	struct gt_rec_launch *recent;
	struct gt_rec_launch *captured;	/* open addressing by id */
	uint32_t captured_count, captured_room;
	struct thread *threads[THREADS];
};

/* Ids count in their upper bits, see GT_LAUNCH_OF(). */
static uint32_t recent_place(uint64_t id)
{
	return (uint32_t)(id >> GT_SLOT_BITS) & (RECENT - 1);
}

struct gt_launches *gt_launches_new(void)
{
	struct gt_launches *launches = calloc(1, sizeof(*launches));

	if (!launches)
		return NULL;
	launches->recent = calloc(RECENT, sizeof(*launches->recent));
	if (!launches->recent) {
		free(launches);
		return NULL;
	}
	return launches;
}

void gt_launches_free(struct gt_launches *launches)
{
	if (!launches)
		return;
	for (unsigned i = 0; i < THREADS; i++)
		free(launches->threads[i]);
	free(launches->recent);
	free(launches->captured);
	free(launches);
}

/* Where the id is or would be; NULL when too many others are in its way. */
static struct gt_rec_launch *captured_slot(struct gt_rec_launch *table, uint32_t room, uint64_t id)
{
	uint32_t i = (uint32_t)((id * 0x9e3779b97f4a7c15ull) >> 40);

	for (uint32_t step = 0; step < CAPTURED_STEPS; step++, i++) {
		struct gt_rec_launch *slot = &table[i & (room - 1)];

		if (!slot->launch || slot->launch == id)
			return slot;
	}
	return NULL;
}

static bool grow_captured(struct gt_launches *launches)
{
	uint32_t room = launches->captured_room ? 2 * launches->captured_room : 1024;
	struct gt_rec_launch *table;

	if (room > 2 * CAPTURED_MAX)
		return false;
	table = calloc(room, sizeof(*table));
	if (!table)
		return false;
	launches->captured_count = 0;
	for (uint32_t i = 0; i < launches->captured_room; i++) {
		uint64_t id = launches->captured[i].launch;
		struct gt_rec_launch *slot = id ? captured_slot(table, room, id) : NULL;

		if (slot) {
			*slot = launches->captured[i];
			launches->captured_count++;
		}
	}
	free(launches->captured);
	launches->captured = table;
	launches->captured_room = room;
	return true;
}

static void add_captured(struct gt_launches *launches, const struct gt_rec_launch *record)
{
	struct gt_rec_launch *slot;

	if (2 * launches->captured_count >= launches->captured_room && !grow_captured(launches))
		return;
	slot = captured_slot(launches->captured, launches->captured_room, record->launch);
	if (!slot)
		return;
	launches->captured_count += !slot->launch;
	*slot = *record;
}

void gt_launches_add_call(struct gt_launches *launches, uint32_t tid, uint64_t enter, uint64_t leave, uint64_t id)
{
	struct thread **slot = &launches->threads[tid & (THREADS - 1)], *thread = *slot;

	if (!thread)
		thread = *slot = calloc(1, sizeof(*thread));
	if (!thread)
		return;
	if (thread->tid != tid) {
		thread->tid = tid;
		thread->head = 0;
		memset(thread->latest, 0, sizeof(thread->latest));
	}
	thread->latest[thread->head & (PER_THREAD - 1)].enter = enter;
	thread->latest[thread->head & (PER_THREAD - 1)].leave = leave;
	thread->latest[thread->head & (PER_THREAD - 1)].id = id;
	thread->head++;
}

void gt_launches_add(struct gt_launches *launches, const struct gt_rec_launch *record)
{
	if (!record->launch)
		return;
	gt_launches_add_call(launches, record->tid, record->enter, record->leave, record->launch);
	if (record->flags & GT_LAUNCH_CAPTURED)
		add_captured(launches, record);
	else
		launches->recent[recent_place(record->launch)] = *record;
}

const struct gt_rec_launch *gt_launches_find(const struct gt_launches *launches, uint64_t id)
{
	const struct gt_rec_launch *found;

	if (!id || !launches)
		return NULL;
	found = &launches->recent[recent_place(id)];
	if (found->launch == id)
		return found;
	if (!launches->captured_room)
		return NULL;
	found = captured_slot(launches->captured, launches->captured_room, id);
	return found && found->launch ? found : NULL;
}

uint64_t gt_launches_within(const struct gt_launches *launches, uint32_t tid, uint64_t enter,
			    uint64_t leave)
{
	const struct thread *thread = launches ? launches->threads[tid & (THREADS - 1)] : NULL;

	if (!thread || thread->tid != tid)
		return 0;
	for (uint32_t i = 1; i <= PER_THREAD; i++) {
		uint32_t at = (thread->head - i) & (PER_THREAD - 1);

		if (!thread->latest[at].id || thread->latest[at].leave < enter)
			return 0;
		if (thread->latest[at].enter >= enter && thread->latest[at].leave <= leave)
			return thread->latest[at].id;
	}
	return 0;
}
