/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables as compiled programs call them.  They are not inlined: a program that
 * uses tables in ten places has the code once, and for the GPU it is PTX already when
 * the library is built.
 */
#ifndef GT_COMPILE_TABLE_H
#define GT_COMPILE_TABLE_H

#define GT_HASH_FN static INLINE
#define gt_hash_load(t, p) ((t)->host_memory ? load_acquire_sys(p) : load_acquire_gpu(p))
#define gt_hash_load_plain(t, p) ((t)->host_memory ? load_relaxed_sys(p) : load_relaxed_gpu(p))
#define gt_hash_store(t, p, v) ((t)->host_memory ? store_relaxed_sys(p, v) : store_relaxed_gpu(p, v))
#define gt_hash_cas(t, p, e, v) ((t)->host_memory ? cas_sys(p, e, v) : cas_gpu(p, e, v))
#define gt_hash_add(t, p, v) ((t)->host_memory ? add_sys(p, v) : add_gpu(p, v))
#define gt_hash_or(t, p, v) ((t)->host_memory ? or_sys(p, v) : or_gpu(p, v))
#define gt_hash_fence(t) ((t)->host_memory ? fence_sys() : fence_gpu())
#define gt_hash_copy(t, to, from, n) copy_words(to, from, n)
#define gt_hash_group() active_mask()
#define gt_hash_any(group, condition) any_of(group, condition)
#define gt_hash_pause(tries) pause_try(tries)

/* Values are stored padded to 8 bytes, and the compiler pads them before they get here. */
static INLINE void copy_words(GLOBAL u8 *to, const void *from, u32 bytes)
{
	const u64 *words = from;
	u32 i;

	for (i = 0; i < (bytes + 7) / 8; i++)
		((GLOBAL u64 *)to)[i] = words[i];
}

#include "lib/wire/hash.h"

/*
 * The numbers of a table's layout come first.  One function for each kind of memory,
 * since the scope is part of an instruction, and for tables that drop elements, whose
 * code is twice as long.
 */
#define TABLE_PARAMS u64 memory, u32 key_bytes, u32 value_size, u32 buckets, u32 nodes, u32 max_entries
#define TABLE(host, lru) table_at(memory, key_bytes, value_size, buckets, nodes, max_entries, host, lru)
#define OUTLINE __attribute__((noinline))	/* found by its name */

static INLINE struct gt_hash_table table_at(TABLE_PARAMS, int host_memory, int lru)
{
	return (struct gt_hash_table){
		.memory = (GLOBAL u8 *)memory,
		.key_bytes = key_bytes,
		.value_size = value_size,
		.node_bytes = (u32)sizeof(struct gt_hash_node) + key_bytes + ((value_size + 7) & ~7u),
		.buckets = buckets,
		.nodes = nodes,
		.max_entries = max_entries,
		.nodes_offset = sizeof(struct gt_hash_header) + 8ull * buckets,
		.lru = lru,
		.host_memory = host_memory,
	};
}

#define DEFINE_TABLE(kind, host, lru)									\
	OUTLINE u64 __gt_fn_##kind##_lookup(TABLE_PARAMS, const u64 *key)				\
	{												\
		struct gt_hash_table t = TABLE(host, lru);						\
		return (u64)gt_hash_lookup(&t, key);							\
	}												\
	OUTLINE s64 __gt_fn_##kind##_update(TABLE_PARAMS, const u64 *key, const u64 *value, u64 flags)	\
	{												\
		struct gt_hash_table t = TABLE(host, lru);						\
		return gt_hash_update(&t, key, value, flags);						\
	}												\
	OUTLINE s64 __gt_fn_##kind##_delete(TABLE_PARAMS, const u64 *key)				\
	{												\
		struct gt_hash_table t = TABLE(host, lru);						\
		return gt_hash_delete(&t, key);								\
	}

DEFINE_TABLE(table, 0, 0)
DEFINE_TABLE(table_host, 1, 0)
DEFINE_TABLE(table_lru, 0, 1)
DEFINE_TABLE(table_lru_host, 1, 1)

#endif
