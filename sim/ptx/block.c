/* SPDX-License-Identifier: Apache-2.0 */
/* A block: its warps, its shared memory, and turns for the warps. */
#include <stdlib.h>
#include <string.h>

#include "machine.h"

static size_t up(size_t value, size_t align)
{
	return (value + align - 1) & ~(align - 1);
}

size_t block_footprint(const struct launch *launch)
{
	const struct sim_func *func = launch->kernel->func;
	size_t per_warp = sizeof(struct warp) + sizeof(struct frame) + func->frame_bytes;

	return sizeof(struct block) + launch->shared_size +
	       launch->warps * (per_warp + launch->local_stride * LANES);
}

static void set_tids(struct warp *w, const struct launch *launch)
{
	uint32_t first = w->index * LANES, thread, i;

	for (i = 0; i < LANES; i++) {
		thread = first + i;
		w->tid[0][i] = thread % launch->block[0];
		w->tid[1][i] = thread / launch->block[0] % launch->block[1];
		w->tid[2][i] = thread / launch->block[0] / launch->block[1];
	}
}

static int make_memory(struct block *block, const struct launch *launch)
{
	size_t local = launch->local_stride * LANES * launch->warps;

	block->shared_size = launch->shared_size;
	if (posix_memalign((void **)&block->shared, 4096, up(launch->shared_size + 1, 4096)))
		return -1;
	/* Even without local memory its window needs an address of its own. */
	if (posix_memalign((void **)&block->local, 4096, up(local + 1, 4096)))
		return -1;
	memset(block->local, 0, local < 4096 ? local : 4096);
	block->local_bytes = local;
	return 0;
}

struct block *block_new(struct worker *worker)
{
	struct launch *launch = worker->launch;
	struct block *block = calloc(1, sizeof(*block));
	unsigned i;

	if (!block)
		return NULL;
	block->launch = launch;
	block->worker = worker;
	if (posix_memalign((void **)&block->warps, 64, launch->warps * sizeof(*block->warps))) {
		block->warps = NULL;
		block_free(block);
		return NULL;
	}
	memset(block->warps, 0, launch->warps * sizeof(*block->warps));
	block->warp_count = launch->warps;
	if (make_memory(block, launch)) {
		block_free(block);
		return NULL;
	}
	for (i = 0; i < launch->warps; i++) {
		struct warp *w = &block->warps[i];

		w->index = i;
		w->block = block;
		w->worker = worker;
		w->shared = block->shared;
		w->shared_size = block->shared_size;
		w->local_stride = launch->local_stride;
		w->local = block->local + (size_t)i * LANES * launch->local_stride;
		set_tids(w, launch);
	}
	return block;
}

void block_free(struct block *block)
{
	unsigned i;

	for (i = 0; i < block->warp_count; i++)
		warp_free(&block->warps[i]);
	free(block->warps);
	free(block->shared);
	free(block->local);
	free(block);
}

/* Returns -1 when the host has no memory for a frame. */
int block_start(struct block *block, const uint32_t ctaid[3])
{
	const struct launch *launch = block->launch;
	uint32_t threads = launch->threads;
	unsigned i;

	memcpy(block->ctaid, ctaid, sizeof(block->ctaid));
	block->linear = ctaid[0] + launch->grid[0] *
			(ctaid[1] + (uint64_t)launch->grid[1] * ctaid[2]);
	memset(block->shared, 0, block->shared_size);
	barrier_init(block);
	for (i = 0; i < block->warp_count; i++) {
		struct warp *w = &block->warps[i];
		uint32_t here = threads - i * LANES;

		w->live = here >= LANES ? FULL : (1u << here) - 1;
		w->root = warp_frame_new(w, launch->kernel->func);
		if (!w->root)
			return -1;
		warp_start(w);
	}
	return 0;
}

/* Other blocks may still come to the barrier of the cluster. */
static int waits_for_cluster(const struct warp *w)
{
	unsigned i;

	for (i = 0; i < w->group_count; i++)
		if (w->groups[i].state == GROUP_CLUSTER)
			return 1;
	return 0;
}

/* One turn for every warp that can run. */
int block_run(struct block *block)
{
	int moved = 0, spun = 0, alive = 0, status;
	unsigned i;

	for (i = 0; i < block->warp_count; i++) {
		struct warp *w = &block->warps[i];

		if (!w->live)
			continue;
		if (!warp_can_run(w)) {
			alive = 1;
			spun |= waits_for_cluster(w);
			continue;
		}
		status = warp_run(w);
		if (status == BLOCK_FAULT)
			return BLOCK_FAULT;
		alive |= status != BLOCK_DONE;
		spun |= status == BLOCK_SPIN;
		moved |= status != BLOCK_SPIN;
	}
	if (!alive)
		return BLOCK_DONE;
	if (moved)
		return BLOCK_SLICE;
	return spun ? BLOCK_SPIN : BLOCK_DEADLOCK;
}
