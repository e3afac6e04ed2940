/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the memory of a map is laid out.  The code on the GPU, the compiler and
 * the library's own lookups all go by this.  Fresh memory of zeros is an empty
 * map, so that only initial values have to be copied into an arena.
 *
 * Arrays: element k of slot s at (k * slots + s) * stride.  A slot is what the
 * array is kept for: the thread, the warp, the block or the SM; one slot for
 * plain arrays.  Threads, warps and blocks are numbered through the whole grid,
 * and the number is taken modulo `slots`, a power of two.
 *
 * Hash tables: see hash.h.
 *
 * Include <errno.h>, or what stands for it on the GPU, before this.
 */
#ifndef GT_WIRE_MAP_H
#define GT_WIRE_MAP_H

#include <stdint.h>

#define GT_MAP_ALIGN 256u		/* of every map's offset in an arena */
#define GT_MAP_MAX_BYTES (1ull << 30)	/* of one map */
#define GT_MAP_MAX_KEY 512u
#define GT_SM_SLOTS 256u

enum gt_map_kind {
	GT_KIND_NONE,		/* no place on the GPU */
	GT_KIND_ARRAY,
	GT_KIND_HASH,
	GT_KIND_RING,
};

enum gt_map_slot {
	GT_SLOT_ONE,
	GT_SLOT_THREAD,
	GT_SLOT_WARP,
	GT_SLOT_BLOCK,
	GT_SLOT_SM,
};

/* What gt_map_layout() goes by. */
struct gt_map_shape {
	uint32_t kind;		/* enum gt_map_kind */
	uint32_t slot;		/* enum gt_map_slot, arrays only */
	uint32_t key_size, value_size, max_entries;
	uint32_t slots;		/* asked for by the author, 0: default */
	uint32_t lru;		/* hash tables: full ones drop what was least recently used */
};

struct gt_map_layout {
	uint32_t kind, slot;
	uint32_t key_size, value_size, max_entries;
	uint32_t slots;		/* a power of two */
	uint64_t stride;	/* bytes from one value to the next */
	uint64_t bytes;		/* of the whole map, a multiple of GT_MAP_ALIGN */
	/* Hash tables */
	uint32_t lru;
	uint32_t key_bytes;	/* of a stored key: padded with zeros to 8 */
	uint32_t node_bytes;
	uint32_t buckets, nodes;	/* powers of two */
	uint64_t nodes_offset;
};

/* Head of a hash table's memory; `buckets` list heads of 8 bytes follow, then the nodes. */
struct gt_hash_header {
	uint64_t counts;	/* low half: places reserved, high half: elements */
	uint64_t pad[7];
};

/* A node of a hash table; the key follows, then the value, each padded to 8 bytes. */
struct gt_hash_node {
	uint64_t next;
	uint64_t ref;
	uint64_t hash;
	uint64_t used;		/* since it was last passed over; least-recently-used tables */
};

static inline uint64_t gt_round_up(uint64_t value, uint64_t multiple)
{
	return (value + multiple - 1) / multiple * multiple;
}

/* value at most 2^31 */
static inline uint32_t gt_power_of_two(uint32_t value)
{
	uint32_t power = 1;

	while (power < value)
		power <<= 1;
	return power;
}

static inline uint32_t gt_map_default_slots(uint32_t slot)
{
	switch (slot) {
	case GT_SLOT_THREAD:
		return 1u << 20;
	case GT_SLOT_WARP:
		return 1u << 15;
	case GT_SLOT_BLOCK:
		return 1u << 16;
	case GT_SLOT_SM:
		return GT_SM_SLOTS;
	default:
		return 1;
	}
}

