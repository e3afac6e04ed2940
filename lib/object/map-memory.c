/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups and updates over the memory of one instance of a map.  Another process
 * or a GPU may write it meanwhile, and may write nonsense: every number read is
 * masked or checked, and every walk is bounded.
 */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>

#include "lib/object/map.h"

/* The table's functions for memory that only this process writes. */
#define GT_HASH_MEM
#define GT_HASH_FN static inline __attribute__((unused))
#define gt_hash_load(t, p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define gt_hash_load_plain(t, p) __atomic_load_n(p, __ATOMIC_RELAXED)
#define gt_hash_store(t, p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)
#define gt_hash_add(t, p, v) ((void)(t), __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL))
#define gt_hash_or(t, p, v) __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL)
#define gt_hash_fence(t) __atomic_thread_fence(__ATOMIC_ACQ_REL)
#define gt_hash_copy(t, to, from, n) memcpy(to, from, n)
#define gt_hash_group() 0
#define gt_hash_any(group, condition) ((void)(group), condition)
#define gt_hash_pause(tries) sched_yield()

static inline uint64_t gt_hash_cas_local(uint64_t *p, uint64_t expected, uint64_t value)
{
	__atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return expected;
}

#define gt_hash_cas(t, p, expected, v) gt_hash_cas_local(p, expected, v)

#include "lib/wire/hash.h"

#define KEY_WORDS (GT_MAP_MAX_KEY / 8)

/* How often a value that changes while it is copied is copied again. */
#define COPY_TRIES 16

static struct gt_hash_table table_of(const struct gt_map_layout *l, const void *memory)
{
	return (struct gt_hash_table){
		.memory = (unsigned char *)memory,
		.key_bytes = l->key_bytes,
		.value_size = l->value_size,
		.node_bytes = l->node_bytes,
		.buckets = l->buckets,
		.nodes = l->nodes,
		.max_entries = l->max_entries,
		.nodes_offset = l->nodes_offset,
		.lru = (int)l->lru,
	};
}

static void pad_key(const struct gt_map_layout *l, const void *key, uint64_t *words)
{
	memset(words, 0, KEY_WORDS * 8);
	memcpy(words, key, l->key_size);
}

