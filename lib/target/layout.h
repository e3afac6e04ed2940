/* SPDX-License-Identifier: Apache-2.0 */
/* Where everything lies in the shared memory of a traced process and in its device arenas. */
#ifndef GT_TARGET_LAYOUT_H
#define GT_TARGET_LAYOUT_H

#include <stdint.h>

#include "lib/wire/wire.h"

struct gputrace_map;

/* Ring 0 is the timeline's; the others belong to ring buffer maps. */
struct gt_layout_ring {
	struct gputrace_map *map;	/* NULL for ring 0 */
	uint64_t data, size;		/* in the host arena */
};

struct gt_layout {
	uint64_t dev_size;	/* device arena without slots, grows while maps are placed */
	uint64_t host_size;	/* host arena */
	struct gt_layout_ring rings[GT_RINGS_MAX];
	unsigned ring_count;
	struct gputrace_map **maps;	/* every GPU map of the session */
	unsigned map_count;
	struct gt_shm shm;	/* filled in by gt_layout_finish() */
};

void gt_layout_init(struct gt_layout *layout, uint64_t timeline_ring_bytes);

/* Take room in an arena, 256-byte aligned; the offset. */
uint64_t gt_layout_take_dev(struct gt_layout *layout, uint64_t size);
uint64_t gt_layout_take_host(struct gt_layout *layout, uint64_t size);
/* The same in whole pages, which nothing else lies in. */
uint64_t gt_layout_take_pages(struct gt_layout *layout, uint64_t size);

/* A ring of `size` bytes (a power of two) for a map; its index, or -ENOSPC. */
int gt_layout_add_ring(struct gt_layout *layout, struct gputrace_map *map, uint64_t size);
int gt_layout_add_map(struct gt_layout *layout, struct gputrace_map *map);

/* Nothing is added any more: fix all offsets.  thread_ring_bytes: of each ring, 0: there are none. */
void gt_layout_finish(struct gt_layout *layout, uint64_t agent_ring_bytes, uint64_t thread_ring_bytes);
void gt_layout_free(struct gt_layout *layout);

#endif
