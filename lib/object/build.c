/* SPDX-License-Identifier: Apache-2.0 */
/* Objects made in memory, of maps and instructions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/object.h>

#include "lib/ctx.h"
#include "lib/object/object.h"
#include "lib/object/section-name.h"
#include "lib/util/error.h"

#define INSNS_MAX 1000000u

int gputrace_object_new(struct gputrace_ctx *ctx, const char *name, struct gputrace_object **ret_object)
{
	return gt_object_new(ctx, name, ret_object);
}

int gputrace_object_add_map(struct gputrace_object *object, const char *name,
			    const struct gputrace_map_opts *opts, struct gputrace_map **ret_map)
{
	struct gputrace_map_opts known;
	struct gt_map_desc desc;
	struct gputrace_map *map;
	int r = gt_opts_read(opts, sizeof(known), &known, sizeof(known));

	if (r < 0)
		return r;
	desc = (struct gt_map_desc){
		.name = name,
		.type = known.type,
		.key_size = known.key_size,
		.value_size = known.value_size,
		.max_entries = known.max_entries,
		.flags = known.flags,
	};
	r = gt_object_add_map(object, &desc, known.slots, NULL, 0, &map);
	if (r < 0)
		return r;
	r = gt_map_check(map);
	if (r < 0) {
		gt_object_drop_last_map(object);
		return r;
	}
	*ret_map = map;
	return 0;
}

int gputrace_object_add_program(struct gputrace_object *object, const char *name, const char *section,
				const void *instructions, size_t count,
				struct gputrace_program **ret_program)
{
	struct gt_attach_point point = { .point = GPUTRACE_POINT_ENTRY, .pattern = "*" };
	struct gputrace_program *program;
	struct bpf_insn *copy;
	int r;

	if (!count || count > INSNS_MAX)
		return gt_error(-EINVAL, "program %s has %zu instructions", name, count);
	if (section) {
		r = gt_section_parse(section, &point);
		if (r < 0)
			return r;
		if (point.point == GPUTRACE_POINT_KERNEL)
			return gt_error(-ENOTSUP, "program %s: section %s is not for the GPU", name,
					section);
	}
	copy = malloc(count * sizeof(*copy));
	if (!copy)
		return gt_error(-ENOMEM, "out of memory for program %s", name);
	memcpy(copy, instructions, count * sizeof(*copy));
	r = gt_object_add_program(object, name, section ? section : "", &point, &program);
	if (r < 0) {
		free(copy);
		return r;
	}
	if (!section)
		program->prog.context_size = 0;
	program->prog.insns = copy;
	program->prog.insn_count = (unsigned)count;
	*ret_program = program;
	return 0;
}
