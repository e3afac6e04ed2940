/* SPDX-License-Identifier: Apache-2.0 */
/* A warp: groups of lanes, which of them runs, and where they meet again. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "machine.h"

#define SLICE 65536		/* operations before other warps get a turn */
#define PATIENCE 16		/* turns of a group before others, which wait for it further on, get one */
#define ROTATED_SLICE 2048	/* of a group that is not the natural choice */
#define SPINS 24		/* turns of a loop that looks at foreign memory until it counts as waiting */
#define CHANGES 4096		/* the same for a loop that changes it */

int warp_fault(struct warp *w, const struct op *op, unsigned lane, int kind, const char *format, ...)
{
	va_list ap;

	w->fault.kind = kind;
	w->fault.lane = lane;
	w->fault.line = op->line;
	w->fault.has_addr = 0;
	va_start(ap, format);
	vsnprintf(w->fault.text, sizeof(w->fault.text), format, ap);
	va_end(ap);
	return OP_FAULT;
}

struct frame *warp_frame_new(struct warp *w, const struct sim_func *func)
{
	struct frame **link, *frame;

	/* A spare frame was made for the same function, or it would not fit. */
	for (link = &w->spare; (frame = *link); link = &frame->parent)
		if (frame->func == func) {
			*link = frame->parent;
			return frame;
		}
	if (posix_memalign((void **)&frame, 64, sizeof(*frame) + func->frame_bytes))
		return NULL;
	memset(frame, 0, sizeof(*frame) + func->frame_bytes);
	frame->func = func;
	return frame;
}

void warp_frame_free(struct warp *w, struct frame *frame)
{
	frame->parent = w->spare;
	w->spare = frame;
}

void warp_free(struct warp *w)
{
	struct frame *frame, *next;
	unsigned i;

	/* Frames of groups that never returned, shared by several of them. */
	for (i = 0; i < w->group_count; i++)
		for (frame = w->groups[i].frame; frame; frame = next) {
			next = frame->parent;
			frame->lanes &= ~w->groups[i].mask;
			if (!frame->lanes)
				free(frame);
		}
	for (frame = w->spare; frame; frame = next) {
		next = frame->parent;
		free(frame);
	}
	w->spare = NULL;
	w->group_count = 0;
}

static void release_lanes(struct warp *w, struct frame *frame, uint32_t mask)
{
	struct frame *parent;

	for (; frame; frame = parent) {
		parent = frame->parent;
		frame->lanes &= ~mask;
		if (!frame->lanes)
			warp_frame_free(w, frame);
	}
}

void warp_start(struct warp *w)
{
	struct group *g = &w->groups[0];

	memset(g, 0, sizeof(*g));
	g->mask = w->live;
	g->frame = w->root;
	g->state = GROUP_READY;
	w->root->lanes = w->live;
	w->root->parent = NULL;
	w->root->depth = 0;
	w->root->local_base = 0;
	w->group_count = 1;
	w->current = 0;
	w->carry = 0;
	w->rotate = 0;
	w->turns = 0;
	w->cluster_arrived = 0;
	for (unsigned i = 0; i < LANES; i++)
		w->stack_top[i] = w->local_stride;
	memset(w->bar_arrived, 0, sizeof(w->bar_arrived));
}

static void save(struct warp *w)
{
	struct group *g = &w->groups[w->current];

	g->pc = w->pc;
	g->mask = w->mask;
	g->frame = w->frame;
}

void warp_split(struct warp *w, uint32_t mask, uint32_t pc)
{
	struct group *g = &w->groups[w->group_count++];

	memset(g, 0, sizeof(*g));
	g->mask = mask;
	g->pc = pc;
	g->frame = w->frame;
	g->state = GROUP_READY;
	w->mask &= ~mask;
}

static void remove_group(struct warp *w, unsigned i)
{
	w->groups[i] = w->groups[--w->group_count];
}

void warp_exit_lanes(struct warp *w, uint32_t mask)
{
	release_lanes(w, w->frame, mask);
	w->live &= ~mask;
	w->mask &= ~mask;
	w->groups[w->current].mask = w->mask;
	sync_recheck(w);
	barrier_warp_changed(w);
	cluster_exit_lanes(w, mask);
}

