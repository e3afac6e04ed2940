/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/context.h"

#include <gputrace/object.h>

#include "lib/object/gpu-abi.h"

struct field {
	const char *name;
	uint16_t offset, size, count;
	uint8_t memory_only;	/* set at memory points only */
	uint8_t per_lane;
};

#define FIELD(member, n, memory, lane) { #member, offsetof(struct gputrace_gpu_ctx, member), \
		sizeof(((struct gputrace_gpu_ctx *)0)->member) / (n), (n), (memory), (lane) }

static const struct field fields[] = {
	FIELD(launch_id, 1, 0, 0),
	FIELD(kernel_id, 1, 0, 0),
	FIELD(space, 1, 1, 0),
	FIELD(address, 1, 1, 1),
	FIELD(size, 1, 1, 0),
	FIELD(reserved, 1, 0, 0),
	FIELD(thread, 3, 0, 1),
	FIELD(block, 3, 0, 0),
	FIELD(block_dim, 3, 0, 0),
	FIELD(grid_dim, 3, 0, 0),
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static const struct field *field_at(int32_t offset)
{
	for (unsigned i = 0; i < FIELDS; i++)
		if (offset >= fields[i].offset &&
		    offset < fields[i].offset + fields[i].size * fields[i].count)
			return &fields[i];
	return NULL;
}

static bool is_memory_point(int point)
{
	return point == GPUTRACE_POINT_LOAD || point == GPUTRACE_POINT_STORE ||
	       point == GPUTRACE_POINT_ATOMIC;
}

/* Every byte of an access: known, and set at this point. */
static int check_fields(struct gt_verifier *v, struct gt_path *path, int32_t offset, unsigned bytes)
{
	for (int32_t at = offset; at < offset + (int32_t)bytes; at++) {
		const struct field *field = field_at(at);

		if (!field)
			return gt_refuse(v, path->state->insn, "compile with this library's header",
					 "the context has no field at offset %d", at);
		if (field->memory_only && !is_memory_point(v->prog->point))
			return gt_refuse(v, path->state->insn,
					 "use a section cuda/load:, cuda/store: or cuda/atomic:",
					 "the field %s exists at memory points only", field->name);
	}
	return 0;
}

int gt_check_context(struct gt_verifier *v, struct gt_path *path, const struct gt_reg *pointer,
		     int32_t offset, unsigned bytes)
{
	/* A context larger than the header's has fields that only newer libraries know. */
	int64_t size = v->prog->context_size < sizeof(struct gputrace_gpu_ctx) ?
		       v->prog->context_size : sizeof(struct gputrace_gpu_ctx);
	int64_t at;

	if (!gt_scalar_is_const(&pointer->range))
		return gt_refuse(v, path->state->insn, "name the field in each branch, or unroll the loop",
				 "a variable offset into the context");
	if (__builtin_add_overflow((int64_t)pointer->range.bits.value, (int64_t)offset, &at) ||
	    at < 0 || at > size - (int64_t)bytes)
		return gt_refuse(v, path->state->insn, NULL,
				 "%u bytes at offset %lld are outside the context of %lld bytes", bytes,
				 (long long)at, (long long)size);
	if (at % bytes)
		return gt_refuse(v, path->state->insn, "read whole fields",
				 "%u bytes at context offset %lld are not aligned", bytes, (long long)at);
	return check_fields(v, path, (int32_t)at, bytes);
}

bool gt_context_is_per_lane(int32_t offset, unsigned bytes)
{
	for (int32_t at = offset; at < offset + (int32_t)bytes; at++) {
		const struct field *field = field_at(at);

		if (!field || field->per_lane)
			return true;
	}
	return false;
}
