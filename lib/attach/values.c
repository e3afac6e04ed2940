/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/values.h"

#include <errno.h>
#include <string.h>

#include "lib/compile/proof.h"

int gt_value_uses(const struct gputrace_object *object, uint8_t *ret_uses)
{
	for (unsigned i = 0; i < object->program_count; i++, ret_uses += object->map_count) {
		struct gputrace_program *program = object->programs[i];
		const struct gt_verify_result *proof;
		int r;

		memset(ret_uses, 0, object->map_count);
		if (program->point == GPUTRACE_POINT_KERNEL)
			continue;
		r = gt_program_prove(program, &proof);
		if (r == -ENOMEM)
			return r;
		if (r)
			memset(ret_uses, GT_USE_UNKNOWN, object->map_count);
		else
			memcpy(ret_uses, proof->map_uses, object->map_count);
	}
	return 0;
}

bool gt_is_added_to(const struct gputrace_map *map, uint8_t uses)
{
	return !map->layout_error && map->layout.kind == GT_KIND_ARRAY && gt_map_arena(map) == GT_ARENA_DEV && uses &&
	       !(uses & (GT_USE_OTHER | GT_USE_UNKNOWN));
}

uint8_t gt_value_uses_of_all(const struct gputrace_object *object, const uint8_t *uses, unsigned map)
{
	uint8_t all = 0;

	for (unsigned p = 0; p < object->program_count; p++)
		all |= uses[p * object->map_count + map];
	return all;
}
