/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096ull

static uint64_t align(uint64_t value, uint64_t to)
{
	return (value + to - 1) & ~(to - 1);
}

void gt_layout_init(struct gt_layout *layout, uint64_t timeline_ring_bytes)
{
	memset(layout, 0, sizeof(*layout));
	layout->dev_size = align(sizeof(struct gt_dev_arena), 256);
	layout->host_size = align(sizeof(struct gt_host_arena), PAGE);
	gt_layout_add_ring(layout, NULL, timeline_ring_bytes);
}

uint64_t gt_layout_take_dev(struct gt_layout *layout, uint64_t size)
{
	uint64_t offset = layout->dev_size;

	layout->dev_size = align(offset + size, 256);
	return offset;
}

uint64_t gt_layout_take_host(struct gt_layout *layout, uint64_t size)
{
	uint64_t offset = layout->host_size;

	layout->host_size = align(offset + size, 256);
	return offset;
}

uint64_t gt_layout_take_pages(struct gt_layout *layout, uint64_t size)
{
	uint64_t offset = align(layout->host_size, PAGE);

	layout->host_size = align(offset + size, PAGE);
	return offset;
}

int gt_layout_add_ring(struct gt_layout *layout, struct gputrace_map *map, uint64_t size)
{
	struct gt_layout_ring *ring;

	if (layout->ring_count == GT_RINGS_MAX)
		return -ENOSPC;
	ring = &layout->rings[layout->ring_count];
	ring->map = map;
	ring->size = size;
	ring->data = gt_layout_take_host(layout, size);
	return (int)layout->ring_count++;
}

int gt_layout_add_map(struct gt_layout *layout, struct gputrace_map *map)
{
	struct gputrace_map **more = realloc(layout->maps, (layout->map_count + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	layout->maps = more;
	layout->maps[layout->map_count++] = map;
	return 0;
}

void gt_layout_finish(struct gt_layout *layout, uint64_t agent_ring_bytes, uint64_t thread_ring_bytes)
{
	uint64_t threads = thread_ring_bytes ?
			   GT_THREAD_RINGS * (sizeof(struct gt_thread_ring) + thread_ring_bytes) : 0;
	struct gt_shm *shm = &layout->shm;

	shm->magic = GT_WIRE_MAGIC;
	shm->version = GT_WIRE_VERSION;
	shm->contexts = GT_CONTEXTS_MAX;
	shm->agent_ring = PAGE;
	shm->agent_ring_size = agent_ring_bytes;
	shm->thread_rings = align(shm->agent_ring + agent_ring_bytes, PAGE);
	shm->thread_ring_size = thread_ring_bytes;
	shm->dev_template = align(shm->thread_rings + threads, PAGE);
	shm->dev_size = layout->dev_size;
	shm->slots = align(layout->dev_size, 256);
	shm->areas = align(shm->dev_template + shm->dev_size, PAGE);
	shm->host_size = align(layout->host_size, PAGE);
	shm->snapshot = shm->host_size;
	shm->area_size = align(shm->snapshot + shm->dev_size, PAGE);
	shm->total = shm->areas + shm->area_size * shm->contexts;
}

void gt_layout_free(struct gt_layout *layout)
{
	free(layout->maps);
	layout->maps = NULL;
	layout->map_count = 0;
}
