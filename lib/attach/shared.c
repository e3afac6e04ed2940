/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/shared.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/attach/uses.h"
#include "lib/object/gpu-abi.h"
#include "lib/object/object.h"
#include "lib/target/target.h"
#include "lib/uprobe/kernel_programs.h"
#include "lib/util/error.h"

#define PAGE 4096u

/* ---- which ---- */

static int choose(struct gputrace_map *map, uint8_t uses)
{
	map->in_kernel = uses & GT_USED_IN_KERNEL;
	map->kernel_only = uses == GT_USED_IN_KERNEL && !map->desc.read_only;
	map->hidden = map->kernel_only && (map->desc.type != BPF_MAP_TYPE_ARRAY || map->layout_error);
	if (map->kernel_only && map->placed)
		return gt_error(-EBUSY, "map %s has a place on the GPU, where nothing uses it: attach its object before single programs of it",
				map->name);
	/* Constants are equal in two copies. */
	if (uses != (GT_USED_IN_KERNEL | GT_USED_ON_GPU) || map->desc.read_only)
		return 0;
	if (map->desc.type != BPF_MAP_TYPE_ARRAY)
		return gt_error(-EOPNOTSUPP, "map %s is used both by programs in the operating system's kernel and by programs on the GPU, "
				"which its type %u does not allow: share a BPF_MAP_TYPE_ARRAY, or give each side a map of its own",
				map->name, map->desc.type);
	if (map->placed && !map->shared)
		return gt_error(-EBUSY, "map %s serves the GPU alone already: attach its object before single programs of it",
				map->name);
	gt_map_share(map);
	return 0;
}

int gt_shared_choose(struct gputrace_object *object)
{
	uint8_t *uses = calloc(object->map_count + 1, sizeof(*uses));
	int r;

	if (!uses)
		return gt_error(-ENOMEM, "out of memory");
	r = gt_map_uses(object, uses);
	for (unsigned i = 0; !r && i < object->map_count; i++)
		r = choose(object->maps[i], uses[i]);
	free(uses);
	return r;
}

/* ---- in the kernel ---- */

/* An array whose pages we have, too. */
static bool is_visible(const struct gputrace_map *map)
{
	return map->shared || (map->kernel_only && !map->hidden);
}

static int find_fd(const struct gt_shared_map *maps, unsigned count, const struct gputrace_map *map)
{
	for (unsigned i = 0; i < count; i++) {
		if (maps[i].map == map)
			return maps[i].fd;
	}
	return -1;
}

/* -1: it has none with this target. */
static int fd_of(const struct gputrace_target *target, const struct gputrace_map *map)
{
	return map->kernel_only ? find_fd(target->kernels_own, target->kernels_own_count, map) :
				  find_fd(target->shared, target->shared_count, map);
}

unsigned gt_shared_wishes(const struct gputrace_target *target, const struct gputrace_object *object,
			  struct gt_kernel_map *wishes)
{
	unsigned count = 0;

	for (unsigned i = 0; i < object->map_count; i++) {
		const struct gputrace_map *map = object->maps[i];
		struct gt_kernel_map wish = { .name = map->name, .fd = -1 };

		if (is_visible(map)) {
			wish.array = true;
			wish.optional = map->kernel_only;
			wish.flags = (map->desc.flags & ~GPUTRACE_MAP_HOST) | BPF_F_MMAPABLE;
			wish.fd = fd_of(target, map);
		} else if (map->in_kernel && map->desc.read_only && map->initial) {
			wish.initial = map->initial;
			wish.initial_size = map->desc.value_size;
		} else {
			continue;
		}
		wishes[count++] = wish;
	}
	return count;
}

