/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/object/object.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gputrace/ctx.h>
#include <gputrace/object.h>

#include "lib/object/gpu-abi.h"
#include "lib/object/section-name.h"
#include "lib/util/error.h"
#include "lib/verify/verify.h"

#define FILE_MAX (256u << 20)

int gt_object_new(struct gputrace_ctx *ctx, const char *name, struct gputrace_object **ret_object)
{
	struct gputrace_object *object = calloc(1, sizeof(*object));

	if (!object)
		return gt_error(-ENOMEM, "out of memory");
	object->refs = 1;
	object->name = strdup(name);
	if (!object->name) {
		free(object);
		return gt_error(-ENOMEM, "out of memory");
	}
	object->ctx = ctx ? gputrace_ctx_ref(ctx) : NULL;
	*ret_object = object;
	return 0;
}

static void free_program(struct gputrace_program *program)
{
	if (!program)
		return;
	free(program->prog.insns);
	free((void *)program->prog.lines);
	free(program->name);
	free(program->section);
	free(program->pattern);
	free(program->opcode);
	free(program->log);
	gt_verify_result_free(program->proof);
	free(program);
}

static void free_object(struct gputrace_object *object)
{
	unsigned i;

	for (i = 0; i < object->program_count; i++)
		free_program(object->programs[i]);
	for (i = 0; i < object->map_count; i++)
		gt_map_free(object->maps[i]);
	free(object->programs);
	free(object->maps);
	free(object->descs);
	btf__free(object->btf);
	free(object->data);
	free(object->name);
	if (object->ctx)
		gputrace_ctx_unref(object->ctx);
	free(object);
}

static struct gputrace_program *new_program(const char *name, const char *section,
					    const struct gt_attach_point *point)
{
	struct gputrace_program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	program->name = strdup(name);
	program->section = strdup(section);
	program->point = point->point;
	program->granularity = point->granularity;
	if (point->pattern)
		program->pattern = strdup(point->pattern);
	if (point->opcode)
		program->opcode = strndup(point->opcode, point->opcode_length);
	if (!program->name || !program->section || (point->pattern && !program->pattern) ||
	    (point->opcode && !program->opcode)) {
		free_program(program);
		return NULL;
	}
	program->prog.name = program->name;
	program->prog.point = program->point;
	program->prog.granularity = program->granularity;
	if (program->point != GPUTRACE_POINT_KERNEL)
		program->prog.context_size = sizeof(struct gputrace_gpu_ctx);
	return program;
}

int gt_object_add_program(struct gputrace_object *object, const char *name, const char *section,
			  const struct gt_attach_point *point, struct gputrace_program **ret_program)
{
	struct gputrace_program *program = new_program(name, section, point);
	struct gputrace_program **more;

	more = program ? realloc(object->programs, (object->program_count + 1) * sizeof(*more)) : NULL;
	if (!more) {
		free_program(program);
		return gt_error(-ENOMEM, "out of memory for program %s", name);
	}
	object->programs = more;
	more[object->program_count++] = program;
	program->object = object;
	program->prog.maps = object->descs;
	program->prog.map_count = object->map_count;
	*ret_program = program;
	return 0;
}

/* The programs' view of the maps moves as maps are added. */
static void share_maps(struct gputrace_object *object)
{
	unsigned i;

	object->revision++;
	for (i = 0; i < object->program_count; i++) {
		object->programs[i]->prog.maps = object->descs;
		object->programs[i]->prog.map_count = object->map_count;
	}
}

int gt_object_add_map(struct gputrace_object *object, const struct gt_map_desc *desc, uint32_t slots,
		      const void *initial, size_t initial_size, struct gputrace_map **ret_map)
{
	const struct gt_map_desc **descs;
	struct gputrace_map **maps, *map;
	int r;

	maps = realloc(object->maps, (object->map_count + 1) * sizeof(*maps));
	if (!maps)
		return gt_error(-ENOMEM, "out of memory for map %s", desc->name);
	object->maps = maps;
	descs = realloc(object->descs, (object->map_count + 1) * sizeof(*descs));
	if (!descs)
		return gt_error(-ENOMEM, "out of memory for map %s", desc->name);
	object->descs = descs;
	r = gt_map_new(object, object->map_count, desc, slots, initial, initial_size, &map);
	if (r < 0)
		return r;
	maps[object->map_count] = map;
	descs[object->map_count++] = &map->desc;
	share_maps(object);
	*ret_map = map;
	return 0;
}

void gt_object_drop_last_map(struct gputrace_object *object)
{
	gt_map_free(object->maps[--object->map_count]);
	share_maps(object);
}

const void *gt_object_file(const struct gputrace_object *object, size_t *ret_size)
{
	*ret_size = object->data_size;
	return object->data;
}

void gt_program_set_log(struct gputrace_program *program, char *log)
{
	free(program->log);
	program->log = log;
}

/* ---- public: opening ---- */

