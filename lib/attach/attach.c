/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/attach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/link.h"
#include "lib/attach/shared.h"
#include "lib/attach/spread.h"
#include "lib/attach/warnings.h"
#include "lib/compile/compile.h"
#include "lib/ctx.h"
#include "lib/object/object.h"
#include "lib/target/target.h"
#include "lib/uprobe/kernel_programs.h"
#include "lib/util/error.h"

/* ---- maps ---- */

static bool in_layout(const struct gt_layout *layout, const struct gputrace_map *map)
{
	for (unsigned i = 0; i < layout->map_count; i++) {
		if (layout->maps[i] == map)
			return true;
	}
	return false;
}

static int place_ring(struct gt_layout *layout, struct gputrace_map *map)
{
	struct gt_map_place place = { 0 };
	int index = gt_layout_add_ring(layout, map, gt_map_bytes(map));

	if (index < 0)
		return gt_error(index, "map %s: a target has room for %d ring buffers", map->name,
				GT_RINGS_MAX - 1);
	place.offset = layout->rings[index].data;
	place.ctl = (uint64_t)index * sizeof(struct gt_ring_ctl);
	place.tail = offsetof(struct gt_host_arena, ring_tail) + (uint64_t)index * sizeof(uint64_t);
	place.source = (uint16_t)index;
	gt_map_set_place(map, &place);
	return 0;
}

static void place_copies(struct gt_layout *layout, const struct gputrace_map *map, struct gt_map_place *place)
{
	place->offset = gt_layout_take_dev(layout, map->spread * gt_map_copy_bytes(map));
	place->sum = gt_layout_take_host(layout, gt_map_bytes(map));
}

static int place_map(struct gt_layout *layout, struct gputrace_map *map)
{
	struct gt_map_place place = { 0 };

	if (in_layout(layout, map))
		return 0;
	if (map->placed)
		return gt_error(-EBUSY, "map %s: its object is attached to another target; open the object once for each target",
				map->name);
	if (gt_map_is_ring(map)) {
		int r = place_ring(layout, map);

		if (r)
			return r;
	} else {
		if (map->shared)
			place.offset = gt_layout_take_pages(layout, gt_map_bytes(map));
		else if (map->spread)
			place_copies(layout, map, &place);
		else if (gt_map_arena(map) == GT_ARENA_DEV)
			place.offset = gt_layout_take_dev(layout, gt_map_bytes(map));
		else
			place.offset = gt_layout_take_host(layout, gt_map_bytes(map));
		gt_map_set_place(map, &place);
	}
	return gt_layout_add_map(layout, map) ? gt_error(-ENOMEM, "out of memory") : 0;
}

/* Every map of the object that GPU code can have; the others are the kernel's. */
static int place_maps(struct gputrace_target *target, struct gputrace_object *object)
{
	int spread = gt_spread_maps(object);

	if (spread)
		return spread;
	for (unsigned i = 0; i < object->map_count; i++) {
		int r;

		if (object->maps[i]->layout_error || object->maps[i]->kernel_only)
			continue;
		r = place_map(&target->layout, object->maps[i]);
		if (r)
			return r;
	}
	return 0;
}

/* ---- GPU programs ---- */

static uint32_t point_of(const struct gputrace_program *program)
{
	static const uint32_t points[] = {
		[GPUTRACE_POINT_ENTRY] = GT_POINT_ENTRY,
		[GPUTRACE_POINT_EXIT] = GT_POINT_EXIT,
		[GPUTRACE_POINT_LOAD] = GT_POINT_LOAD,
		[GPUTRACE_POINT_STORE] = GT_POINT_STORE,
		[GPUTRACE_POINT_ATOMIC] = GT_POINT_ATOMIC,
		[GPUTRACE_POINT_INST] = GT_POINT_INST,
		[GPUTRACE_POINT_BLOCK] = GT_POINT_BLOCK,
	};

	return points[program->point];
}

static uint32_t granularity_of(const struct gputrace_program *program)
{
	switch (program->granularity) {
	case GPUTRACE_PER_WARP:
		return GT_PER_WARP;
	case GPUTRACE_PER_BLOCK:
		return GT_PER_BLOCK;
	default:
		return GT_PER_THREAD;
	}
}

/* A number that is new for each program of a target, to tell its functions apart. */
static unsigned next_number(const struct gputrace_target *target)
{
	unsigned number = 0;

	for (const struct gputrace_link *link = target->links; link; link = link->next)
		number += link->attached_count;
	return number;
}

static int add_gpu_program(struct gputrace_link *link, struct gputrace_program *program)
{
	struct gputrace_image *image;
	struct gt_probe probe = {
		.point = point_of(program),
		.granularity = granularity_of(program),
		.link = link->bit,
		.kernel = program->pattern,
		.opcode = program->opcode,
	};
	const struct gt_link_env env = {
		.ring0_data = link->target->layout.rings[0].data,
		.ring0_size = link->target->layout.rings[0].size,
		/* The process that the program was started as; a child of it is not told apart. */
		.pid_tgid = (uint64_t)link->target->pid << 32 | (uint32_t)link->target->pid,
	};
	char *text = NULL, *function = NULL;
	int r = gputrace_compile_ptx(program, NULL, &image);

	if (r)
		return r;
	r = gt_program_warn(program);
	if (r) {
		gputrace_image_unref(image);
		return r;
	}
	probe.flags = gt_image_wants(image) | (program->adds_later ? GT_PROBE_ADDS_LATER : 0);
	r = gt_image_link(image, next_number(link->target), &env, &text, &function);
	gputrace_image_unref(image);
	if (r)
		return r;
	probe.function = function;
	r = gt_link_add_text(link, text);
	if (!r)
		r = gt_link_add_probe(link, &probe, program);
	free(text);
	free(function);
	return r;
}

