/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/area.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ctx.h"
#include "lib/object/map.h"
#include "lib/target/context.h"
#include "lib/target/target.h"

/* Of copies of ended contexts' maps in one target: a process may make contexts without end. */
#define KEPT_MAX (1ull << 30)

static int refresh(void *target, int timeout_ms)
{
	return gt_target_flush(target, timeout_ms);
}

uint64_t gt_map_seen_at(const struct gputrace_map *map, const struct gt_shm *shm)
{
	if (map->spread)
		return map->place.sum;
	return map->place.offset + (gt_map_arena(map) == GT_ARENA_DEV ? shm->snapshot : 0);
}

static uint8_t *map_memory(const struct gt_process *process, unsigned index, const struct gputrace_map *map)
{
	return (uint8_t *)gt_process_area(process, index) + gt_map_seen_at(map, &process->target->layout.shm);
}

static int add_instances(struct gt_process *process, unsigned index)
{
	struct gputrace_target *target = process->target;
	const struct gt_layout *layout = &target->layout;
	struct gt_area *area = &process->areas[index];
	struct gputrace_instance_info info = {
		.pid = process->pid, .context = area->context->number, .gpu = area->context->gpu->index,
	};

	if (!layout->map_count)
		return 0;
	memcpy(info.uuid, area->context->gpu->uuid, sizeof(info.uuid));
	area->instances = calloc(layout->map_count, sizeof(*area->instances));
	if (!area->instances)
		return -ENOMEM;
	for (unsigned i = 0; i < layout->map_count; i++) {
		struct gputrace_map *map = layout->maps[i];
		int r = 0;

		/* What all contexts and the operating system's kernel share is there already. */
		if (map->live)
			area->instances[i] = map->live_instance;
		else
			r = gt_map_add_instance(map, map_memory(process, index, map), refresh, target, &info,
						&area->instances[i]);
		if (r)
			return r;
		area->instance_count++;
	}
	return 0;
}

int gt_area_take(struct gt_process *process, unsigned index, const struct gt_target_context *context)
{
	if (index >= process->target->layout.shm.contexts)
		return -ERANGE;
	if (process->areas[index].context)
		return -EBUSY;
	process->areas[index].context = context;
	return add_instances(process, index);
}

/* shared: also those that the operating system's kernel has, whose memory does not end with a context. */
static int keep_maps(struct gputrace_target *target, struct gt_area *area, bool shared)
{
	int r = 0;

	for (unsigned i = 0; i < area->instance_count; i++) {
		struct gputrace_map *map = target->layout.maps[i];
		int error = map->live && !shared ? 0 : gt_map_keep_instance(map, area->instances[i]);

		r = r ? r : error;
	}
	return r;
}

static void drop_instances(struct gt_area *area)
{
	free(area->instances);
	area->instances = NULL;
	area->instance_count = 0;
}

static uint64_t bytes_to_keep(const struct gputrace_target *target, const struct gt_area *area)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < area->instance_count; i++) {
		const struct gputrace_map *map = target->layout.maps[i];

		bytes += map->live || gt_map_is_ring(map) ? 0 : gt_map_bytes(map);
	}
	return bytes;
}

static void reset_maps(const struct gt_process *process, unsigned index)
{
	const struct gt_layout *layout = &process->target->layout;

	for (unsigned i = 0; i < layout->map_count; i++) {
		const struct gputrace_map *map = layout->maps[i];
		uint8_t *memory = map_memory(process, index, map);

		if (map->live || gt_map_is_ring(map))
			continue;
		memset(memory, 0, gt_map_bytes(map));
		if (map->initial)
			gt_map_write_initial(map, memory);
	}
}

/*
 * Whatever the last context has left there could look like a record of the next one's, whose rings
 * begin past all that the last one can have reserved: what it should still write is not one either.
 */
static void reset_rings(struct gt_process *process, unsigned index)
{
	const struct gt_layout *layout = &process->target->layout;
	struct gt_host_arena *arena = gt_process_area(process, index);
	struct gt_area *area = &process->areas[index];

	for (unsigned i = 0; i < layout->ring_count; i++) {
		const struct gt_layout_ring *ring = &layout->rings[i];

		memset((uint8_t *)arena + ring->data, 0, ring->size);
		area->tail[i] += ring->size;
		area->lost[i] = 0;
		__atomic_store_n(&arena->ring_tail[i], area->tail[i], __ATOMIC_RELAXED);
	}
	area->broken = 0;
}

void gt_area_release(struct gt_process *process, unsigned index)
{
	struct gputrace_target *target = process->target;
	struct gt_area *area = &process->areas[index];
	uint64_t bytes = bytes_to_keep(target, area);

	if (bytes > KEPT_MAX - target->kept_bytes || keep_maps(target, area, false)) {
		if (!area->stuck)
			gt_log(target->ctx, GPUTRACE_LOG_ERROR,
			       "process %d: no memory to keep the maps of a context that has ended; there is room for one context less",
			       process->pid);
		area->stuck = true;
		return;
	}
	target->kept_bytes += bytes;
	drop_instances(area);
	reset_maps(process, index);
	reset_rings(process, index);
	gt_target_context_ended(gt_process_context(process, area->context->number));
	area->context = NULL;
	/* Pairs with the agent's acquire when it looks for an area. */
	__atomic_store_n(&gt_process_area(process, index)->state, GT_CONTEXT_UNUSED, __ATOMIC_RELEASE);
}

int gt_areas_keep(struct gt_process *process)
{
	struct gputrace_target *target = process->target;
	uint64_t bytes = 0;
	int r = 0;

	for (unsigned i = 0; i < GT_CONTEXTS_MAX; i++)
		bytes += bytes_to_keep(target, &process->areas[i]);
	if (bytes > KEPT_MAX - target->kept_bytes)
		return -ENOSPC;
	for (unsigned i = 0; i < GT_CONTEXTS_MAX && r == 0; i++)
		r = keep_maps(target, &process->areas[i], false);
	if (r)
		return r;
	target->kept_bytes += bytes;
	for (unsigned i = 0; i < GT_CONTEXTS_MAX; i++)
		drop_instances(&process->areas[i]);
	return 0;
}

void gt_target_keep_maps(struct gputrace_target *target)
{
	for (struct gt_process *process = target->processes; process; process = process->next) {
		for (unsigned i = 0; i < GT_CONTEXTS_MAX; i++) {
			keep_maps(target, &process->areas[i], true);
			drop_instances(&process->areas[i]);
		}
	}
}
