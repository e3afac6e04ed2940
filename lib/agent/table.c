/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

struct slot {
	_Atomic(const void *) key;	/* set once, never cleared: probing relies on it */
	_Atomic(void *) value;
};

struct gt_table {
	size_t mask, used;
	/*
	 * A reader may still look at a table that has been replaced, so it is kept;
	 * sizes double, so all old ones together are smaller than the newest.
	 */
	struct gt_table *old;
	struct slot slots[];
};

static size_t hash(const void *key)
{
	return (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15ull) >> 20);
}

static struct slot *find(struct gt_table *table, const void *key)
{
	for (size_t i = hash(key);; i++) {
		struct slot *slot = &table->slots[i & table->mask];
		const void *have = atomic_load_explicit(&slot->key, memory_order_acquire);

		if (!have || have == key)
			return slot;
	}
}

/* Readers load the pointer while a writer may replace it; pairs with the release in grow(). */
static struct gt_table *current(struct gt_table *const *table)
{
	return __atomic_load_n(table, __ATOMIC_ACQUIRE);
}

void *gt_table_get(struct gt_table *const *table, const void *key)
{
	struct gt_table *t = current(table);
	struct slot *slot;

	if (!t || !key)
		return NULL;
	slot = find(t, key);
	/* One that was empty just now may have another key's value already. */
	if (atomic_load_explicit(&slot->key, memory_order_acquire) != key)
		return NULL;
	return atomic_load_explicit(&slot->value, memory_order_acquire);
}

static void put(struct gt_table *table, const void *key, void *value)
{
	struct slot *slot = find(table, key);

	atomic_store_explicit(&slot->value, value, memory_order_release);
	if (!atomic_load_explicit(&slot->key, memory_order_relaxed)) {
		atomic_store_explicit(&slot->key, key, memory_order_release);
		table->used++;
	}
}

/* A larger table with the live entries of the old. */
static int grow(struct gt_table **table)
{
	struct gt_table *old = *table, *fresh;
	size_t live = 0, size = 64;

	for (size_t i = 0; old && i <= old->mask; i++)
		live += atomic_load_explicit(&old->slots[i].value, memory_order_relaxed) != NULL;
	while (size < 4 * (live + 1) || (old && size <= old->mask + 1))
		size *= 2;
	fresh = calloc(1, sizeof(*fresh) + size * sizeof(struct slot));
	if (!fresh)
		return -ENOMEM;
	fresh->mask = size - 1;
	fresh->old = old;
	for (size_t i = 0; old && i <= old->mask; i++) {
		void *value = atomic_load_explicit(&old->slots[i].value, memory_order_relaxed);

		if (value)
			put(fresh, old->slots[i].key, value);
	}
	__atomic_store_n(table, fresh, __ATOMIC_RELEASE);
	return 0;
}

int gt_table_set(struct gt_table **table, const void *key, void *value)
{
	struct slot *slot = *table ? find(*table, key) : NULL;

	if (!value && (!slot || !atomic_load_explicit(&slot->key, memory_order_relaxed)))
		return 0;
	if (!slot || (!slot->key && 2 * (*table)->used > (*table)->mask)) {
		int r = grow(table);

		if (r)
			return r;
	}
	put(*table, key, value);
	return 0;
}