static inline int gt_map_layout_array(const struct gt_map_shape *shape, struct gt_map_layout *l)
{
	uint64_t element;

	if (shape->key_size != 4)
		return -EINVAL;
	l->stride = gt_round_up(shape->value_size, 8);
	l->slots = gt_map_default_slots(shape->slot);
	if (shape->slots && shape->slot != GT_SLOT_ONE && shape->slot != GT_SLOT_SM) {
		if (shape->slots > 1u << 30)
			return -E2BIG;
		l->slots = gt_power_of_two(shape->slots);
	}
	if (l->stride > GT_MAP_MAX_BYTES)
		return -E2BIG;
	element = l->stride * l->slots;		/* below 2^61 */
	/* A default is a guess: make it fit. */
	while (!shape->slots && l->slots > GT_SM_SLOTS && element > (GT_MAP_MAX_BYTES / 16) / shape->max_entries) {
		l->slots /= 2;
		element /= 2;
	}
	if (element > GT_MAP_MAX_BYTES / shape->max_entries)
		return -E2BIG;
	l->bytes = gt_round_up(element * shape->max_entries, GT_MAP_ALIGN);
	return 0;
}

static inline int gt_map_layout_hash(const struct gt_map_shape *shape, struct gt_map_layout *l)
{
	uint64_t bytes;

	if (shape->key_size > GT_MAP_MAX_KEY)
		return -E2BIG;
	if (shape->max_entries > 1u << 26 || shape->value_size > 1u << 20)
		return -E2BIG;
	l->key_bytes = (uint32_t)gt_round_up(shape->key_size, 8);
	l->stride = gt_round_up(shape->value_size, 8);
	l->node_bytes = (uint32_t)(sizeof(struct gt_hash_node) + l->key_bytes + l->stride);
	l->buckets = gt_power_of_two(shape->max_entries);
	/* Twice as many nodes as elements, and some: deleted ones stay in use for a moment. */
	l->nodes = gt_power_of_two(shape->max_entries) * 2;
	if (l->nodes < 256)
		l->nodes = 256;
	l->nodes_offset = sizeof(struct gt_hash_header) + 8ull * l->buckets;
	bytes = l->nodes_offset + (uint64_t)l->nodes * l->node_bytes;
	if (bytes > GT_MAP_MAX_BYTES)
		return -E2BIG;
	l->bytes = gt_round_up(bytes, GT_MAP_ALIGN);
	l->slots = 1;
	return 0;
}

/* A ring's bytes are its data; the control block is elsewhere.  max_entries: bytes. */
static inline int gt_map_layout_ring(const struct gt_map_shape *shape, struct gt_map_layout *l)
{
	if (shape->max_entries < 4096 || shape->max_entries > GT_MAP_MAX_BYTES ||
	    (shape->max_entries & (shape->max_entries - 1)))
		return -EINVAL;
	l->bytes = shape->max_entries;
	return 0;
}

/*
 * 0; -EINVAL: sizes that this kind cannot have; -E2BIG: more than a map may
 * take; -ENOTSUP: GT_KIND_NONE.
 */
static inline int gt_map_layout(const struct gt_map_shape *shape, struct gt_map_layout *ret_layout)
{
	struct gt_map_layout l = {
		.kind = shape->kind,
		.slot = shape->slot,
		.key_size = shape->key_size,
		.value_size = shape->value_size,
		.max_entries = shape->max_entries,
		.lru = shape->lru,
		.slots = 1,
	};
	int r;

	if (shape->kind == GT_KIND_NONE)
		return -ENOTSUP;
	if (!shape->max_entries)
		return -EINVAL;
	if (shape->kind != GT_KIND_RING && (!shape->key_size || !shape->value_size))
		return -EINVAL;
	if (shape->kind == GT_KIND_ARRAY)
		r = gt_map_layout_array(shape, &l);
	else if (shape->kind == GT_KIND_HASH)
		r = gt_map_layout_hash(shape, &l);
	else
		r = gt_map_layout_ring(shape, &l);
	if (r < 0)
		return r;
	*ret_layout = l;
	return 0;
}

#endif
