/* SPDX-License-Identifier: Apache-2.0 */
/* Maps in a device's memory, as the controller is to see them. */
#include "lib/agent/context/parts.h"

/* Words of a spread map that are added up at a time, so that memory is gone through in order. */
#define SUM_WORDS 64

static void add_words(uint64_t *sums, const uint8_t *from, uint32_t word, size_t count)
{
	for (size_t i = 0; i < count; i++, from += word)
		sums[i] += word == 8 ? *(const uint64_t *)(const void *)from : *(const uint32_t *)(const void *)from;
}

/* Each sum is one store, so that whoever looks meanwhile sees the old or the new one. */
static void store_words(uint8_t *to, const uint64_t *sums, uint32_t word, size_t count)
{
	for (size_t i = 0; i < count; i++, to += word) {
		if (word == 8)
			__atomic_store_n((uint64_t *)(void *)to, sums[i], __ATOMIC_RELAXED);
		else
			__atomic_store_n((uint32_t *)(void *)to, (uint32_t)sums[i], __ATOMIC_RELAXED);
	}
}

static void add_up(const struct gt_config_spread *map, struct gt_host_arena *area)
{
	const uint8_t *copies = (uint8_t *)area + gt_session.snapshot + map->copies;
	uint8_t *to = (uint8_t *)area + map->sum;
	size_t left = map->bytes / map->word, count;

	for (; left; left -= count, copies += count * map->word, to += count * map->word) {
		uint64_t sums[SUM_WORDS] = { 0 };

		count = left < SUM_WORDS ? left : SUM_WORDS;
		for (uint32_t i = 0; i < map->count; i++)
			add_words(sums, copies + i * map->copy_bytes, map->word, count);
		store_words(to, sums, map->word, count);
	}
}

/* The words of each element of each copy. */
static void keep_apart(const struct gt_config_spread *map, struct gt_host_arena *area)
{
	const uint8_t *copy = (uint8_t *)area + gt_session.snapshot + map->copies;
	uint8_t *to = (uint8_t *)area + map->sum;

	for (uint32_t c = 0; c < map->count; c++, copy += map->copy_bytes) {
		for (uint64_t at = 0; at < map->bytes; at += map->word) {
			uint64_t element = at / map->stride, value = 0;

			add_words(&value, copy + at, map->word, 1);
			store_words(to + (element * map->count + c) * map->stride + at % map->stride, &value, map->word, 1);
		}
	}
}

static void take(const struct gt_config_spread *map, struct gt_host_arena *area)
{
	if (map->stride)
		keep_apart(map, area);
	else
		add_up(map, area);
}

/* Under the lock, with the context current. */
void gt_arena_copy_out(struct gt_context *context)
{
	struct gt_host_arena *area = gt_context_area(context);
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult result;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	result = gt_cu.cuMemcpyDtoHAsync_v2((uint8_t *)area + gt_session.snapshot, context->dev,
					    gt_session.dev_size, context->stream);
	if (!result)
		result = gt_cu.cuStreamSynchronize(context->stream);
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	for (unsigned i = 0; !result && i < gt_session.spread_count; i++)
		take(&gt_session.spread[i], area);
	/* Pairs with the controller's acquire after it was told. */
	if (!result)
		__atomic_fetch_add(&area->snapshot, 1, __ATOMIC_RELEASE);
	else if (!context->unreadable)
		gt_note(4, "the maps in the memory of device %d cannot be read any more (CUresult %d): what they held since the last reading is lost",
			context->device, (int)result);
	context->unreadable = result != CUDA_SUCCESS;
}
