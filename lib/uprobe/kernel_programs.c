/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/kernel_programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/map_use.h"
#include "lib/uprobe/permission.h"
#include "lib/util/error.h"

#define GPU_MAP_TYPE_FIRST 1024		/* the kernel's types are far below, the GPU's above */

struct gt_kernel_programs {
	struct bpf_object *object;
	struct gt_program_links *links;		/* NULL: they are not attached */
};

/* ---- what of the object to load ---- */

static bool is_named(const char *name, const char *const *names, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static int choose_programs(struct bpf_object *object, const char *const *names, unsigned count)
{
	struct bpf_program *program;

	for (unsigned i = 0; i < count; i++) {
		if (!bpf_object__find_program_by_name(object, names[i]))
			return gt_error(-ENOENT, "the object holds no program %s", names[i]);
	}
	bpf_object__for_each_program(program, object) {
		bool wanted = is_named(bpf_program__name(program), names, count);

		bpf_program__set_autoload(program, wanted);
		if (wanted && bpf_program__type(program) == BPF_PROG_TYPE_UNSPEC)
			return gt_error(-EOPNOTSUPP, "program %s: this libbpf does not know sections like \"%s\"",
					bpf_program__name(program), bpf_program__section_name(program));
	}
	return 0;
}

/* A map is made when a chosen program or a subprogram, which any may call, refers to it. */
static void need_map(void *data, const char *section, const char *name)
{
	struct bpf_object *object = data;
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	struct bpf_program *program;
	bool needed = !strcmp(section, ".text");

	if (!map || bpf_map__type(map) >= GPU_MAP_TYPE_FIRST)
		return;
	bpf_object__for_each_program(program, object)
		needed |= bpf_program__autoload(program) &&
			  !strcmp(bpf_program__section_name(program), section);
	if (needed)
		bpf_map__set_autocreate(map, true);
}

static int choose_maps(struct bpf_object *object, const void *elf, size_t size)
{
	struct bpf_map *map;

	/* Memory of global variables stays: it is not in .maps and costs little. */
	bpf_object__for_each_map(map, object) {
		if (!bpf_map__is_internal(map))
			bpf_map__set_autocreate(map, false);
	}
	return gt_map_use_walk(elf, size, need_map, object);
}

static int make_array(struct bpf_map *map, uint32_t flags)
{
	int r = bpf_map__set_autocreate(map, true);

	if (r == 0)
		r = bpf_map__set_type(map, BPF_MAP_TYPE_ARRAY);
	if (r == 0)
		r = bpf_map__set_map_flags(map, flags);
	return r == 0 ? bpf_map__set_map_extra(map, 0) : r;
}

static int change_map(struct bpf_object *object, const struct gt_kernel_map *wish)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, wish->name);
	int r = map ? 0 : -ENOENT;

	if (wish->optional && map && bpf_map__pin_path(map))
		return 0;
	if (r == 0 && wish->array)
		r = make_array(map, wish->flags);
	if (r == 0 && wish->initial)
		r = bpf_map__set_initial_value(map, wish->initial, wish->initial_size);
	if (r == 0 && wish->fd >= 0)
		r = bpf_map__reuse_fd(map, wish->fd);
	return r < 0 ? gt_error(r, "map %s cannot be prepared for the kernel: %s", wish->name, strerror(-r)) : 0;
}

/* ---- loading ---- */

static int load_failed(int error, struct gt_bpf_log *log)
{
	/* With the permission to load at all, this is the verifier's word. */
	if (error == -EACCES || error == -EINVAL)
		return gt_error(error, "the kernel does not accept the programs: %s", gt_bpf_log_verdict(log));
	if (error == -ESRCH)
		error = -EOPNOTSUPP;
	return gt_uprobe_error(error, "load the object's programs for the kernel", gt_bpf_log_last(log));
}

static int open_object(struct gt_kernel_programs *programs, const void *elf, size_t size,
		       struct gt_bpf_log *log)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "gputrace");

	programs->object = bpf_object__open_mem(elf, size, &opts);
	if (!programs->object) {
		int r = -errno;

		return gt_error(r, "libbpf cannot open the object: %s", gt_bpf_log_last(log));
	}
	return 0;
}

static int load(struct gt_kernel_programs *programs, const void *elf, size_t size,
		const char *const *names, unsigned count, const struct gt_kernel_map *maps,
		unsigned map_count, struct gt_bpf_log *log)
{
	int r = open_object(programs, elf, size, log);

	if (r == 0)
		r = choose_programs(programs->object, names, count);
	if (r < 0)
		return r;
	r = choose_maps(programs->object, elf, size);
	if (r < 0)
		return gt_error(r, "the object is damaged");
	for (unsigned i = 0; r == 0 && i < map_count; i++)
		r = change_map(programs->object, &maps[i]);
	if (r < 0)
		return r;
	r = bpf_object__load(programs->object);
	return r < 0 ? load_failed(r, log) : 0;
}

static void release(struct gt_kernel_programs *programs)
{
	gt_program_links_close(programs->links);
	bpf_object__close(programs->object);
	free(programs);
}

int gt_kernel_programs_load(const void *elf, size_t size, const char *const *names, unsigned count,
			    const struct gt_kernel_map *maps, unsigned map_count,
			    struct gt_kernel_programs **ret_programs)
{
	struct gt_kernel_programs *programs = calloc(1, sizeof(*programs));
	struct gt_bpf_log log;
	int r;

	if (!programs)
		return gt_error(-ENOMEM, "no memory for kernel programs");
	gt_bpf_log_begin(&log);
	r = load(programs, elf, size, names, count, maps, map_count, &log);
	if (r < 0)
		release(programs);
	gt_bpf_log_end();
	if (r == 0)
		*ret_programs = programs;
	return r;
}

int gt_kernel_programs_attach(struct gt_kernel_programs *programs, const struct gt_program_links_opts *opts)
{
	struct gt_bpf_log log;
	int r;

	gt_bpf_log_begin(&log);
	r = gt_program_links_open(programs->object, opts, &log, &programs->links);
	gt_bpf_log_end();
	return r;
}

void gt_kernel_programs_look(struct gt_kernel_programs *programs)
{
	struct gt_bpf_log log;

	if (!programs->links)
		return;
	gt_bpf_log_begin(&log);
	gt_program_links_look(programs->links, &log);
	gt_bpf_log_end();
}

bool gt_kernel_programs_have_processes(const struct gt_kernel_programs *programs)
{
	return programs->links && gt_program_links_has_processes(programs->links);
}

void gt_kernel_programs_detach(struct gt_kernel_programs *programs)
{
	struct gt_bpf_log log;

	if (!programs)
		return;
	gt_bpf_log_begin(&log);
	release(programs);
	gt_bpf_log_end();
}

int gt_kernel_programs_map_fd(const struct gt_kernel_programs *programs, const char *name)
{
	struct bpf_map *map = bpf_object__find_map_by_name(programs->object, name);
	int fd = map ? bpf_map__fd(map) : -1;

	return fd < 0 ? -ENOENT : fd;
}
