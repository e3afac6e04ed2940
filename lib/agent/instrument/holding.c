/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/instrument/holding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/loops.h"
#include "lib/agent/instrument/reach.h"

struct search {
	const struct gt_ptx *ptx;
	const struct ptx_function *kernel;
	const struct gt_probe *probes;
	struct ptx_inlines *inlines;
	const unsigned *which;
	unsigned count;
	struct ptx_holding *holding;
};

/* One that has registers by now and adds to the same; itself: there is none. */
static unsigned find_owner(const struct search *search, unsigned index)
{
	const struct ptx_inline *of = search->inlines->of;
	unsigned i;

	for (i = 0; i < search->count && search->which[i] != index; i++)
		if (search->holding->probes[search->which[i]] == PTX_HOLDS &&
		    of[search->which[i]].sums.alike == of[index].sums.alike)
			return search->which[i];
	return index;
}

/* Those whose additions can wait, as many as there are registers for. */
static void choose(const struct search *search)
{
	uint32_t room = PTX_SUMS_KERNEL_MAX;
	struct ptx_inline *in;
	unsigned i, index;

	for (i = 0; i < search->count; i++) {
		index = search->which[i];
		in = &search->inlines->of[index];
		if (in->called || !in->sums.count)
			continue;
		in->sums.owner = find_owner(search, index);
		if (in->sums.owner != index) {
			search->holding->probes[index] = PTX_HOLDS_WITH;
		} else if (in->sums.count <= room) {
			room -= in->sums.count;
			search->holding->probes[index] = PTX_HOLDS;
		}
		search->holding->any |= search->holding->probes[index];
	}
}

static int is_place(const struct search *search, const struct gt_probe *probe, const struct ptx_statement *statement)
{
	if (probe->point == GT_POINT_BLOCK)
		return statement->flags & PTX_LEADER;
	return gt_probe_fits(search->ptx, probe, statement);
}

/* How many places there are, each marked by statement. */
static uint32_t mark_places(const struct search *search, uint8_t *places)
{
	const struct ptx_statement *statement;
	uint32_t s, count = 0;
	unsigned i, index;

	for (s = 0; s < search->kernel->statement_count; s++) {
		statement = &search->ptx->statements[search->kernel->statement + s];
		for (i = 0; i < search->count && statement->kind == PTX_INSTRUCTION; i++) {
			index = search->which[i];
			if (search->holding->probes[index] && is_place(search, &search->probes[index], statement))
				count += places[s] = 1;
		}
	}
	return count;
}

int gt_holding_begin(struct ptx_holding *holding, const struct gt_ptx *ptx, const struct ptx_function *kernel,
		     const struct gt_probe *probes, struct ptx_inlines *inlines, const unsigned *which, unsigned count)
{
	const struct search search = { ptx, kernel, probes, inlines, which, count, holding };
	uint8_t *marks;
	uint32_t places;
	int r = -ENOMEM;

	choose(&search);
	if (!holding->any)
		return 0;
	marks = calloc(kernel->statement_count + (size_t)1, 1);
	holding->heads = calloc(kernel->statement_count + (size_t)1, 1);
	if (marks && holding->heads) {
		places = mark_places(&search, marks);
		r = gt_loops_find(ptx, kernel, marks, holding->heads);
		if (!places || places > PTX_SUM_PLACES_MAX)
			gt_holding_end(holding, inlines->count);
	}
	free(marks);
	return r < 0 ? r : 0;
}

void gt_holding_end(struct ptx_holding *holding, unsigned probe_count)
{
	memset(holding->probes, 0, probe_count);
	free(holding->heads);
	holding->heads = NULL;
	holding->any = 0;
}
