/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that programs use in a context. */
#include <string.h>

#include "lib/agent/context/parts.h"

static uint64_t dev_total(void)
{
	return gt_session.slots + sizeof(struct gt_launch_slots);
}

/* The rings begin where the reader waits for them, which is behind all that contexts before wrote there. */
static const struct gt_dev_arena *first_rings(const struct gt_context *context)
{
	static struct gt_dev_arena arena;	/* under the lock */
	const struct gt_host_arena *area = gt_context_area(context);

	memcpy(&arena, gt_session.base + gt_session.dev_template, sizeof(arena));
	for (unsigned i = 0; i < GT_RINGS_MAX; i++) {
		arena.ring[i].head = __atomic_load_n(&area->ring_tail[i], __ATOMIC_RELAXED) & ~7ull;
		arena.ring[i].tail_seen = arena.ring[i].head;
	}
	return &arena;
}

static bool set_up_device_arena(struct gt_context *context)
{
	if (gt_cu.cuMemAlloc_v2(&context->dev, dev_total()))
		return false;
	return !gt_cu.cuStreamCreate(&context->stream, CU_STREAM_NON_BLOCKING) &&
	       !gt_cu.cuMemsetD8Async(context->dev, 0, dev_total(), context->stream) &&
	       !gt_cu.cuMemcpyHtoDAsync_v2(context->dev, gt_session.base + gt_session.dev_template,
					   gt_session.dev_size, context->stream) &&
	       !gt_cu.cuMemcpyHtoDAsync_v2(context->dev, first_rings(context), sizeof(struct gt_dev_arena),
					   context->stream) &&
	       !gt_cu.cuStreamSynchronize(context->stream);
}

/* Pin a piece of the host arena.  On the GPU, too, it must begin where the piece before it ends. */
static bool pin(struct gt_context *context, uint64_t from, uint64_t to)
{
	uint8_t *memory = (uint8_t *)gt_context_area(context) + from;
	CUdeviceptr address;
	CUresult result;

	if (from == to)
		return true;
	result = gt_cu.cuMemHostRegister_v2(memory, to - from,
					    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	/* It may still be from a context that is gone. */
	if ((result && result != CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) ||
	    gt_cu.cuMemHostGetDevicePointer_v2(&address, memory, 0))
		return false;
	if (!from)
		context->host = address;
	return address == context->host + from;
}

static bool unpin(struct gt_context *context, uint64_t from, uint64_t to)
{
	if (from != to)
		gt_cu.cuMemHostUnregister((uint8_t *)gt_context_area(context) + from);
	return true;
}

/* Shared maps are other mappings than what lies between them, so each is pinned by itself. */
static bool for_each_piece(struct gt_context *context,
			   bool (*fn)(struct gt_context *context, uint64_t from, uint64_t to))
{
	uint64_t done = 0;

	for (unsigned i = 0; i < gt_session.shared_count; i++) {
		const struct gt_config_shared *shared = &gt_session.shared[i];

		if (!fn(context, done, shared->offset) ||
		    !fn(context, shared->offset, shared->offset + shared->bytes))
			return false;
		done = shared->offset + shared->bytes;
	}
	return fn(context, done, gt_session.host_size);
}

bool gt_arenas_set_up(struct gt_context *context)
{
	return set_up_device_arena(context) && for_each_piece(context, pin);
}

void gt_arenas_give_back(struct gt_context *context)
{
	for_each_piece(context, unpin);
	if (context->stream)
		gt_cu.cuStreamDestroy_v2(context->stream);
	if (context->dev)
		gt_cu.cuMemFree_v2(context->dev);
	context->stream = NULL;
	context->dev = 0;
}