static uint32_t array_index(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

static size_t array_offset(const struct gt_map_layout *l, uint32_t index, uint32_t slot)
{
	return ((size_t)index * l->slots + slot) * l->stride;
}

/*
 * Walk from a link word to the first node that is not deleted; 0: none.  *steps
 * counts down over all of a caller's walks, to which no table has more nodes.
 */
static uint32_t live_node(const struct gt_hash_table *t, uint64_t word, uint32_t *steps)
{
	uint32_t number;

	while (*steps) {
		--*steps;
		number = (uint32_t)(word & GT_HASH_INDEX);
		if (!number)
			return 0;
		word = gt_hash_load(t, &gt_hash_node(t, number)->next);
		if (!(word & GT_HASH_MARK))
			return number;
	}
	return 0;
}

static uint32_t next_live_node(const struct gt_hash_table *t, uint32_t number, uint32_t *steps)
{
	return live_node(t, gt_hash_load(t, &gt_hash_node(t, number)->next), steps);
}

/* Steps that see every node and the end of every list. */
static uint32_t all_steps(const struct gt_hash_table *t)
{
	return t->nodes + t->buckets;
}

/* Like gt_hash_find(), but writes nothing: the memory is somebody else's. */
static uint32_t peek(const struct gt_hash_table *t, const uint64_t *key)
{
	uint64_t hash = gt_hash_of(t, key);
	uint32_t steps = all_steps(t);
	uint32_t number = live_node(t, gt_hash_load(t, gt_hash_head(t, hash)), &steps);

	for (; number; number = next_live_node(t, number, &steps)) {
		if (gt_hash_compare(t, key, hash, gt_hash_node(t, number)) == 0)
			return number;
	}
	return 0;
}

static int hash_lookup(const struct gt_map_layout *l, const void *memory, const void *key, void *value)
{
	struct gt_hash_table t = table_of(l, memory);
	struct gt_hash_node *node;
	uint64_t words[KEY_WORDS], ref;
	uint32_t number;
	unsigned tries;

	pad_key(l, key, words);
	for (tries = 0; tries < COPY_TRIES; tries++) {
		number = peek(&t, words);
		if (!number)
			return -ENOENT;
		node = gt_hash_node(&t, number);
		ref = gt_hash_load(&t, &node->ref);
		memcpy(value, gt_hash_value(&t, node), l->value_size);
		gt_hash_fence(t);
		if (gt_hash_load_plain(&t, &node->ref) == ref && !(ref & GT_HASH_WRITER))
			break;
	}
	return 0;
}

static int hash_update(const struct gt_map_layout *l, void *memory, const void *key,
		       const void *value, uint64_t flags)
{
	struct gt_hash_table t = table_of(l, memory);
	uint64_t words[KEY_WORDS];

	pad_key(l, key, words);
	return gt_hash_update(&t, words, value, flags);
}

static int hash_delete(const struct gt_map_layout *l, void *memory, const void *key)
{
	struct gt_hash_table t = table_of(l, memory);
	uint64_t words[KEY_WORDS];

	pad_key(l, key, words);
	return gt_hash_delete(&t, words);
}

/*
 * The node after `number` (0: the first of the bucket) whose key belongs into the
 * bucket and sorts behind the key `after`, if there is one: so that a caller who
 * goes from key to key comes to an end also where lists are circles.
 */
static uint32_t next_in_bucket(const struct gt_hash_table *t, uint32_t bucket, uint32_t number,
			       const uint64_t *after, uint32_t *steps)
{
	uint64_t words[KEY_WORDS];
	uint32_t i;

	number = number ? next_live_node(t, number, steps) :
			  live_node(t, gt_hash_load(t, gt_hash_head(t, bucket)), steps);
	for (; number; number = next_live_node(t, number, steps)) {
		struct gt_hash_node *node = gt_hash_node(t, number);
		uint64_t hash;

		for (i = 0; i < t->key_bytes / 8; i++)
			words[i] = gt_hash_load_plain(t, &gt_hash_key(node)[i]);
		hash = gt_hash_of(t, words);
		if ((hash & (t->buckets - 1)) == bucket && hash == gt_hash_load_plain(t, &node->hash) &&
		    (!after || gt_hash_compare(t, after, gt_hash_of(t, after), node) < 0))
			return number;
	}
	return 0;
}

static int hash_next_key(const struct gt_map_layout *l, const void *memory, const void *key, void *ret_key)
{
	struct gt_hash_table t = table_of(l, memory);
	uint64_t words[KEY_WORDS];
	uint32_t number = 0, bucket = 0, steps = all_steps(&t);

	if (key) {
		pad_key(l, key, words);
		number = peek(&t, words);
	}
	if (number) {
		bucket = (uint32_t)(gt_hash_of(&t, words) & (t.buckets - 1));
		number = next_in_bucket(&t, bucket++, number, words, &steps);
	}
	for (; !number && bucket < t.buckets; bucket++)
		number = next_in_bucket(&t, bucket, 0, NULL, &steps);
	if (!number)
		return -ENOENT;
	memcpy(ret_key, gt_hash_key(gt_hash_node(&t, number)), l->key_size);
	return 0;
}

static uint32_t hash_read(const struct gt_map_layout *l, const void *memory, unsigned char *keys,
			  unsigned char *values, uint32_t capacity)
{
	struct gt_hash_table t = table_of(l, memory);
	uint32_t steps = all_steps(&t), count = 0, number;
	const uint64_t *key;

	for (uint32_t bucket = 0; bucket < t.buckets; bucket++) {
		number = next_in_bucket(&t, bucket, 0, NULL, &steps);
		for (; number && count < l->max_entries; count++) {
			key = gt_hash_key(gt_hash_node(&t, number));
			if (count < capacity) {
				memcpy(keys + (size_t)count * l->key_size, key, l->key_size);
				memcpy(values + (size_t)count * l->value_size,
				       gt_hash_value(&t, gt_hash_node(&t, number)), l->value_size);
			}
			number = next_in_bucket(&t, bucket, number, key, &steps);
		}
	}
	return count;
}

static int array_lookup(const struct gt_map_layout *l, const void *memory, const void *key, void *value)
{
	uint32_t index = array_index(key), slot;

	if (index >= l->max_entries)
		return -ENOENT;
	for (slot = 0; slot < l->slots; slot++)
		memcpy((char *)value + (size_t)slot * l->value_size,
		       (const char *)memory + array_offset(l, index, slot), l->value_size);
	return 0;
}

static int array_update(const struct gt_map_layout *l, void *memory, const void *key,
			const void *value, uint64_t flags)
{
	uint32_t index = array_index(key), slot;

	if (flags > GT_HASH_EXIST)
		return -EINVAL;
	if (index >= l->max_entries)
		return -E2BIG;
	if (flags == GT_HASH_NOEXIST)
		return -EEXIST;
	for (slot = 0; slot < l->slots; slot++)
		memcpy((char *)memory + array_offset(l, index, slot),
		       (const char *)value + (size_t)slot * l->value_size, l->value_size);
	return 0;
}

static int array_next_key(const struct gt_map_layout *l, const void *key, void *ret_key)
{
	uint32_t index = key ? array_index(key) : UINT32_MAX;

	if (index >= l->max_entries)
		index = 0;
	else if (++index == l->max_entries)
		return -ENOENT;
	memcpy(ret_key, &index, sizeof(index));
	return 0;
}

int gt_map_memory_lookup(const struct gt_map_layout *l, const void *memory, const void *key, void *value)
{
	if (l->kind == GT_KIND_ARRAY)
		return array_lookup(l, memory, key, value);
	if (l->kind == GT_KIND_HASH)
		return hash_lookup(l, memory, key, value);
	return -EOPNOTSUPP;
}

int gt_map_memory_update(const struct gt_map_layout *l, void *memory, const void *key,
			 const void *value, uint64_t flags)
{
	if (l->kind == GT_KIND_ARRAY)
		return array_update(l, memory, key, value, flags);
	if (l->kind == GT_KIND_HASH)
		return hash_update(l, memory, key, value, flags);
	return -EOPNOTSUPP;
}

int gt_map_memory_delete(const struct gt_map_layout *l, void *memory, const void *key)
{
	if (l->kind == GT_KIND_ARRAY)
		return -EINVAL;
	if (l->kind == GT_KIND_HASH)
		return hash_delete(l, memory, key);
	return -EOPNOTSUPP;
}

int gt_map_memory_next_key(const struct gt_map_layout *l, const void *memory, const void *key,
			   void *ret_key)
{
	if (l->kind == GT_KIND_ARRAY)
		return array_next_key(l, key, ret_key);
	if (l->kind == GT_KIND_HASH)
		return hash_next_key(l, memory, key, ret_key);
	return -EOPNOTSUPP;
}

static uint32_t array_read(const struct gt_map_layout *l, const void *memory, unsigned char *keys,
			   unsigned char *values, uint32_t capacity)
{
	for (uint32_t i = 0; i < l->max_entries && i < capacity; i++) {
		memcpy(keys + (size_t)i * sizeof(i), &i, sizeof(i));
		array_lookup(l, memory, &i, values + (size_t)i * l->slots * l->value_size);
	}
	return l->max_entries;
}

uint32_t gt_map_memory_read(const struct gt_map_layout *l, const void *memory, void *keys, void *values,
			    uint32_t capacity)
{
	if (l->kind == GT_KIND_ARRAY)
		return array_read(l, memory, keys, values, capacity);
	return hash_read(l, memory, keys, values, capacity);
}
