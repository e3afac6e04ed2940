/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/spread.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/attach/plain.h"
#include "lib/attach/values.h"
#include "lib/util/error.h"

#define COPIES_MAX GT_SM_SLOTS
#define COPIES_MIN 32u		/* fewer do not help much */
#define BYTES_MAX (4u << 20)	/* of all copies of a map; each snapshot has them */

/* 0: it is not worth it. */
static uint32_t copies_of(const struct gputrace_map *map)
{
	uint32_t copies = COPIES_MAX;

	if (map->layout.slot == GT_SLOT_SM)
		return copies * gt_map_copy_bytes(map) > BYTES_MAX ? 0 : copies;
	while (copies >= COPIES_MIN && copies * gt_map_copy_bytes(map) > BYTES_MAX)
		copies /= 2;
	return copies >= COPIES_MIN ? copies : 0;
}

static bool can_have_copies(const struct gputrace_map *map)
{
	return map->layout.slot == GT_SLOT_ONE || (map->layout.slot == GT_SLOT_SM && map->layout.slots == COPIES_MAX);
}

static int decide(struct gputrace_map *map, uint8_t uses)
{
	uint8_t word = map->spread_word == 4 ? GT_USE_ADD4 : GT_USE_ADD8;
	uint8_t more = map->spread ? GT_USE_ANY & ~word : GT_USE_OTHER;

	if (map->added && uses & more)
		return gt_error(-EBUSY, "map %s is kept as one that programs only add to; a program that came later does more: add all programs before the first is attached",
				map->name);
	if (map->added || !gt_is_added_to(map, uses))
		return 0;
	map->added = true;
	if (!map->placed && can_have_copies(map) && uses != (GT_USE_ADD4 | GT_USE_ADD8)) {
		map->spread = copies_of(map);
		map->spread_word = uses == GT_USE_ADD4 ? 4 : 8;
	}
	return 0;
}

static bool adds_later(const struct gputrace_object *object, const uint8_t *uses)
{
	for (unsigned m = 0; m < object->map_count; m++) {
		if (uses[m] & (GT_USE_ADD4 | GT_USE_ADD8) && !object->maps[m]->added)
			return false;
	}
	return true;
}

static int decide_all(const struct gputrace_object *object, const uint8_t *uses)
{
	int r = 0;

	for (unsigned m = 0; !r && m < object->map_count; m++)
		r = decide(object->maps[m], gt_value_uses_of_all(object, uses, m));
	for (unsigned p = 0; !r && p < object->program_count; p++)
		object->programs[p]->adds_later = adds_later(object, uses + p * object->map_count);
	return r;
}

int gt_spread_maps(struct gputrace_object *object)
{
	uint8_t *uses = calloc((size_t)object->program_count * object->map_count + 1, sizeof(*uses));
	int r = uses ? gt_join_additions(object) : gt_error(-ENOMEM, "out of memory for %s", object->name);

	if (!r)
		r = gt_value_uses(object, uses);
	if (!r)
		r = decide_all(object, uses);
	free(uses);
	return r;
}
