/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/object.h>

#include "lib/object/map-type.h"
#include "lib/object/object.h"
#include "lib/util/error.h"
#include "lib/wire/wire.h"

int gt_map_new(struct gputrace_object *object, unsigned index, const struct gt_map_desc *desc,
	       uint32_t slots, const void *initial, size_t initial_size, struct gputrace_map **ret_map)
{
	struct gputrace_map *map = calloc(1, sizeof(*map));

	if (!map)
		return gt_error(-ENOMEM, "out of memory");
	map->object = object;
	map->index = index;
	map->name = strdup(desc->name);
	if (!map->name)
		goto no_memory;
	map->desc = *desc;
	map->desc.name = map->name;
	gt_map_canonical(&map->desc);
	map->layout_error = gt_map_type_layout(&map->desc, slots, &map->layout);
	if (initial && !map->layout_error) {
		map->initial = calloc(1, map->layout.bytes);
		if (!map->initial)
			goto no_memory;
		if (initial_size > map->layout.bytes)
			initial_size = map->layout.bytes;
		memcpy(map->initial, initial, initial_size);
		if (map->desc.read_only)
			map->desc.contents = map->initial;
	}
	*ret_map = map;
	return 0;

no_memory:
	gt_map_free(map);
	return gt_error(-ENOMEM, "out of memory for map %s", desc->name);
}

void gt_map_free(struct gputrace_map *map)
{
	unsigned i;

	if (!map)
		return;
	for (i = 0; i < map->instance_count; i++) {
		if (map->instances[i].owned && !map->instances[i].window.pages)
			free(map->instances[i].memory);
		gt_map_window_close(&map->instances[i].window);
	}
	free(map->instances);
	free(map->initial);
	free(map->name);
	free(map);
}

static int check_given(const struct gputrace_map *map)
{
	return map ? 0 : gt_error(-EINVAL, "NULL in place of a map: gputrace_object_find_map() returns it when there is none of that name");
}

int gt_map_check(const struct gputrace_map *map)
{
	int r = check_given(map);

	if (r)
		return r;
	switch (map->layout_error) {
	case 0:
		return 0;
	case -ENOTSUP:
		return gt_error(-ENOTSUP, "map %s: GPU programs cannot use maps of type %u", map->name,
				map->desc.type);
	case -E2BIG:
		return gt_error(-E2BIG, "map %s: %u elements of %u bytes take more than %llu bytes",
				map->name, map->desc.max_entries, map->desc.value_size,
				(unsigned long long)GT_MAP_MAX_BYTES);
	default:
		return gt_error(map->layout_error,
				"map %s: key size %u, value size %u or max_entries %u do not suit its type %u",
				map->name, map->desc.key_size, map->desc.value_size,
				map->desc.max_entries, map->desc.type);
	}
}

bool gt_map_is_ring(const struct gputrace_map *map)
{
	return map->layout.kind == GT_KIND_RING;
}

uint64_t gt_map_bytes(const struct gputrace_map *map)
{
	return map->layout.bytes;
}

/* Measured on an H200: atomics on addresses less than 128 bytes apart wait for each other, too. */
uint64_t gt_map_copy_bytes(const struct gputrace_map *map)
{
	return gt_round_up(map->layout.stride * map->layout.max_entries, 128);
}

enum gt_arena gt_map_arena(const struct gputrace_map *map)
{
	return map->desc.host_memory ? GT_ARENA_HOST : GT_ARENA_DEV;
}

void gt_map_write_initial(const struct gputrace_map *map, void *memory)
{
	if (gt_map_is_ring(map))
		return;
	if (map->initial)
		memcpy(memory, map->initial, map->layout.bytes);
	else
		memset(memory, 0, map->layout.bytes);
}

void gt_map_write_copies(const struct gputrace_map *map, void *memory)
{
	uint64_t stride = map->layout.stride;

	if (!map->spread || map->layout.slot == GT_SLOT_ONE) {
		gt_map_write_initial(map, memory);
		return;
	}
	for (uint64_t i = 0; map->initial && i < (uint64_t)map->layout.max_entries * map->spread; i++)
		memcpy((char *)memory + i % map->spread * gt_map_copy_bytes(map) + i / map->spread * stride,
		       map->initial + i * stride, stride);
}

void gt_map_set_place(struct gputrace_map *map, const struct gt_map_place *place)
{
	map->place = *place;
	map->placed = true;
}

static int add_instance(struct gputrace_map *map, const struct gt_map_instance *instance,
			unsigned *ret_index)
{
	struct gt_map_instance *more;

	more = realloc(map->instances, (map->instance_count + 1) * sizeof(*more));
	if (!more)
		return gt_error(-ENOMEM, "out of memory for an instance of map %s", map->name);
	map->instances = more;
	more[map->instance_count] = *instance;
	*ret_index = map->instance_count++;
	return 0;
}

