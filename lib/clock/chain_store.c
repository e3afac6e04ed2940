/* SPDX-License-Identifier: Apache-2.0 */
/* A chain's memory: bounded, recent nodes kept, old ones thinned. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock/chain.h"
#include "lib/clock/slope.h"

/* gt_chain_add() may add this many nodes at once. */
#define ADDED_AT_ONCE 2
#define FIRST_ROOM 256

/*
 * Leave out nodes of the older half, so that at most half of them remain, evenly
 * spread over their time: a node stays where otherwise there would be a gap
 * larger than a quarter of them, spread evenly, would have.  (Every second one
 * each time would make the oldest part ever sparser, and bounds grow with gaps.)
 * The segments on either side of a node left out become one, whose slope lies
 * somewhere in what both allowed; what the node knew its neighbours know
 * already.  So bounds only widen.
 */
static void thin(struct gt_chain *chain)
{
	struct gt_chain_node *nodes = chain->nodes, *next;
	size_t half = chain->n / 2, kept = 1;
	int64_t gap = (nodes[half].x - nodes[0].x) / gt_max64((int64_t)half / 4, 1);

	for (size_t i = 1; i < half; i++) {
		next = &nodes[i + 1];
		if (!nodes[i].first && !next->first && next->x - nodes[kept - 1].x <= gap) {
			next->a = gt_min64(next->a, nodes[i].a);
			next->b = gt_max64(next->b, nodes[i].b);
			next->broken |= nodes[i].broken;
			continue;
		}
		nodes[kept++] = nodes[i];
	}
	memmove(&nodes[kept], &nodes[half], (chain->n - half) * sizeof(*nodes));
	chain->n = kept + chain->n - half;
}

static void drop_oldest(struct gt_chain *chain, size_t count)
{
	chain->n -= count;
	memmove(chain->nodes, chain->nodes + count, chain->n * sizeof(*chain->nodes));
	chain->nodes[0].first = true;
}

void gt_chain_find_epoch(struct gt_chain *chain)
{
	size_t i = chain->n ? chain->n - 1 : 0;

	while (i > 0 && !chain->nodes[i].first)
		i--;
	chain->epoch = i;
}

int gt_chain_make_room(struct gt_chain *chain)
{
	struct gt_chain_node *nodes;
	size_t room;

	if (chain->n + ADDED_AT_ONCE <= chain->room)
		return 0;
	if (chain->room < chain->opts.max_nodes) {
		room = chain->room ? chain->room * 2 : FIRST_ROOM;
		if (room > chain->opts.max_nodes)
			room = chain->opts.max_nodes;
		nodes = realloc(chain->nodes, room * sizeof(*nodes));
		if (!nodes)
			return -ENOMEM;
		chain->nodes = nodes;
		chain->room = room;
		return 0;
	}
	thin(chain);
	/* A clock that jumps all the time has nothing but first nodes. */
	if (chain->n > chain->room - chain->room / 8)
		drop_oldest(chain, chain->n / 4);
	gt_chain_find_epoch(chain);
	return 0;
}
