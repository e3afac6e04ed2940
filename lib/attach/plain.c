/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/plain.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/attach/additions.h"
#include "lib/attach/values.h"
#include "lib/compile/proof.h"
#include "lib/util/error.h"

struct joining {
	struct gputrace_object *object;
	struct gt_additions *additions;	/* of each program */
	uint8_t *uses;
	bool *chosen;			/* by map: its additions are joined, or to be undone */
};

static int find_all(struct joining *joining)
{
	const struct gt_verify_result *proof;
	int r = 0;

	for (unsigned p = 0; !r && p < joining->object->program_count; p++) {
		struct gputrace_program *program = joining->object->programs[p];

		if (program->point == GPUTRACE_POINT_KERNEL)
			continue;
		r = gt_program_prove(program, &proof);
		if (r && r != -ENOMEM)
			r = 0;	/* it is refused when it is attached */
		else if (!r)
			r = gt_additions_find(&program->prog, proof, &joining->additions[p]);
	}
	return r;
}

/* Maps that could gain by it; those that are read as well were found before. */
static void choose(struct joining *joining)
{
	for (unsigned m = 0; m < joining->object->map_count; m++) {
		const struct gputrace_map *map = joining->object->maps[m];

		joining->chosen[m] = gt_is_added_to(map, GT_USE_ADD8) && !map->read_too;
	}
}

static bool put(struct joining *joining, bool joined)
{
	bool any = false;

	for (unsigned p = 0; p < joining->object->program_count; p++) {
		struct gputrace_program *program = joining->object->programs[p];

		if (!gt_additions_put(&program->prog, &joining->additions[p], joining->chosen, joined))
			continue;
		gt_program_unprove(program);
		any = true;
	}
	return any;
}

/* Chosen is then what was chosen in vain. */
static void choose_again(struct joining *joining)
{
	for (unsigned m = 0; m < joining->object->map_count; m++) {
		struct gputrace_map *map = joining->object->maps[m];
		uint8_t uses = gt_value_uses_of_all(joining->object, joining->uses, m);

		map->read_too |= uses & GT_USE_OTHER;
		joining->chosen[m] = joining->chosen[m] && !gt_is_added_to(map, uses);
	}
}

static int join(struct joining *joining)
{
	int r = find_all(joining);

	if (r)
		return r;
	choose(joining);
	if (!put(joining, true))
		return 0;
	r = gt_value_uses(joining->object, joining->uses);
	if (!r)
		choose_again(joining);
	/* Without memory to look at what came of it, all of it is undone. */
	put(joining, false);
	return r;
}

int gt_join_additions(struct gputrace_object *object)
{
	struct joining joining = {
		.object = object,
		.additions = calloc(object->program_count + 1, sizeof(*joining.additions)),
		.uses = calloc((size_t)object->program_count * object->map_count + 1, sizeof(*joining.uses)),
		.chosen = calloc(object->map_count + 1, sizeof(*joining.chosen)),
	};
	int r = -ENOMEM;

	if (joining.additions && joining.uses && joining.chosen)
		r = join(&joining);
	for (unsigned p = 0; joining.additions && p < object->program_count; p++)
		free(joining.additions[p].list);
	free(joining.additions);
	free(joining.uses);
	free(joining.chosen);
	return r == -ENOMEM ? gt_error(r, "out of memory for %s", object->name) : r;
}