int gt_map_add_instance(struct gputrace_map *map, void *memory, gt_map_refresh_fn refresh,
			void *data, const struct gputrace_instance_info *info, unsigned *ret_index)
{
	struct gt_map_instance instance = {
		.memory = memory, .fd = -1, .refresh = refresh, .data = data, .info = GT_INSTANCE_NOWHERE,
	};

	if (info)
		instance.info = *info;

	return add_instance(map, &instance, ret_index);
}

void gt_map_share(struct gputrace_map *map)
{
	map->shared = true;
	map->desc.host_memory = 1;
}

int gt_map_go_live(struct gputrace_map *map, void *memory, int fd)
{
	struct gt_map_instance instance = {
		.memory = memory, .fd = fd, .writable = true, .info = GT_INSTANCE_NOWHERE,
	};
	int r = add_instance(map, &instance, &map->live_instance);

	map->live = !r;
	return r;
}

static void *copy_of(const struct gputrace_map *map, const struct gt_map_instance *instance)
{
	void *copy;

	if (instance->window.pages)
		return gt_map_window_keep(&instance->window, instance->memory, map->layout.bytes);
	copy = malloc(map->layout.bytes);
	return copy ? memcpy(copy, instance->memory, map->layout.bytes) : NULL;
}

int gt_map_keep_instance(struct gputrace_map *map, unsigned index)
{
	struct gt_map_instance *instance;
	void *copy;

	if (index >= map->instance_count)
		return gt_error(-ERANGE, "map %s has no instance %u", map->name, index);
	instance = &map->instances[index];
	if (instance->owned)
		return 0;
	/* Nobody looks at a ring's. */
	if (gt_map_is_ring(map)) {
		instance->memory = NULL;
		return 0;
	}
	instance->fd = -1;
	copy = copy_of(map, instance);
	if (!copy)
		return gt_error(-ENOMEM, "out of memory for the contents of map %s", map->name);
	instance->memory = copy;
	instance->owned = true;
	instance->refresh = NULL;
	instance->data = NULL;
	return 0;
}

/* A host image's ring has its tail and its control block behind its data. */
static size_t host_bytes(const struct gputrace_map *map)
{
	return map->layout.bytes + (gt_map_is_ring(map) ? 2 * GT_MAP_ALIGN : 0);
}

int gt_map_host_instance(struct gputrace_map *map, void **ret_memory)
{
	struct gt_map_instance instance = { .fd = -1, .owned = true, .writable = true, .info = GT_INSTANCE_NOWHERE };
	struct gt_ring_ctl *ctl;
	unsigned i;
	int r;

	for (i = 0; i < map->instance_count; i++) {
		if (map->instances[i].owned && map->instances[i].writable) {
			*ret_memory = map->instances[i].memory;
			return 0;
		}
	}
	instance.memory = aligned_alloc(GT_MAP_ALIGN, host_bytes(map));
	if (!instance.memory)
		return gt_error(-ENOMEM, "out of memory for map %s", map->name);
	memset(instance.memory, 0, host_bytes(map));
	gt_map_write_initial(map, instance.memory);
	if (gt_map_is_ring(map)) {
		ctl = (void *)((char *)instance.memory + map->layout.bytes + GT_MAP_ALIGN);
		ctl->credits = (int64_t)map->layout.bytes;
	}
	r = add_instance(map, &instance, &i);
	if (r < 0) {
		free(instance.memory);
		return r;
	}
	*ret_memory = instance.memory;
	return 0;
}

/* ---- public ---- */

const char *gputrace_map_get_name(const struct gputrace_map *map)
{
	return map->name;
}

uint32_t gputrace_map_get_type(const struct gputrace_map *map)
{
	return map->desc.type;
}

uint32_t gputrace_map_get_key_size(const struct gputrace_map *map)
{
	return map->desc.key_size;
}

uint32_t gputrace_map_get_value_size(const struct gputrace_map *map)
{
	return map->desc.value_size;
}

uint32_t gputrace_map_get_max_entries(const struct gputrace_map *map)
{
	return map->desc.max_entries;
}

uint32_t gputrace_map_get_slots(const struct gputrace_map *map)
{
	return map->layout_error ? 1 : map->layout.slots;
}

int gputrace_map_count_instances(const struct gputrace_map *map)
{
	int r = check_given(map);

	return r ? r : (int)map->instance_count;
}

int gputrace_map_get_instance_info(const struct gputrace_map *map, int instance,
				   struct gputrace_instance_info *info)
{
	struct gputrace_instance_info known;
	int r = check_given(map);

