/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/map-window.h"

#include <errno.h>
#include <gputrace/object.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/object/map.h"
#include "lib/util/error.h"

static int open_window(const struct gputrace_map *map, struct gt_map_instance *instance)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), skip = (uintptr_t)instance->memory % page;
	size_t bytes = gt_round_up(skip + map->layout.bytes, page);
	void *pages;

	if (instance->fd >= 0) {
		pages = mmap(NULL, bytes, PROT_READ, MAP_SHARED, instance->fd, 0);
	} else {
		/* A length of 0 leaves what is there, and maps it once more. */
		pages = mremap((char *)instance->memory - skip, 0, bytes, MREMAP_MAYMOVE);
		if (pages != MAP_FAILED && mprotect(pages, bytes, PROT_READ)) {
			munmap(pages, bytes);
			pages = MAP_FAILED;
		}
	}
	if (pages == MAP_FAILED)
		return gt_error(-errno, "map %s: its memory cannot be mapped once more: %s", map->name, strerror(errno));
	instance->window = (struct gt_map_window){ .pages = pages, .bytes = bytes, .skip = skip };
	return 0;
}

void *gt_map_window_keep(const struct gt_map_window *window, const void *memory, size_t size)
{
	unsigned char *copy = mmap(NULL, window->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (copy == MAP_FAILED)
		return NULL;
	memcpy(copy + window->skip, memory, size);
	if (mremap(copy, window->bytes, window->bytes, MREMAP_MAYMOVE | MREMAP_FIXED, window->pages) == MAP_FAILED) {
		munmap(copy, window->bytes);
		return NULL;
	}
	return window->pages + window->skip;
}

void gt_map_window_close(struct gt_map_window *window)
{
	if (window->pages)
		munmap(window->pages, window->bytes);
	window->pages = NULL;
}

int gputrace_map_borrow_values(struct gputrace_map *map, int instance, const void **ret_values, size_t *ret_stride)
{
	struct gt_map_instance *viewed;
	void *memory;
	int r;

	r = gt_map_instance_memory(map, instance, false, &memory);
	if (r < 0)
		return r;
	if (map->layout.kind != GT_KIND_ARRAY)
		return gt_error(-EOPNOTSUPP, "map %s is no array: gputrace_map_read_all() copies its elements", map->name);
	if (instance == GPUTRACE_INSTANCE_INITIAL && map->live)
		instance = (int)map->live_instance;
	if (instance != GPUTRACE_INSTANCE_INITIAL && !map->instances[instance].owned) {
		viewed = &map->instances[instance];
		r = viewed->window.pages ? 0 : open_window(map, viewed);
		if (r < 0)
			return r;
		memory = viewed->window.pages + viewed->window.skip;
	}
	*ret_values = memory;
	*ret_stride = map->layout.stride;
	return 0;
}
