/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/attach/warnings.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/additions.h"
#include "lib/compile/proof.h"
#include "lib/ctx.h"
#include "lib/object/object.h"
#include "lib/util/error.h"
#include "lib/verify/log.h"

/* Whether threads that run the program at the same time may mean the same place in the map. */
static bool is_common(const struct gputrace_map *map, int granularity)
{
	switch (map->layout.slot) {
	case GT_SLOT_THREAD:
		return false;
	case GT_SLOT_WARP:
		return granularity == GPUTRACE_PER_THREAD;
	case GT_SLOT_BLOCK:
		return granularity != GPUTRACE_PER_BLOCK;
	default:
		return true;
	}
}

static void write_lost(FILE *out, const struct gputrace_program *program, const struct gt_additions *additions)
{
	char where[GT_DESCRIPTION_SIZE];

	for (unsigned i = 0; i < additions->count; i++) {
		const struct gt_addition *addition = &additions->list[i];
		const struct gputrace_map *map = program->object->maps[addition->map];

		if (!is_common(map, program->granularity))
			continue;
		gt_describe_insn(&program->prog, addition->store, where, sizeof(where));
		fprintf(out, GT_LOG_WARNS "%s: threads that add to map %s here at the same time lose what others add; use __sync_fetch_and_add()\n",
			where, map->name);
	}
}

static int add_lost(struct gputrace_program *program)
{
	const struct gt_verify_result *proof;
	struct gt_additions additions = { 0 };
	char *log = NULL;
	size_t size;
	FILE *out;
	int r;

	r = gt_program_prove(program, &proof);
	if (!r)
		r = gt_additions_find(&program->prog, proof, &additions);
	out = r ? NULL : open_memstream(&log, &size);
	if (out) {
		fputs(gputrace_program_get_log(program), out);
		write_lost(out, program, &additions);
	}
	free(additions.list);
	if (!r && (!out || fclose(out)))
		r = gt_error(-ENOMEM, "out of memory for program %s", program->name);
	if (r)
		free(log);
	else
		gt_program_set_log(program, log);
	return r;
}

int gt_program_warn(struct gputrace_program *program)
{
	int r = add_lost(program);

	if (r)
		return r;
	for (const char *line = gputrace_program_get_log(program), *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (!strncmp(line, GT_LOG_WARNS, strlen(GT_LOG_WARNS)))
			gt_log(program->object->ctx, GPUTRACE_LOG_WARNING, "program %s: %.*s", program->name,
			       (int)(end - line) - (int)strlen(GT_LOG_WARNS), line + strlen(GT_LOG_WARNS));
	}
	return 0;
}