	if (r)
		return r;
	if (info->size < sizeof(uint64_t))
		return gt_error(-EINVAL, "instance info: set size to sizeof(struct gputrace_instance_info)");
	if (instance < 0 || (unsigned)instance >= map->instance_count)
		return gt_error(-ERANGE, "map %s has %u instances, there is no number %d", map->name,
				map->instance_count, instance);
	known = map->instances[instance].info;
	known.size = info->size;
	memcpy(info, &known, info->size < sizeof(known) ? (size_t)info->size : sizeof(known));
	return 0;
}

int gt_map_instance_memory(struct gputrace_map *map, int instance, bool write, void **ret_memory)
{
	int r = gt_map_check(map);

	if (r < 0)
		return r;
	if (map->hidden)
		return gt_error(-EOPNOTSUPP, "map %s: of those that only the operating system's kernel uses, plain arrays alone can be looked into from here",
				map->name);
	if (map->layout.kind == GT_KIND_RING)
		return gt_error(-EOPNOTSUPP, "map %s is a ring buffer: read it through a reader",
				map->name);
	if (instance == GPUTRACE_INSTANCE_INITIAL && map->live)
		instance = (int)map->live_instance;
	if (instance == GPUTRACE_INSTANCE_INITIAL) {
		if (write && map->sealed)
			return gt_error(-EBUSY, "map %s: the operating system's kernel has these constants already; set them before attaching",
					map->name);
		if (!map->initial)
			map->initial = calloc(1, map->layout.bytes);
		if (!map->initial)
			return gt_error(-ENOMEM, "out of memory for map %s", map->name);
		if (write && map->desc.read_only)
			map->object->revision++;
		*ret_memory = map->initial;
		return 0;
	}
	if (instance < 0 || (unsigned)instance >= map->instance_count)
		return gt_error(-ERANGE, "map %s has %u instances, there is no number %d", map->name,
				map->instance_count, instance);
	if (write && !map->instances[instance].writable)
		return gt_error(-EOPNOTSUPP, "map %s: only initial values can be set, a GPU owns the rest",
				map->name);
	*ret_memory = map->instances[instance].memory;
	return 0;
}

int gt_map_check_sizes(const struct gputrace_map *map, size_t key_size, const size_t *value_size)
{
	size_t want = (size_t)map->layout.value_size * map->layout.slots;

	if (key_size != map->layout.key_size)
		return gt_error(-EINVAL, "map %s has keys of %u bytes, not %zu", map->name,
				map->layout.key_size, key_size);
	if (value_size && *value_size != want)
		return gt_error(-EINVAL, "map %s has values of %zu bytes (%u slots), not %zu", map->name,
				want, map->layout.slots, *value_size);
	return 0;
}

int gputrace_map_lookup(struct gputrace_map *map, int instance, const void *key, size_t key_size,
			void *value, size_t value_size)
{
	void *memory;
	int r;

	r = gt_map_instance_memory(map, instance, false, &memory);
	if (r >= 0)
		r = gt_map_check_sizes(map, key_size, &value_size);
	if (r < 0)
		return r;
	r = gt_map_memory_lookup(&map->layout, memory, key, value);
	return r < 0 ? gt_error(r, "map %s has no such key", map->name) : 0;
}

int gputrace_map_update(struct gputrace_map *map, int instance, const void *key, size_t key_size,
			const void *value, size_t value_size, uint64_t flags)
{
	void *memory;
	int r;

	r = gt_map_instance_memory(map, instance, true, &memory);
	if (r >= 0)
		r = gt_map_check_sizes(map, key_size, &value_size);
	if (r < 0)
		return r;
	r = gt_map_memory_update(&map->layout, memory, key, value, flags);
	return r < 0 ? gt_error(r, "map %s: cannot update the element: %s", map->name, strerror(-r)) : 0;
}

int gputrace_map_next_key(struct gputrace_map *map, int instance, const void *key, void *ret_key,
			  size_t key_size)
{
	void *memory;
	int r;

	r = gt_map_instance_memory(map, instance, false, &memory);
	if (r >= 0)
		r = gt_map_check_sizes(map, key_size, NULL);
	if (r < 0)
		return r;
	r = gt_map_memory_next_key(&map->layout, memory, key, ret_key);
	return r < 0 ? gt_error(r, "map %s has no further key", map->name) : 0;
}

int gputrace_map_delete(struct gputrace_map *map, int instance, const void *key, size_t key_size)
{
	void *memory;
	int r;

	r = gt_map_instance_memory(map, instance, true, &memory);
	if (r >= 0)
		r = gt_map_check_sizes(map, key_size, NULL);
	if (r < 0)
		return r;
	r = gt_map_memory_delete(&map->layout, memory, key);
	return r < 0 ? gt_error(r, "map %s: cannot delete the element: %s", map->name, strerror(-r)) : 0;
}