/* The kernel pads elements to 8 bytes and the whole to pages.  Is that what the GPU's code goes by? */
static int check_array(const struct gputrace_map *map, int fd)
{
	const struct gt_map_layout *l = &map->layout;
	struct bpf_map_info info = { 0 };
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		return gt_error(-errno, "map %s: the kernel does not describe it: %s", map->name, strerror(errno));
	if (info.type != BPF_MAP_TYPE_ARRAY || !(info.map_flags & BPF_F_MMAPABLE) ||
	    info.value_size != l->value_size || info.max_entries != l->max_entries ||
	    l->slots != 1 || l->stride != gt_round_up(info.value_size, 8))
		return gt_error(-EOPNOTSUPP, "map %s: the kernel lays it out in another way than the GPU does", map->name);
	return 0;
}

static int map_array(struct gputrace_map *map, int fd, struct gt_shared_map *ret_shared)
{
	struct gt_shared_map shared = { .map = map, .bytes = gt_round_up(gt_map_bytes(map), PAGE) };
	int r;

	shared.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (shared.fd < 0)
		return gt_error(-errno, "map %s: %s", map->name, strerror(errno));
	shared.memory = mmap(NULL, shared.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared.fd, 0);
	if (shared.memory == MAP_FAILED) {
		r = -errno;
		close(shared.fd);
		return gt_error(r, "map %s cannot be mapped: %s", map->name, strerror(-r));
	}
	*ret_shared = shared;
	return 0;
}

/* In order of their places, which need not be that of attaching: an attempt may have failed before. */
static void keep(struct gputrace_target *target, const struct gt_shared_map *shared)
{
	unsigned i;

	if (shared->map->kernel_only) {
		target->kernels_own[target->kernels_own_count++] = *shared;
		return;
	}
	i = target->shared_count++;
	for (; i && target->shared[i - 1].map->place.offset > shared->map->place.offset; i--)
		target->shared[i] = target->shared[i - 1];
	target->shared[i] = *shared;
}

static int connect_map(struct gputrace_target *target, struct gputrace_map *map, int fd)
{
	struct gt_shared_map shared;
	int r;

	if (fd < 0)
		return gt_error(fd, "map %s is not in the kernel", map->name);
	if ((map->kernel_only ? target->kernels_own_count : target->shared_count) == GT_SHARED_MAX)
		return gt_error(-ENOSPC, "map %s: a target has room for %d maps shared with the operating system's kernel",
				map->name, GT_SHARED_MAX);
	r = check_array(map, fd);
	if (!r)
		r = map_array(map, fd, &shared);
	if (r)
		return r;
	gt_map_write_initial(map, shared.memory);
	r = gt_map_go_live(map, shared.memory, shared.fd);
	if (r) {
		munmap(shared.memory, shared.bytes);
		close(shared.fd);
		return r;
	}
	keep(target, &shared);
	return 0;
}

int gt_shared_connect(struct gputrace_target *target, struct gputrace_object *object,
		      const struct gt_kernel_programs *programs)
{
	int r = 0;

	for (unsigned i = 0; !r && i < object->map_count; i++) {
		struct gputrace_map *map = object->maps[i];

		if (is_visible(map) && map->live && fd_of(target, map) < 0)
			r = gt_error(-EBUSY, "map %s: its object is attached to another target; open the object once for each target",
				     map->name);
		else if (is_visible(map) && !map->live)
			r = connect_map(target, map, gt_kernel_programs_map_fd(programs, map->name));
		/* Its programs do without us: it may hold locks, or be another's, who has pinned it. */
		if (r && map->kernel_only && !map->live) {
			map->hidden = true;
			r = 0;
		}
		map->sealed = map->in_kernel && map->desc.read_only;
	}
	return r;
}

static void close_maps(struct gt_shared_map *maps, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		struct gt_shared_map *shared = &maps[i];

		/* Without room for a copy the pages themselves must stay. */
		if (!gt_map_keep_instance(shared->map, shared->map->live_instance))
			munmap(shared->memory, shared->bytes);
		close(shared->fd);
	}
}

void gt_shared_close(struct gputrace_target *target)
{
	close_maps(target->shared, target->shared_count);
	close_maps(target->kernels_own, target->kernels_own_count);
	target->shared_count = target->kernels_own_count = 0;
}
