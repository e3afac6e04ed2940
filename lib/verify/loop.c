/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that are not proved to end.  Where the caller offers to stop a program
 * after a number of rounds, it is enough to know that every round is safe: when
 * a path comes back to where it was with no more possibilities than before, the
 * loop is closed there.  What goes on changing is given up bit by bit, until it
 * stands still.
 */
#include <errno.h>

#include "lib/verify/node.h"

#define ROUNDS_BEFORE_WIDENING 8u	/* short loops end by themselves */

static int close_here(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	unsigned at = path->state->insn;

	if (path->state->ref_count)
		return gt_refuse(v, at, "submit or discard the record before the loop",
				 "the loop back to here is not proved to end, and holds the record reserved at insn %u",
				 path->state->refs[0].insn);
	if (!v->facts[at].countdown)
		gt_warn(v, at, "the loop back to here is not proved to end; after %u rounds the program returns",
			v->opts.loop_budget);
	v->facts[at].countdown = 1;
	gt_path_end(v, run, path, 0);
	return 1;
}

int gt_close_loop(struct gt_verifier *v, struct gt_run *run, struct gt_path *path, unsigned *ret_rounds)
{
	struct gt_node *latest = NULL;
	struct gt_state *wide;

	for (struct gt_node *node = v->nodes[path->state->insn]; node; node = node->next) {
		if (node->run != run->id || !node->branches)
			continue;
		if (gt_state_covered(node, path->state))
			return close_here(v, run, path);
		if (!latest)
			latest = node;
	}
	*ret_rounds = latest ? latest->rounds + 1 : 0;
	if (*ret_rounds < ROUNDS_BEFORE_WIDENING || latest->state->ref_count != path->state->ref_count)
		return 0;
	wide = gt_state_copy(latest->state);
	if (!wide)
		return -ENOMEM;
	gt_state_join(wide, path->state, true);
	for (unsigned i = 0; i < wide->ref_count; i++)
		wide->refs[i] = path->state->refs[i];
	gt_state_free(path->state);
	path->state = wide;
	return 0;
}
