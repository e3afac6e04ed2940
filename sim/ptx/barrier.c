/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers of a block.  A warp arrives when all its lanes that still live have;
 * it then counts as 32 threads, which is how the hardware counts.
 */
#include <string.h>

#include "ops.h"

static uint32_t threads_alive(const struct block *block)
{
	uint32_t warps = 0;
	unsigned i;

	for (i = 0; i < block->warp_count; i++)
		warps += block->warps[i].live != 0;
	return warps * LANES;
}

static void reset(struct barrier *bar)
{
	bar->last_popc = bar->popc;
	bar->last_all = bar->all;
	bar->last_any = bar->any;
	bar->arrived = 0;
	bar->expected = 0;
	bar->popc = 0;
	bar->all = 1;
	bar->any = 0;
	bar->generation++;
}

/* bar.red: every waiting lane gets the same answer. */
static void give_result(struct warp *w, const struct group *g, const struct barrier *bar)
{
	const struct op *op = &g->frame->func->code[g->pc];
	uint32_t value;

	if (op->fn != op_bar_red)
		return;
	switch (op->count) {
	case BAR_POPC:
		FOR_LANES(g->mask, i, ((uint32_t *)(g->frame->regs + op->dst))[i] = bar->last_popc;);
		return;
	case BAR_AND:
		value = bar->last_all ? FULL : 0;
		break;
	default:
		value = bar->last_any ? FULL : 0;
		break;
	}
	(void)w;
	*(uint32_t *)(g->frame->regs + op->dst) &= ~g->mask;
	*(uint32_t *)(g->frame->regs + op->dst) |= value & g->mask;
}

static void release(struct block *block, unsigned id)
{
	struct barrier *bar = &block->barriers[id];
	unsigned i, k;

	reset(bar);
	for (i = 0; i < block->warp_count; i++) {
		struct warp *w = &block->warps[i];

		for (k = 0; k < w->group_count; k++) {
			struct group *g = &w->groups[k];

			if (g->state != GROUP_BARRIER || g->barrier != id)
				continue;
			/* Lanes whose warp had not arrived as a whole stay for the next round. */
			if (g->mask & w->bar_arrived[id])
				continue;
			give_result(w, g, bar);
			g->state = GROUP_READY;
			g->pc++;
		}
	}
}

static int try_release(struct block *block, unsigned id)
{
	struct barrier *bar = &block->barriers[id];
	uint32_t expected = bar->expected ? bar->expected : threads_alive(block);

	if (!bar->arrived || bar->arrived < expected)
		return 0;
	release(block, id);
	return 1;
}

/* Called when a lane arrives or exits. */
static void warp_arrives(struct warp *w, unsigned id)
{
	struct barrier *bar = &w->block->barriers[id];
	uint32_t preds = w->bar_pred[id];

	if (!w->bar_arrived[id] || w->live & ~w->bar_arrived[id])
		return;
	bar->popc += __builtin_popcount(preds & w->bar_arrived[id]);
	bar->all &= !(w->bar_arrived[id] & ~preds);
	bar->any |= (preds & w->bar_arrived[id]) != 0;
	bar->arrived += LANES;
	w->bar_arrived[id] = 0;
	w->bar_pred[id] = 0;
}

void barrier_warp_changed(struct warp *w)
{
	unsigned id;

	for (id = 0; id < BARRIERS; id++) {
		if (w->bar_arrived[id]) {
			w->bar_arrived[id] &= w->live;
			warp_arrives(w, id);
		}
		if (w->block->barriers[id].arrived)
			try_release(w->block, id);
	}
}

static int arrive(struct warp *w, const struct op *op, uint32_t mask, int waits, uint32_t preds)
{
	struct block *block = w->block;
	unsigned lane = __builtin_ctz(mask);
	uint32_t id = ((const uint32_t *)slot(w, op->a))[lane];
	uint32_t count = op->b ? ((const uint32_t *)slot(w, op->b))[lane] : 0;
	struct barrier *bar;
	struct group *g;

	if (id >= BARRIERS)
		return warp_fault(w, op, lane, SIM_ERROR_TRAP, "barrier %u does not exist", id);
	if (count % LANES)
		return warp_fault(w, op, lane, SIM_ERROR_TRAP,
				  "barrier count %u is no multiple of the warp size", count);
	bar = &block->barriers[id];
	if (w->bar_arrived[id] & mask)
		return warp_fault(w, op, lane, SIM_ERROR_TRAP,
				  "barrier %u reached twice before its warp has arrived", id);
	if (count)
		bar->expected = count;
	w->bar_arrived[id] |= mask;
	w->bar_pred[id] = (w->bar_pred[id] & ~mask) | (preds & mask);
	if (w->mask & ~mask)
		warp_split(w, w->mask & ~mask, w->pc + 1);
	g = &w->groups[w->current];
	g->mask = w->mask;
	g->frame = w->frame;
	g->pc = w->pc;
	if (waits) {
		g->state = GROUP_BARRIER;
		g->barrier = id;
	} else {
		g->pc++;
	}
	warp_arrives(w, id);
	try_release(block, id);
	w->pc = g->pc;
	return OP_WAIT;
}

int op_bar_sync(struct warp *w, const struct op *op, uint32_t mask)
{
	return arrive(w, op, mask, 1, 0);
}

int op_bar_arrive(struct warp *w, const struct op *op, uint32_t mask)
{
	return arrive(w, op, mask, 0, 0);
}

/* c: predicate; OPF_NEG: its negation; count: which reduction */
int op_bar_red(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t preds = pred(w, op->c);

	return arrive(w, op, mask, 1, op->flags & OPF_NEG ? ~preds : preds);
}

void barrier_init(struct block *block)
{
	unsigned id;

	memset(block->barriers, 0, sizeof(block->barriers));
	for (id = 0; id < BARRIERS; id++)
		block->barriers[id].all = 1;
}
