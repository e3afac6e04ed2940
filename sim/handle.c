/* SPDX-License-Identifier: Apache-2.0 */
/* The set of live handles: an open-addressed hash table of pointers. */
#include <stdlib.h>

#include "sim/driver.h"

struct slot {
	const void *handle;	/* NULL: empty */
	enum sim_kind kind;	/* 0 with a handle: removed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static size_t size, used;	/* used counts removed slots too; size is a power of two */

static size_t place(const void *handle, size_t count)
{
	return (size_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (count - 1);
}

/* The slot that holds `handle`, or the empty one that ends its chain. */
static struct slot *find(struct slot *table, size_t count, const void *handle)
{
	size_t i = place(handle, count);

	while (table[i].handle && table[i].handle != handle)
		i = (i + 1) & (count - 1);
	return &table[i];
}

static bool grow(void)
{
	size_t live = 0, count = 64;
	struct slot *table;

	for (size_t i = 0; i < size; i++)
		live += slots[i].handle && slots[i].kind;
	while (count < live * 4)
		count *= 2;
	table = calloc(count, sizeof(*table));
	if (!table)
		return false;
	for (size_t i = 0; i < size; i++)
		if (slots[i].handle && slots[i].kind)
			*find(table, count, slots[i].handle) = slots[i];
	free(slots);
	slots = table;
	size = count;
	used = live;
	return true;
}

bool sim_handle_add(const void *handle, enum sim_kind kind)
{
	bool ok = true;

	pthread_mutex_lock(&lock);
	if ((used + 1) * 2 > size)
		ok = grow();
	if (ok) {
		struct slot *slot = find(slots, size, handle);

		used += !slot->handle;
		*slot = (struct slot) { handle, kind };
	}
	pthread_mutex_unlock(&lock);
	return ok;
}

void sim_handle_remove(const void *handle)
{
	pthread_mutex_lock(&lock);
	if (size)
		find(slots, size, handle)->kind = 0;
	pthread_mutex_unlock(&lock);
}

bool sim_handle_is(const void *handle, enum sim_kind kind)
{
	bool is = false;

	if (!handle)
		return false;
	pthread_mutex_lock(&lock);
	if (size) {
		const struct slot *slot = find(slots, size, handle);

		is = slot->handle && slot->kind == kind;
	}
	pthread_mutex_unlock(&lock);
	return is;
}