int gputrace_attach_program(struct gputrace_target *target, struct gputrace_program *program,
			    struct gputrace_link **ret_link)
{
	struct gputrace_link *link;
	int r = gt_program_check(program);

	if (r)
		return r;
	if (program->point == GPUTRACE_POINT_KERNEL)
		return gt_error(-EOPNOTSUPP, "%s runs in the operating system's kernel: use gputrace_attach_object()",
				program->name);
	r = gt_link_new(target, true, &link);
	if (r)
		return r;
	link->object = gputrace_object_ref(program->object);
	r = place_maps(target, program->object);
	if (!r)
		r = add_gpu_program(link, program);
	if (r)
		return gt_link_give_up(link, r);
	*ret_link = link;
	return 0;
}

/* ---- objects ---- */

static int load_kernel_programs(struct gputrace_link *link, struct gputrace_object *object)
{
	const char **names = calloc(object->program_count, sizeof(*names));
	struct gt_kernel_map *maps = calloc(object->map_count + 1, sizeof(*maps));
	unsigned count = 0, map_count;
	size_t size;
	const void *file = gt_object_file(object, &size);
	int r = names && maps ? 0 : gt_error(-ENOMEM, "out of memory");

	for (unsigned i = 0; !r && i < object->program_count; i++) {
		if (object->programs[i]->point == GPUTRACE_POINT_KERNEL)
			names[count++] = object->programs[i]->name;
	}
	if (!r) {
		map_count = gt_shared_wishes(link->target, object, maps);
		r = gt_kernel_programs_load(file, size, names, count, maps, map_count, &link->programs);
	}
	free(names);
	free(maps);
	return r;
}

/* Shared maps have their contents before any program runs. */
static int attach_kernel_programs(struct gputrace_link *link, struct gputrace_object *object)
{
	const struct gputrace_target *target = link->target;
	const struct gt_program_links_opts opts = {
		.libcuda = target->libcuda,
		.pid = target->pid,
		.translated = target->translated,
		.follow = target->kind == GT_TARGET_WATCHED,
		.notes = &link->notes,
	};
	int r = load_kernel_programs(link, object);

	if (!r)
		r = gt_shared_connect(link->target, object, link->programs);
	return r ? r : gt_kernel_programs_attach(link->programs, &opts);
}

int gputrace_attach_object(struct gputrace_target *target, struct gputrace_object *object,
			   struct gputrace_link **ret_link)
{
	struct gputrace_link *link;
	unsigned on_kernel = 0, on_gpu = 0;
	int r;

	for (unsigned i = 0; i < object->program_count; i++) {
		if (object->programs[i]->point == GPUTRACE_POINT_KERNEL)
			on_kernel++;
		else
			on_gpu++;
	}
	if (!on_kernel && !on_gpu)
		return gt_error(-ENOEXEC, "%s holds no programs", object->name);
	r = gt_link_new(target, on_gpu > 0, &link);
	if (r)
		return r;
	link->object = gputrace_object_ref(object);
	if (on_kernel)
		r = gt_shared_choose(object);
	if (!r && on_gpu)
		r = place_maps(target, object);
	for (unsigned i = 0; !r && i < object->program_count; i++) {
		if (object->programs[i]->point != GPUTRACE_POINT_KERNEL)
			r = add_gpu_program(link, object->programs[i]);
	}
	if (!r && on_kernel)
		r = attach_kernel_programs(link, object);
	if (r)
		return gt_link_give_up(link, r);
	*ret_link = link;
	return 0;
}

/* ---- the timeline ---- */

int gputrace_attach_timeline(struct gputrace_target *target, struct gputrace_link **ret_link)
{
	struct gt_probe entry = {
		.point = GT_POINT_ENTRY, .granularity = GT_PER_BLOCK,
		.function = "__gt_timeline_entry", .kernel = "*",
	};
	struct gt_probe exit_ = {
		.point = GT_POINT_EXIT, .granularity = GT_PER_GROUP,
		.function = "__gt_timeline_exit", .kernel = "*",
	};
	struct gputrace_link *link;
	int r;

	for (link = target->links; link; link = link->next) {
		if (link->timeline && !link->detached)
			return gt_error(-EALREADY, "the timeline of this target is attached already");
	}
	r = gt_link_new(target, true, &link);
	if (r)
		return r;
	link->timeline = true;
	entry.link = exit_.link = link->bit;
	r = gt_link_add_probe(link, &entry, NULL);
	if (!r)
		r = gt_link_add_probe(link, &exit_, NULL);
	if (r)
		return gt_link_give_up(link, r);
	*ret_link = link;
	return 0;
}

int gt_attach_finish(struct gputrace_target *target)
{
	const struct gt_layout *layout = &target->layout;

	for (struct gputrace_link *link = target->links; link; link = link->next) {
		char *text;
		int r;

		if (!link->timeline || link->detached || link->text)
			continue;
		text = gt_timeline_link(layout->shm.slots, layout->rings[0].data, layout->rings[0].size);
		r = text ? gt_link_add_text(link, text) : -ENOMEM;
		free(text);
		if (r)
			return gt_error(r, "out of memory");
	}
	return 0;
}
