/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows every path, depth first.  Two things keep that finite: paths that an
 * earlier checkpoint covers end there, and a budget.  A loop is proved by going
 * round it until its condition fails.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/util/insn.h"
#include "lib/verify/node.h"
#include "lib/verify/ranges.h"

#define BUDGET_DEFAULT 1000000u
#define CALLBACK_ROUNDS 100	/* a loop's invariant is found within a few */

/* For tests: add the registers' values to what was seen here. */
static void log_ranges(struct gt_verifier *v, const struct gt_state *state)
{
	struct gt_range_log *log = &v->ranges[state->insn];
	const struct gt_frame *frame = gt_state_frame(state);

	for (unsigned i = 0; i < GT_REGS; i++) {
		if (frame->regs[i].type != GT_REG_SCALAR)
			log->scalar[i] = 2;
		else if (!log->seen || log->scalar[i] == 0)
			log->reg[i] = frame->regs[i].range;
		else
			log->reg[i] = gt_scalar_union(&log->reg[i], &frame->regs[i].range);
		if (frame->regs[i].type == GT_REG_SCALAR && log->scalar[i] == 0)
			log->scalar[i] = 1;
	}
	log->seen = 1;
}

static int check_jump(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];
	unsigned next = path->state->insn + 1;
	unsigned target = (unsigned)gt_insn_target(v->prog->insns, path->state->insn);
	struct gt_state *other = NULL;
	int outcome = 1, r;

	path->jumps++;
	if (!gt_insn_is_goto(insn)) {
		r = gt_check_jump(v, path, &outcome, &other);
		if (r < 0)
			return r;
	}
	if (outcome < 0) {
		other->insn = target;
		r = gt_run_defer(v, run, path, other);
		if (r < 0)
			return r;
	}
	path->state->insn = outcome == 1 ? target : next;
	return 0;
}

/* One instruction; 1 when the path has reached an exit. */
static int check_insn(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	const struct bpf_insn *insn = &v->prog->insns[path->state->insn];
	int r;

	if (gt_insn_is_exit(insn))
		return gt_return(v, path);
	if (gt_insn_is_call(insn))
		return gt_check_call(v, path);
	if (gt_insn_is_jump(insn))
		return check_jump(v, run, path);
	switch (BPF_CLASS(insn->code)) {
	case BPF_LDX:
		r = gt_check_load(v, path);
		break;
	case BPF_ST:
	case BPF_STX:
		r = BPF_MODE(insn->code) == BPF_ATOMIC ? gt_check_atomic(v, path) : gt_check_store(v, path);
		break;
	default:
		r = gt_check_alu(v, path);
		break;
	}
	path->state->insn += gt_insn_length(insn);
	return r;
}

static int too_long(struct gt_verifier *v, const struct gt_path *path)
{
	v->unproved = 1;
	return gt_refuse(v, path->state->insn, "bound loops by a small constant, or use bpf_loop()",
			 "not proved to end after following %llu instructions",
			 (unsigned long long)v->opts.insn_budget);
}

/* A callback's exit: its callers' state joins those of other exits. */
static int collect_exit(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	struct gt_state *state = path->state;

	if (state->frame_count == 1)
		return 0;
	/* What the callers' frames hold here is a result, used or not. */
	gt_need_all_precise(path);
	if (run->root->state->ref_count != state->ref_count)
		return gt_refuse(v, state->insn, "give back in the function what it reserved, and nothing else",
				 "bpf_loop's function changes which ring records are held");
	for (unsigned i = 0; i < state->ref_count; i++)
		if (run->root->state->refs[i].id != state->refs[i].id)
			return gt_refuse(v, state->insn, "give back in the function what it reserved, and nothing else",
					 "bpf_loop's function changes which ring records are held");
	if (run->exits) {
		gt_state_pop(state);
		gt_state_join(run->exits, state, false);
		return 0;
	}
	run->exits = gt_state_copy(state);
	if (!run->exits)
		return -ENOMEM;
	gt_state_pop(run->exits);
	return 0;
}

