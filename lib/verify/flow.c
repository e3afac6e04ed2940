/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Immediate postdominators, found the iterative way (Cooper, Harvey, Kennedy) on
 * the reversed graph.  All functions are done at once: they share the end node
 * and nothing else.
 */
#include "lib/verify/flow.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/util/insn.h"

unsigned gt_flow_next(const struct gt_verifier *v, unsigned at, unsigned next[2])
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	unsigned count = 0, follows = at + gt_insn_length(insn);

	if (gt_insn_is_exit(insn))
		return 0;
	if (gt_insn_falls_through(insn) && v->facts[follows].reached)
		next[count++] = follows;
	if (gt_insn_is_jump(insn)) {
		unsigned target = (unsigned)gt_insn_target(v->prog->insns, at);

		if (v->facts[target].reached && !(count && next[0] == target))
			next[count++] = target;
	}
	return count;
}

/* The graph turned round: who leads to an instruction. */
struct reversed {
	uint32_t *first;	/* of each node's list in `from`; count + 2 entries */
	uint32_t *from;
	uint32_t *order;	/* nodes, the end first, before all that lead to it */
	uint32_t *rank;		/* place in `order`; GT_FLOW_NONE: does not lead to the end */
	unsigned ordered;
};

static void free_reversed(struct reversed *g)
{
	free(g->first);
	free(g->from);
	free(g->order);
	free(g->rank);
}

static void count_edges(const struct gt_verifier *v, struct reversed *g)
{
	unsigned end = v->prog->insn_count, next[2];

	for (unsigned at = 0; at < end; at++) {
		if (!v->facts[at].reached)
			continue;
		if (gt_insn_is_exit(&v->prog->insns[at]))
			g->first[end + 1]++;
		for (unsigned i = gt_flow_next(v, at, next); i > 0; i--)
			g->first[next[i - 1] + 1]++;
	}
	for (unsigned node = 0; node <= end; node++)
		g->first[node + 1] += g->first[node];
}

static void fill_edges(const struct gt_verifier *v, struct reversed *g, uint32_t *used)
{
	unsigned end = v->prog->insn_count, next[2];

	for (unsigned at = 0; at < end; at++) {
		if (!v->facts[at].reached)
			continue;
		if (gt_insn_is_exit(&v->prog->insns[at]))
			g->from[g->first[end] + used[end]++] = at;
		for (unsigned i = gt_flow_next(v, at, next); i > 0; i--) {
			unsigned to = next[i - 1];

			g->from[g->first[to] + used[to]++] = at;
		}
	}
}

/* Depth first from the end; postorder, then turned round. */
static void order_nodes(const struct gt_verifier *v, struct reversed *g, uint32_t *stack, uint32_t *cursor)
{
	unsigned end = v->prog->insn_count, depth = 0, done = 0;

	for (unsigned node = 0; node <= end; node++)
		g->rank[node] = GT_FLOW_NONE;
	stack[depth++] = end;
	g->rank[end] = 0;
	while (depth) {
		unsigned node = stack[depth - 1];

		if (cursor[node] < g->first[node + 1] - g->first[node]) {
			unsigned to = g->from[g->first[node] + cursor[node]++];

			if (g->rank[to] == GT_FLOW_NONE) {
				g->rank[to] = 0;
				stack[depth++] = to;
			}
			continue;
		}
		g->order[done++] = node;
		depth--;
	}
	g->ordered = done;
	for (unsigned i = 0; i < done / 2; i++) {
		uint32_t swap = g->order[i];

		g->order[i] = g->order[done - 1 - i];
		g->order[done - 1 - i] = swap;
	}
	for (unsigned i = 0; i < done; i++)
		g->rank[g->order[i]] = i;
}

static int reverse(const struct gt_verifier *v, struct reversed *g)
{
	size_t nodes = (size_t)v->prog->insn_count + 2;
	uint32_t *used = calloc(nodes, sizeof(*used)), *stack = calloc(nodes, sizeof(*stack));
	int r = -ENOMEM;

	g->first = calloc(nodes, sizeof(*g->first));
	g->from = calloc(2 * nodes, sizeof(*g->from));
	g->order = calloc(nodes, sizeof(*g->order));
	g->rank = calloc(nodes, sizeof(*g->rank));
	if (used && stack && g->first && g->from && g->order && g->rank) {
		count_edges(v, g);
		fill_edges(v, g, used);
		for (size_t i = 0; i < nodes; i++)
			used[i] = 0;
		order_nodes(v, g, stack, used);
		r = 0;
	}
	free(used);
	free(stack);
	return r;
}

static uint32_t meeting(const struct reversed *g, const uint32_t *meet, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (g->rank[a] > g->rank[b])
			a = meet[a];
		while (g->rank[b] > g->rank[a])
			b = meet[b];
	}
	return a;
}

static uint32_t meet_of(const struct gt_verifier *v, const struct reversed *g, const uint32_t *meet,
			unsigned at)
{
	uint32_t found = gt_insn_is_exit(&v->prog->insns[at]) ? v->prog->insn_count : GT_FLOW_NONE;
	unsigned next[2], count = gt_flow_next(v, at, next);

	for (unsigned i = 0; i < count; i++) {
		if (g->rank[next[i]] == GT_FLOW_NONE || meet[next[i]] == GT_FLOW_NONE)
			continue;
		found = found == GT_FLOW_NONE ? next[i] : meeting(g, meet, found, next[i]);
	}
	return found;
}

int gt_flow_meet(const struct gt_verifier *v, uint32_t *meet)
{
	unsigned end = v->prog->insn_count;
	struct reversed g = { 0 };
	uint32_t *all = calloc((size_t)end + 1, sizeof(*all));
	bool changed = true;

	if (!all || reverse(v, &g) < 0) {
		free(all);
		free_reversed(&g);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < end; i++)
		all[i] = GT_FLOW_NONE;
	all[end] = end;
	while (changed) {
		changed = false;
		for (unsigned i = 1; i < g.ordered; i++) {
			uint32_t found = meet_of(v, &g, all, g.order[i]);

			changed |= all[g.order[i]] != found;
			all[g.order[i]] = found;
		}
	}
	for (unsigned i = 0; i < end; i++)
		meet[i] = all[i];
	free(all);
	free_reversed(&g);
	return 0;
}
