/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/node.h"

#include <errno.h>
#include <stdlib.h>

#define MISSES 16u			/* that a checkpoint may have, and again for each hit */
#define LOOKS 64u			/* at checkpoints, before they count as misses in any case */
#define NODE_BYTES_MAX ((size_t)128 << 20)	/* all checkpoints' states */
#define PENDING_MAX 8192u		/* branches of a path not followed yet */
#define STEPS_BETWEEN 8u		/* checkpoints cost more than a few instructions */

static void free_node(struct gt_verifier *v, struct gt_run *run, struct gt_node *node)
{
	if (node->older)
		node->older->newer = node->newer;
	if (node->newer)
		node->newer->older = node->older;
	else
		run->newest = node->older;
	v->node_bytes -= gt_state_bytes(node->state);
	gt_state_free(node->state);
	free(node);
}

static struct gt_node *new_node(struct gt_verifier *v, struct gt_run *run, const struct gt_state *state)
{
	struct gt_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->state = gt_state_copy(state);
	if (!node->state) {
		free(node);
		return NULL;
	}
	v->node_bytes += gt_state_bytes(node->state);
	node->run = run->id;
	if (v->ranges || v->widening)
		node->precise = (struct gt_origin){ { UINT64_MAX, UINT64_MAX } };
	/* What a path that closes a loop needs is not known before the loop's end. */
	for (unsigned f = 0; v->widening && f < GT_FRAMES; f++) {
		node->read_regs[f] = UINT16_MAX;
		node->read_slots[f] = UINT64_MAX;
	}
	node->branches = 1;
	node->older = run->newest;
	if (run->newest)
		run->newest->newer = node;
	run->newest = node;
	return node;
}

static void unlist(struct gt_verifier *v, struct gt_node *node)
{
	struct gt_node **link = &v->nodes[node->state->insn];

	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	node->listed = 0;
}

int gt_run_start(struct gt_verifier *v, struct gt_run *run, struct gt_state *state,
		 struct gt_path *ret_path)
{
	*run = (struct gt_run){ .id = ++v->last_run };
	run->root = new_node(v, run, state);
	if (!run->root)
		return -ENOMEM;
	gt_origin_reset(state);
	*ret_path = (struct gt_path){ .state = state, .parent = run->root };
	return 0;
}

void gt_run_end(struct gt_verifier *v, struct gt_run *run)
{
	for (unsigned i = 0; i < run->pending_count; i++)
		gt_state_free(run->pending[i].state);
	free(run->pending);
	while (run->newest) {
		if (run->newest->listed)
			unlist(v, run->newest);
		free_node(v, run, run->newest);
	}
	gt_state_free(run->exits);
}

int gt_run_defer(struct gt_verifier *v, struct gt_run *run, const struct gt_path *path,
		 struct gt_state *state)
{
	struct gt_path *grown;

	if (run->pending_count == PENDING_MAX) {
		gt_state_free(state);
		v->unproved = 1;
		return gt_refuse(v, path->state->insn, "use bpf_loop() for long loops with branches",
				 "more than %u branches have to be followed on one path", PENDING_MAX);
	}
	if (run->pending_count == run->pending_room) {
		unsigned room = run->pending_room ? run->pending_room * 2 : 16;

		grown = realloc(run->pending, room * sizeof(*grown));
		if (!grown) {
			gt_state_free(state);
			return -ENOMEM;
		}
		run->pending = grown;
		run->pending_room = room;
	}
	path->parent->branches++;
	run->pending[run->pending_count] = *path;
	run->pending[run->pending_count++].state = state;
	return 0;
}

/* A path from `node` ended after `steps`; complete what has no path left. */
static void complete(struct gt_verifier *v, struct gt_run *run, struct gt_node *node, uint64_t steps)
{
	while (node) {
		struct gt_node *parent = node->parent;

		if (node->longest < steps)
			node->longest = steps;
		if (--node->branches)
			return;
		steps = gt_add_steps(node->distance, node->longest);
		node->parent = NULL;
		if (!node->listed && node != run->root)
			free_node(v, run, node);
		node = parent;
	}
}

void gt_path_end(struct gt_verifier *v, struct gt_run *run, struct gt_path *path, uint64_t more)
{
	complete(v, run, path->parent, gt_add_steps(path->steps, more));
	gt_state_free(path->state);
	path->state = NULL;
}

