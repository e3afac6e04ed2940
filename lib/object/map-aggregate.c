/* SPDX-License-Identifier: Apache-2.0 */
/* Many elements, slots or instances of a map at once. */
#include <errno.h>
#include <gputrace/object.h>
#include <stdlib.h>
#include <string.h>

#include "lib/object/object.h"
#include "lib/util/error.h"

static size_t element_bytes(const struct gputrace_map *map)
{
	return (size_t)map->layout.value_size * map->layout.slots;
}

static uint64_t add_up(const struct gputrace_map *map, const unsigned char *values)
{
	uint64_t sum = 0, wide;
	uint32_t slot, narrow;

	for (slot = 0; slot < map->layout.slots; slot++) {
		if (map->layout.value_size == 8) {
			memcpy(&wide, values + 8 * (size_t)slot, 8);
			sum += wide;
		} else {
			memcpy(&narrow, values + 4 * (size_t)slot, 4);
			sum += narrow;
		}
	}
	return sum;
}

/* Adds to *sum; `values` has room for an element. */
static int sum_instance(struct gputrace_map *map, int instance, const void *key, unsigned char *values,
			uint64_t *sum)
{
	void *memory;
	int r;

	r = gt_map_instance_memory(map, instance, false, &memory);
	if (r >= 0)
		r = gt_map_memory_lookup(&map->layout, memory, key, values);
	if (r >= 0)
		*sum += add_up(map, values);
	return r;
}

/* Also before it is in any context. */
static bool is_array_with(const struct gputrace_map *map, const void *key)
{
	uint32_t index;

	if (map->layout.kind != GT_KIND_ARRAY)
		return false;
	memcpy(&index, key, sizeof(index));
	return index < map->layout.max_entries;
}

static int sum_instances(struct gputrace_map *map, const void *key, unsigned char *values, uint64_t *sum)
{
	bool found = is_array_with(map, key);
	unsigned i;
	int r;

	for (i = 0; i < map->instance_count; i++) {
		r = sum_instance(map, (int)i, key, values, sum);
		if (r < 0 && r != -ENOENT)
			return r;
		found |= r >= 0;
	}
	return found ? 0 : -ENOENT;
}

int gputrace_map_sum(struct gputrace_map *map, int instance, const void *key, size_t key_size, uint64_t *ret_sum)
{
	unsigned char *values;
	uint64_t sum = 0;
	int r;

	r = gt_map_check(map);
	if (r >= 0)
		r = gt_map_check_sizes(map, key_size, NULL);
	if (r < 0)
		return r;
	if (map->layout.value_size != 4 && map->layout.value_size != 8)
		return gt_error(-EINVAL, "map %s: values of %u bytes cannot be added up", map->name,
				map->layout.value_size);
	values = malloc(element_bytes(map));
	if (!values)
		return gt_error(-ENOMEM, "out of memory for an element of map %s", map->name);
	if (instance == GPUTRACE_INSTANCE_ALL)
		r = sum_instances(map, key, values, &sum);
	else
		r = sum_instance(map, instance, key, values, &sum);
	free(values);
	if (r == -ENOENT)
		return gt_error(r, instance == GPUTRACE_INSTANCE_ALL && !map->instance_count && map->layout.kind != GT_KIND_ARRAY ?
				"map %s is in no CUDA context so far" : "map %s has no such key", map->name);
	if (r >= 0)
		*ret_sum = sum;
	return r;
}

int gputrace_map_read_all(struct gputrace_map *map, int instance, void *keys, void *values, uint32_t capacity,
			  uint32_t *ret_count)
{
	void *memory, *copy;
	uint32_t count;
	int r;

	r = gt_map_instance_memory(map, instance, false, &memory);
	if (r < 0)
		return r;
	copy = malloc(map->layout.bytes);
	if (!copy)
		return gt_error(-ENOMEM, "out of memory for a copy of map %s", map->name);
	memcpy(copy, memory, map->layout.bytes);
	count = gt_map_memory_read(&map->layout, copy, keys, values, capacity);
	free(copy);
	*ret_count = count < capacity ? count : capacity;
	return count > capacity ? gt_error(-ENOSPC, "map %s has more than %u elements", map->name, capacity) : 0;
}