/* Groups at the same place become one. */
static void merge(struct warp *w)
{
	unsigned i, j;

	for (i = 0; i < w->group_count; i++) {
		struct group *a = &w->groups[i];

		if (!a->mask) {
			remove_group(w, i--);
			continue;
		}
		if (a->state != GROUP_READY)
			continue;
		for (j = i + 1; j < w->group_count; j++) {
			struct group *b = &w->groups[j];

			if (b->state != GROUP_READY || b->pc != a->pc || b->frame != a->frame)
				continue;
			a->mask |= b->mask;
			if (b->stamp > a->stamp)
				a->stamp = b->stamp;
			if (b->wake > a->wake)
				a->wake = b->wake;
			remove_group(w, j--);
		}
	}
}

static int before(const struct group *a, const struct group *b)
{
	if (a->frame->depth != b->frame->depth)
		return a->frame->depth > b->frame->depth;
	return a->pc < b->pc;
}

uint64_t warp_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int sleeps(const struct group *g)
{
	return g->wake && g->wake > warp_now();
}

int warp_can_run(const struct warp *w)
{
	unsigned i;

	for (i = 0; i < w->group_count; i++)
		if (w->groups[i].state == GROUP_READY && w->groups[i].mask)
			return 1;
	return 0;
}

static void load(struct warp *w, unsigned chosen, int natural)
{
	struct group *g = &w->groups[chosen], *other;
	unsigned i;

	w->current = chosen;
	w->pc = g->pc;
	w->mask = g->mask;
	w->frame = g->frame;
	w->code = g->frame->func->code;
	w->base[0] = g->frame->regs;
	w->base[1] = g->frame->func->consts;
	w->spin = 0;
	w->spin_hint = 0;
	g->stamp = ++w->clock;
	g->wake = 0;
	/*
	 * A group that runs out of turn must not stop at every group behind
	 * whose pc it runs; it meets them when it ends or its slice does.
	 */
	w->limit = UINT32_MAX;
	for (i = 0; natural && i < w->group_count; i++) {
		other = &w->groups[i];
		if (i != chosen && other->state == GROUP_READY && other->frame == g->frame &&
		    other->pc < w->limit)
			w->limit = other->pc;
	}
}

/* Returns 0 when no group can run, now or for good. */
static int pick(struct warp *w)
{
	unsigned i, best = LANES, oldest = LANES;

	merge(w);
	if (w->group_count == 1)
		w->turns = 0;
	for (i = 0; i < w->group_count; i++) {
		if (w->groups[i].state != GROUP_READY)
			continue;
		if (best == LANES || before(&w->groups[i], &w->groups[best]))
			best = i;
		if (!sleeps(&w->groups[i]) && (oldest == LANES || w->groups[i].stamp < w->groups[oldest].stamp))
			oldest = i;
	}
	if (best == LANES)
		return 0;
	if (w->rotate && oldest < LANES && oldest != best) {
		load(w, oldest, 0);
		if (w->slice > ROTATED_SLICE)
			w->slice = ROTATED_SLICE;
	} else if (!sleeps(&w->groups[best])) {
		load(w, best, 1);
	} else {
		return 0;
	}
	w->rotate = 0;
	return 1;
}

/* Until something other than the next operation has to be decided. */
static int run_group(struct warp *w)
{
	const struct op *op;
	uint32_t mask;
	int result;

	for (;;) {
		op = &w->code[w->pc];
		mask = w->mask;
		if (op->guard) {
			mask &= pred(w, op->guard) ^ (op->guard_negated ? FULL : 0);
			if (!mask) {
				w->pc++;
				goto next;
			}
		}
		result = op->fn(w, op, mask);
		if (result == OP_NEXT)
			w->pc++;
		else if (result != OP_JUMP)
			return result;
next:
		if (w->pc >= w->limit)
			return OP_RESCHED;
		if (!--w->slice)
			return OP_NEXT;
		if (w->spin_hint && w->spin >= (w->spin_hint > 1 ? SPINS : CHANGES))
			return OP_YIELD;
	}
}

int warp_run(struct warp *w)
{
	w->slice = SLICE;
	while (pick(w)) {
		int result = run_group(w);

		if (result == OP_FAULT)
			return BLOCK_FAULT;
		save(w);
		if (result == OP_YIELD || result == OP_NEXT) {
			w->rotate = ++w->turns >= PATIENCE;
			return result == OP_YIELD ? BLOCK_SPIN : BLOCK_SLICE;
		}
	}
	if (!w->live)
		return BLOCK_DONE;
	return warp_can_run(w) ? BLOCK_SPIN : BLOCK_DEADLOCK;
}