/* The path is covered: what the checkpoint needed, it needs too. */
static void inherit_needs(struct gt_path *path, const struct gt_node *node)
{
	struct gt_origin wanted = gt_origin_sources(path->state, node->precise);

	for (unsigned f = 0; f < path->state->frame_count; f++) {
		for (unsigned i = 0; i < GT_REGS; i++)
			if (node->read_regs[f] >> i & 1)
				gt_read_reg(path, f, i);
		for (unsigned i = 0; i < GT_SLOTS; i++)
			if (node->read_slots[f] >> i & 1)
				gt_read_slot(path, f, i);
	}
	gt_need_precise(path, &wanted);
}

/* Ids that occur, and that occur again; a few bits stand for all ids, which keeps some too many. */
struct id_set {
	uint64_t once[16], again[16];
};

static void count_id(struct id_set *set, const struct gt_reg *reg)
{
	unsigned word = reg->id / 64 % 16;
	uint64_t bit = UINT64_C(1) << reg->id % 64;

	if (reg->type != GT_REG_SCALAR || !reg->id)
		return;
	set->again[word] |= set->once[word] & bit;
	set->once[word] |= bit;
}

static void drop_if_lone(const struct id_set *set, struct gt_reg *reg)
{
	if (reg->type == GT_REG_SCALAR && reg->id && !(set->again[reg->id / 64 % 16] >> reg->id % 64 & 1))
		reg->id = 0;
}

/* A number that occurs once links nothing. */
static void drop_lone_ids(struct gt_state *state)
{
	struct id_set set = { 0 };

	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned f = 0; f < state->frame_count; f++) {
			struct gt_frame *frame = state->frames[f];

			for (unsigned i = 0; i < GT_REGS; i++)
				pass ? drop_if_lone(&set, &frame->regs[i]) : count_id(&set, &frame->regs[i]);
			for (unsigned i = 0; i < frame->slot_count; i++)
				if (gt_slot_is_spill(&frame->slots[i]))
					pass ? drop_if_lone(&set, &frame->slots[i].spill) :
					       count_id(&set, &frame->slots[i].spill);
		}
	}
}

/*
 * A checkpoint that did not help makes room after a while; one that has helped
 * may fail more often.  (In a long loop each round leaves one, and it is the
 * latest that the rounds' branches, followed backwards, will meet.)
 */
static void miss(struct gt_verifier *v, struct gt_run *run, struct gt_node *node)
{
	if (++node->misses <= MISSES * (node->hits + 1))
		return;
	unlist(v, node);
	/* Those of outer explorations, and those with paths yet to end, are freed later. */
	if (!node->branches && node->run == run->id)
		free_node(v, run, node);
}

/* Returns 1 when a complete checkpoint covers the path. */
static int find_cover(struct gt_verifier *v, struct gt_run *run, struct gt_path *path, bool adding)
{
	unsigned at = path->state->insn, looked = 0;
	struct gt_node *node, *next;

	for (node = v->nodes[at]; node; node = next) {
		next = node->next;
		looked++;
		if (node->run != run->id)
			continue;
		/* One of this path's own ancestors: nothing is proved yet, but it must not come back unchanged. */
		if (node->branches) {
			if (!v->widening && gt_state_same(node->state, path->state)) {
				v->unproved = 1;
				return gt_refuse(v, at, "change what the loop's condition tests, or use bpf_loop()",
						 "the loop back to here may run for ever");
			}
		} else if (gt_state_covered(node, path->state)) {
			node->hits++;
			inherit_needs(path, node);
			gt_path_end(v, run, path, node->longest);
			return 1;
		}
		if (adding || looked > LOOKS)
			miss(v, run, node);
	}
	return 0;
}

int gt_checkpoint(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	unsigned rounds = 0;
	bool adding = (path->steps >= STEPS_BETWEEN || path->jumps >= 2) && v->node_bytes < NODE_BYTES_MAX;
	struct gt_node *node;
	int r;

	drop_lone_ids(path->state);
	if (v->widening && (v->flags[path->state->insn] & GT_INSN_BACK) && path->state->frame_count == 1) {
		r = gt_close_loop(v, run, path, &rounds);
		if (r)
			return r;
		adding = true;
	}
	r = find_cover(v, run, path, adding);
	if (r)
		return r;
	if (!adding)
		return 0;
	node = new_node(v, run, path->state);
	if (!node)
		return -ENOMEM;
	node->parent = path->parent;
	node->distance = path->steps;
	node->rounds = rounds;
	node->listed = 1;
	node->next = v->nodes[path->state->insn];
	v->nodes[path->state->insn] = node;
	gt_origin_reset(path->state);
	path->parent = node;
	path->steps = 0;
	path->jumps = 0;
	return 0;
}
