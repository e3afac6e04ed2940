/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of maps: what each number means, and the layout that it gets. */
#include <errno.h>
#include <linux/bpf.h>

#include "lib/object/gpu-abi.h"
#include "lib/object/map-type.h"

/* bpftime's numbers, which its examples use. */
#define BPFTIME_HASH 1501
#define BPFTIME_THREAD_ARRAY 1502
#define BPFTIME_ARRAY 1503
#define BPFTIME_KERNEL_SHARED_ARRAY 1504
#define BPFTIME_THREAD_ARRAY_HOST 1512
#define BPFTIME_ARRAY_HOST 1513
#define BPFTIME_RINGBUF 1527

/* bpftime gives each thread a ring of max_entries values; here all share one. */
#define BPFTIME_RING_BYTES (1u << 20)

struct kind {
	uint32_t type, kind, slot, lru;
};

static const struct kind kinds[] = {
	{ BPF_MAP_TYPE_ARRAY, GT_KIND_ARRAY, GT_SLOT_ONE, 0 },
	{ BPF_MAP_TYPE_PERCPU_ARRAY, GT_KIND_ARRAY, GT_SLOT_SM, 0 },
	{ GPUTRACE_MAP_TYPE_THREAD_ARRAY, GT_KIND_ARRAY, GT_SLOT_THREAD, 0 },
	{ GPUTRACE_MAP_TYPE_WARP_ARRAY, GT_KIND_ARRAY, GT_SLOT_WARP, 0 },
	{ GPUTRACE_MAP_TYPE_BLOCK_ARRAY, GT_KIND_ARRAY, GT_SLOT_BLOCK, 0 },
	{ GPUTRACE_MAP_TYPE_SM_ARRAY, GT_KIND_ARRAY, GT_SLOT_SM, 0 },
	{ BPF_MAP_TYPE_HASH, GT_KIND_HASH, GT_SLOT_ONE, 0 },
	{ BPF_MAP_TYPE_LRU_HASH, GT_KIND_HASH, GT_SLOT_ONE, 1 },
	{ BPF_MAP_TYPE_RINGBUF, GT_KIND_RING, GT_SLOT_ONE, 0 },
};

struct alias {
	uint32_t theirs, ours;
	int host_memory;
};

static const struct alias aliases[] = {
	{ BPFTIME_HASH, BPF_MAP_TYPE_HASH, 0 },
	{ BPFTIME_THREAD_ARRAY, GPUTRACE_MAP_TYPE_THREAD_ARRAY, 0 },
	{ BPFTIME_ARRAY, BPF_MAP_TYPE_ARRAY, 0 },
	{ BPFTIME_KERNEL_SHARED_ARRAY, BPF_MAP_TYPE_ARRAY, 1 },
	{ BPFTIME_THREAD_ARRAY_HOST, GPUTRACE_MAP_TYPE_THREAD_ARRAY, 1 },
	{ BPFTIME_ARRAY_HOST, BPF_MAP_TYPE_ARRAY, 1 },
	{ BPFTIME_RINGBUF, BPF_MAP_TYPE_RINGBUF, 1 },
};

bool gt_map_type_is_bpftime(uint32_t type)
{
	unsigned i;

	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (aliases[i].theirs == type)
			return true;
	return false;
}

void gt_map_canonical(struct gt_map_desc *desc)
{
	unsigned i;

	if (desc->flags & (GPUTRACE_MAP_HOST | BPF_F_MMAPABLE))
		desc->host_memory = 1;
	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++) {
		if (aliases[i].theirs != desc->type)
			continue;
		desc->type = aliases[i].ours;
		desc->host_memory |= aliases[i].host_memory;
		if (aliases[i].theirs == BPFTIME_RINGBUF) {
			desc->key_size = desc->value_size = 0;
			desc->max_entries = BPFTIME_RING_BYTES;
		}
	}
	if (desc->type == BPF_MAP_TYPE_RINGBUF)
		desc->host_memory = 1;
}

int gt_map_type_layout(const struct gt_map_desc *desc, uint32_t slots,
		       struct gt_map_layout *ret_layout)
{
	struct gt_map_shape shape = {
		.kind = GT_KIND_NONE,
		.key_size = desc->key_size,
		.value_size = desc->value_size,
		.max_entries = desc->max_entries,
		.slots = slots,
	};
	unsigned i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (kinds[i].type == desc->type) {
			shape.kind = kinds[i].kind;
			shape.slot = kinds[i].slot;
			shape.lru = kinds[i].lru;
		}
	}
	return gt_map_layout(&shape, ret_layout);
}