/* Follow one path to its end. */
static int follow(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	int r;

	for (;;) {
		unsigned at = path->state->insn;

		if (v->flags[at] & GT_INSN_JOIN) {
			r = gt_checkpoint(v, run, path);
			if (r)
				return r < 0 ? r : 0;
		}
		if (v->explored++ >= v->opts.insn_budget)
			return too_long(v, path);
		v->facts[at].reached = 1;
		if (v->ranges)
			log_ranges(v, path->state);
		if (v->opts.log_level >= 2)
			gt_log_state(v, path->state);
		path->steps = gt_add_steps(path->steps, 1);
		r = check_insn(v, run, path);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		r = collect_exit(v, run, path);
		if (r == 0)
			gt_path_end(v, run, path, 0);
		return r;
	}
}

/* Follow a path and all that branch off it; takes the path's state. */
static int explore(struct gt_verifier *v, struct gt_run *run, struct gt_path *path)
{
	int r;

	for (;;) {
		r = follow(v, run, path);
		if (r < 0) {
			gt_state_free(path->state);
			return r;
		}
		if (!run->pending_count)
			return 0;
		*path = run->pending[--run->pending_count];
	}
}

/* One round of a callback from `state`; *ret_exits: NULL when it never comes back. */
static int explore_round(struct gt_verifier *v, const struct gt_state *state, unsigned callback,
			 uint64_t count, const struct gt_reg *context, uint64_t *ret_steps,
			 struct gt_state **ret_exits)
{
	struct gt_state *inner = gt_state_copy(state);
	struct gt_scalar index = gt_scalar_urange(0, count - 1);
	struct gt_frame *frame;
	struct gt_path path;
	struct gt_run run;
	int r;

	if (!inner)
		return -ENOMEM;
	r = gt_state_push(inner, callback, state->insn + 1);
	if (r < 0)
		goto failed;
	frame = gt_state_frame(inner);
	frame->callback = 1;
	frame->regs[1] = gt_reg_scalar(&index);
	frame->regs[2] = *context;
	inner->insn = callback;
	r = gt_run_start(v, &run, inner, &path);
	if (r < 0)
		goto failed;
	r = explore(v, &run, &path);
	if (r == 0) {
		*ret_steps = run.root->longest;
		*ret_exits = run.exits;
		run.exits = NULL;
	}
	gt_run_end(v, &run);
	return r;
failed:
	gt_state_free(inner);
	return r;
}

int gt_explore_callback(struct gt_verifier *v, struct gt_path *path, unsigned callback,
			uint64_t count, const struct gt_reg *context)
{
	uint64_t most = 0;
	int changed = 1;

	if (path->state->frame_count == GT_FRAMES)
		return gt_refuse(v, path->state->insn, "nest fewer calls", "calls are nested deeper than %d",
				 GT_FRAMES);
	/* The loop is looked at as a whole, so everything it starts from counts. */
	gt_need_all_precise(path);
	for (unsigned round = 0; changed; round++) {
		struct gt_state *exits = NULL;
		uint64_t steps = 0;
		int r;

		if (round == CALLBACK_ROUNDS)
			return gt_refuse(v, path->state->insn, "let it change less of its callers' stack",
					 "what bpf_loop's function does to the stack does not settle");
		r = explore_round(v, path->state, callback, count, context, &steps, &exits);
		if (r < 0)
			return r;
		if (steps > most)
			most = steps;
		changed = exits && gt_state_join(path->state, exits, round > 0);
		gt_state_free(exits);
	}
	path->steps = gt_add_steps(path->steps, gt_mul_steps(most, count));
	return 0;
}

int gt_verify_explore(struct gt_verifier *v, uint64_t *ret_max_steps)
{
	struct gt_state *state = gt_state_new();
	struct gt_frame *frame;
	struct gt_path path;
	struct gt_run run;
	int r;

	if (!v->opts.insn_budget)
		v->opts.insn_budget = BUDGET_DEFAULT;
	if (!state)
		return -ENOMEM;
	r = gt_state_push(state, 0, 0);
	if (r == 0) {
		frame = gt_state_frame(state);
		frame->regs[1] = gt_reg_pointer(GT_REG_CONTEXT);
		r = gt_run_start(v, &run, state, &path);
	}
	if (r < 0) {
		gt_state_free(state);
		return r;
	}
	r = explore(v, &run, &path);
	if (r == 0)
		*ret_max_steps = run.root->longest;
	gt_run_end(v, &run);
	return r;
}
