/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations for which lanes of a warp come together: bar.warp.sync, shfl,
 * vote, match, redux, elect.  Each has two halves: `give` puts the lanes'
 * operands on the table, `take` computes the results once all lanes of the
 * member mask are there.  Lanes may stand at different instructions.
 */
#include "ops.h"

static const struct sync_kind *kind_of(const struct op *op)
{
	return op->ext;
}

static const struct op *waiting_op(const struct group *g)
{
	return &g->frame->func->code[g->pc];
}

/* Switch the register view to a waiting group's, and back. */
static void view(struct warp *w, struct frame *frame)
{
	w->base[0] = frame->regs;
	w->base[1] = frame->func->consts;
}

/* Do all live lanes of the mask wait, with the same mask, at the same kind of instruction? */
static int complete(const struct warp *w, uint32_t member, const struct sync_kind *kind)
{
	uint32_t there = 0;
	unsigned i;

	for (i = 0; i < w->group_count; i++) {
		const struct group *g = &w->groups[i];

		if (g->state == GROUP_SYNC && g->mask && g->member == member &&
		    kind_of(waiting_op(g)) == kind)
			there |= g->mask;
	}
	return !(member & w->live & ~there);
}

static void finish(struct warp *w, uint32_t member, const struct sync_kind *kind)
{
	uint32_t there = 0;
	int take;
	unsigned i;

	for (take = 0; take < 2; take++)
		for (i = 0; i < w->group_count; i++) {
			struct group *g = &w->groups[i];
			const struct op *op;

			if (g->state != GROUP_SYNC || !g->mask || g->member != member)
				continue;
			op = waiting_op(g);
			if (kind_of(op) != kind)
				continue;
			view(w, g->frame);
			if (!take) {
				there |= g->mask;
				if (kind->give)
					kind->give(w, op, g->mask);
				continue;
			}
			if (kind->take)
				kind->take(w, op, g->mask, there);
			g->state = GROUP_READY;
			g->pc++;
		}
	view(w, w->frame);
}

void sync_recheck(struct warp *w)
{
	unsigned i;

	for (i = 0; i < w->group_count; i++) {
		struct group *g = &w->groups[i];
		const struct sync_kind *kind;

		if (g->state != GROUP_SYNC || !g->mask)
			continue;
		kind = kind_of(waiting_op(g));
		if (complete(w, g->member, kind))
			finish(w, g->member, kind);
	}
}

/* One member mask: the usual case is that everybody named is in this group. */
static void at_once(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct sync_kind *kind = kind_of(op);

	if (kind->give)
		kind->give(w, op, mask);
	if (kind->take)
		kind->take(w, op, mask, mask);
}

/* op->d: member mask per lane */
int op_sync(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *members = slot(w, op->d);
	uint32_t left = mask, member, same, wait = 0, done = 0, pc = w->pc;
	unsigned lane;

	while (left) {
		lane = __builtin_ctz(left);
		member = members[lane];
		same = 0;
		FOR_LANES(left, i, if (members[i] == member) same |= 1u << i;);
		left &= ~same;
		if (member & w->live & ~same) {
			wait |= same;
		} else {
			at_once(w, op, same);
			done |= same;
		}
	}
	if (!wait)
		return OP_NEXT;
	/* Whoever need not wait goes on behind. */
	if (w->mask & ~wait)
		warp_split(w, w->mask & ~wait, pc + 1);
	while (wait) {
		struct group *g;

		lane = __builtin_ctz(wait);
		member = members[lane];
		same = 0;
		FOR_LANES(wait, i, if (members[i] == member) same |= 1u << i;);
		wait &= ~same;
		if (wait) {
			warp_split(w, same, pc);
			g = &w->groups[w->group_count - 1];
		} else {
			g = &w->groups[w->current];
			g->mask = w->mask = same;
			g->pc = pc;
			g->frame = w->frame;
		}
		g->state = GROUP_SYNC;
		g->member = member;
	}
	sync_recheck(w);
	/* save() must not undo what finish() did to the current group. */
	w->pc = w->groups[w->current].pc;
	return OP_WAIT;
}

/* The forms without .sync take the lanes that happen to be together. */
int op_sync_none(struct warp *w, const struct op *op, uint32_t mask)
{
	at_once(w, op, mask);
	return OP_NEXT;
}