static int read_whole(int fd, const char *path, void **ret_data, size_t *ret_size)
{
	struct stat status;
	size_t size, done = 0;
	ssize_t n;
	char *data;

	if (fstat(fd, &status) < 0)
		return gt_error(-errno, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size > FILE_MAX)
		return gt_error(-ENOEXEC, "%s is not a BPF object file", path);
	size = (size_t)status.st_size;
	data = malloc(size + 1);
	if (!data)
		return gt_error(-ENOMEM, "out of memory for %s", path);
	while (done < size) {
		n = read(fd, data + done, size - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	*ret_data = data;
	*ret_size = done;
	return 0;
}

/* Takes over data. */
static int open_data(struct gputrace_ctx *ctx, void *data, size_t size, const char *name,
		     struct gputrace_object **ret_object)
{
	struct gputrace_object *object;
	int r;

	r = gt_object_new(ctx, name, &object);
	if (r < 0) {
		free(data);
		return r;
	}
	object->data = data;
	object->data_size = size;
	r = gt_object_load_file(object);
	if (r < 0) {
		free_object(object);
		return r;
	}
	*ret_object = object;
	return 0;
}

int gputrace_object_open_file(struct gputrace_ctx *ctx, const char *path,
			      struct gputrace_object **ret_object)
{
	void *data = NULL;
	size_t size = 0;
	int fd, r;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return gt_error(-errno, "cannot open %s: %s", path, strerror(errno));
	r = read_whole(fd, path, &data, &size);
	close(fd);
	if (r < 0)
		return r;
	return open_data(ctx, data, size, path, ret_object);
}

int gputrace_object_open_mem(struct gputrace_ctx *ctx, const void *data, size_t size,
			     const char *name, struct gputrace_object **ret_object)
{
	void *copy;

	if (size > FILE_MAX)
		return gt_error(-ENOEXEC, "%s is too large for a BPF object", name);
	copy = malloc(size + 1);
	if (!copy)
		return gt_error(-ENOMEM, "out of memory for %s", name);
	memcpy(copy, data, size);
	return open_data(ctx, copy, size, name, ret_object);
}

/* ---- public: the rest ---- */

struct gputrace_object *gputrace_object_ref(struct gputrace_object *object)
{
	if (object)
		__atomic_fetch_add(&object->refs, 1, __ATOMIC_RELAXED);
	return object;
}

struct gputrace_object *gputrace_object_unref(struct gputrace_object *object)
{
	if (object && __atomic_fetch_sub(&object->refs, 1, __ATOMIC_ACQ_REL) == 1)
		free_object(object);
	return NULL;
}

struct gputrace_program *gputrace_object_next_program(struct gputrace_object *object,
						      struct gputrace_program *previous)
{
	unsigned i = 0;

	while (previous && i < object->program_count && object->programs[i++] != previous)
		;
	return i < object->program_count ? object->programs[i] : NULL;
}

struct gputrace_map *gputrace_object_next_map(struct gputrace_object *object,
					      struct gputrace_map *previous)
{
	unsigned i = previous ? previous->index + 1 : 0;

	return i < object->map_count ? object->maps[i] : NULL;
}

struct gputrace_program *gputrace_object_find_program(struct gputrace_object *object, const char *name)
{
	unsigned i;

	for (i = 0; i < object->program_count; i++)
		if (!strcmp(object->programs[i]->name, name))
			return object->programs[i];
	return NULL;
}

struct gputrace_map *gputrace_object_find_map(struct gputrace_object *object, const char *name)
{
	unsigned i;

	for (i = 0; i < object->map_count; i++)
		if (!strcmp(object->maps[i]->name, name))
			return object->maps[i];
	return NULL;
}

const char *gputrace_program_get_name(const struct gputrace_program *program)
{
	return program->name;
}

const char *gputrace_program_get_section(const struct gputrace_program *program)
{
	return program->section;
}

int gt_program_check(const struct gputrace_program *program)
{
	return program ? 0 : gt_error(-EINVAL, "NULL in place of a program: gputrace_object_find_program() returns it when there is none of that name");
}

int gputrace_program_get_point(const struct gputrace_program *program)
{
	int r = gt_program_check(program);

	return r ? r : program->point;
}

int gputrace_program_get_granularity(const struct gputrace_program *program)
{
	int r = gt_program_check(program);

	return r ? r : program->granularity;
}

const char *gputrace_program_get_pattern(const struct gputrace_program *program)
{
	return program->pattern;
}

const char *gputrace_program_get_opcode(const struct gputrace_program *program)
{
	return program->opcode;
}

/* Instances of several maps that one owner keeps up to date share (refresh, data). */
static bool refreshed_before(const struct gputrace_object *object, unsigned map, unsigned instance)
{
	const struct gt_map_instance *this = &object->maps[map]->instances[instance];
	unsigned m, i;

	for (m = 0; m <= map; m++) {
		for (i = 0; i < object->maps[m]->instance_count; i++) {
			const struct gt_map_instance *other = &object->maps[m]->instances[i];

			if (other == this)
				return false;
			if (other->refresh == this->refresh && other->data == this->data)
				return true;
		}
	}
	return false;
}

int gputrace_object_refresh_maps(struct gputrace_object *object, int timeout_ms)
{
	int r, result = 0;
	unsigned m, i;

	for (m = 0; m < object->map_count; m++) {
		for (i = 0; i < object->maps[m]->instance_count; i++) {
			const struct gt_map_instance *instance = &object->maps[m]->instances[i];

			if (!instance->refresh || refreshed_before(object, m, i))
				continue;
			r = instance->refresh(instance->data, timeout_ms);
			if (r < 0)
				result = r;
		}
	}
	return result;
}
