/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/spread.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/object/object.h"
#include "lib/util/error.h"
#include "lib/verify/verify.h"

#define COPIES_MAX GT_SM_SLOTS
#define COPIES_MIN 32u		/* fewer do not help much */
#define BYTES_MAX (4u << 20)	/* of all copies of a map; each snapshot has them */

/* What all GPU programs of the object do to values, one flag set for each map. */
static int find_uses(const struct gputrace_object *object, uint8_t *uses)
{
	const struct gt_verify_opts opts = { .loop_budget = 1 };

	for (unsigned i = 0; i < object->program_count; i++) {
		const struct gputrace_program *program = object->programs[i];
		struct gt_verify_result *proof = NULL;
		int r;

		if (program->point == GPUTRACE_POINT_KERNEL)
			continue;
		r = gt_verify(&program->prog, &opts, &proof);
		for (unsigned m = 0; m < object->map_count; m++)
			uses[m] |= r ? GT_USE_OTHER : proof->map_uses[m];
		gt_verify_result_free(proof);
		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

/* 0: it is not worth it. */
static uint32_t copies_of(const struct gputrace_map *map)
{
	uint32_t copies = COPIES_MAX;

	while (copies >= COPIES_MIN && copies * gt_map_copy_bytes(map) > BYTES_MAX)
		copies /= 2;
	return copies >= COPIES_MIN ? copies : 0;
}

static bool can_spread(const struct gputrace_map *map, uint8_t uses)
{
	return !map->layout_error && map->layout.kind == GT_KIND_ARRAY && map->layout.slot == GT_SLOT_ONE &&
	       gt_map_arena(map) == GT_ARENA_DEV && !map->placed && (uses == GT_USE_ADD4 || uses == GT_USE_ADD8);
}

static int spread(const struct gputrace_object *object, const uint8_t *uses)
{
	for (unsigned i = 0; i < object->map_count; i++) {
		struct gputrace_map *map = object->maps[i];
		uint32_t word = uses[i] == GT_USE_ADD4 ? 4 : 8;

		if (map->spread && (uses[i] & GT_USE_OTHER || map->spread_word != word))
			return gt_error(-EBUSY, "map %s has copies on the GPU, since programs only added to its values; a program that came later does more: add all programs before the first is attached",
					map->name);
		if (can_spread(map, uses[i])) {
			map->spread = copies_of(map);
			map->spread_word = word;
		}
	}
	return 0;
}

int gt_spread_maps(struct gputrace_object *object)
{
	uint8_t *uses = calloc(object->map_count + 1, sizeof(*uses));
	int r = uses ? find_uses(object, uses) : gt_error(-ENOMEM, "out of memory for %s", object->name);

	if (!r)
		r = spread(object, uses);
	free(uses);
	return r;
}
