/* SPDX-License-Identifier: Apache-2.0 */
/* Building a chain.  chain.h has the reasoning. */
#include "lib/clock/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock/slope.h"

/* Baselines for the slope: every one of the last nodes, then spread out, up to here. */
#define BASELINE_ALL 16
#define BASELINE_MAX (30 * GT_NS_PER_S)
/* A gain in slope smaller than this is not worth another pass over old segments. */
#define SLOPE_GAIN GT_SLOPE_PPB(20)

struct interval {
	int64_t lo, hi;
};

void gt_chain_init(struct gt_chain *chain, const struct gt_chain_opts *opts)
{
	memset(chain, 0, sizeof(*chain));
	chain->opts = *opts;
	chain->unknown = opts->start;
	chain->ka = -opts->start;
	chain->kb = opts->start;
}

void gt_chain_done(struct gt_chain *chain)
{
	free(chain->nodes);
	memset(chain, 0, sizeof(*chain));
}

int64_t gt_chain_wander(const struct gt_chain *chain, int64_t d)
{
	int64_t growth = gt_div_up((__int128)chain->opts.wander_growth * d, GT_NS_PER_S);

	return gt_max64(chain->opts.wander, gt_min64(chain->opts.wander + growth, chain->opts.wander_max));
}

void gt_chain_slope_ahead(const struct gt_chain *chain, int64_t d, int64_t *ret_a, int64_t *ret_b)
{
	int64_t wander = gt_chain_wander(chain, d), limit = chain->opts.limit;
	int64_t a = gt_max64(chain->ka - wander, -limit), b = gt_min64(chain->kb + wander, limit);

	/* Statements that exclude each other: (A) does not hold, so nothing is known. */
	if (a > b) {
		a = -limit;
		b = limit;
	}
	*ret_a = a;
	*ret_b = b;
}

static void forget_slope(struct gt_chain *chain, int64_t unknown)
{
	chain->base = chain->nodes[chain->n - 1].x;
	chain->unknown = unknown;
	chain->ka = -unknown;
	chain->kb = unknown;
}

/* The interval of a node carried over d >= 0 along slopes [a, b], forward and backward. */
static struct interval carry(const struct gt_chain_node *node, int64_t d, int64_t a, int64_t b)
{
	return (struct interval){ node->lo + gt_slope_mul_down(d, a), node->hi + gt_slope_mul_up(d, b) };
}

static struct interval carry_back(const struct gt_chain_node *node, int64_t d, int64_t a, int64_t b)
{
	return (struct interval){ node->lo - gt_slope_mul_up(d, b), node->hi - gt_slope_mul_down(d, a) };
}

static bool meets(struct interval i, int64_t lo, int64_t hi)
{
	return i.lo <= hi && lo <= i.hi;
}

/* Narrow a node; whether that changed it.  An empty intersection leaves it alone. */
static bool narrow(struct gt_chain_node *node, struct interval by)
{
	int64_t lo = gt_max64(node->lo, by.lo), hi = gt_min64(node->hi, by.hi);

	if (lo > hi || (lo == node->lo && hi == node->hi))
		return false;
	node->lo = lo;
	node->hi = hi;
	return true;
}

/* What the nodes since `base` say about the slope at the last one. */
static void learn_slope(struct gt_chain *chain)
{
	const struct gt_chain_node *last = &chain->nodes[chain->n - 1], *node;
	int64_t d, next = 0, blur;
	size_t back = 0;

	chain->ka = -chain->unknown;
	chain->kb = chain->unknown;
	for (node = last; node > chain->nodes && node[-1].x >= chain->base; ) {
		node--;
		d = last->x - node->x;
		if (d > BASELINE_MAX)
			break;
		if (++back > BASELINE_ALL && d < next)
			continue;
		next = d + d / 8;
		blur = gt_chain_wander(chain, d / 2 + 1) - chain->opts.wander;
		chain->ka = gt_max64(chain->ka, gt_slope_of_down(last->lo - node->hi, d) - blur);
		chain->kb = gt_min64(chain->kb, gt_slope_of_up(last->hi - node->lo, d) + blur);
	}
}

/* The slope of a segment, by its own record and by what the last node knows now. */
static bool better_slope(const struct gt_chain *chain, size_t i, int64_t *ret_a, int64_t *ret_b)
{
	const struct gt_chain_node *nodes = chain->nodes;
	int64_t wander = gt_chain_wander(chain, nodes[chain->n - 1].x - nodes[i - 1].x);
	int64_t a = gt_max64(nodes[i].a, chain->ka - wander), b = gt_min64(nodes[i].b, chain->kb + wander);

	*ret_a = a;
	*ret_b = b;
	return a - nodes[i].a > SLOPE_GAIN || nodes[i].b - b > SLOPE_GAIN;
}

/* First segment (its end node) that the new knowledge of the slope improves; n when none. */
static size_t first_improved(const struct gt_chain *chain)
{
	const struct gt_chain_node *nodes = chain->nodes;
	size_t i = chain->n;
	int64_t a, b;

	while (i > 1 && !nodes[i - 1].first && !nodes[i - 1].broken && nodes[i - 2].x >= chain->base &&
	       better_slope(chain, i - 1, &a, &b))
		i--;
	return i;
}

/*
 * Would the chain hold together with the improved slopes of segments from..n-1?
 * It must if (A) is true.
 */
static bool holds(const struct gt_chain *chain, size_t from)
{
	struct gt_chain_node at = chain->nodes[from - 1];
	const struct gt_chain_node *node;
	struct interval next;
	int64_t a, b;

	for (size_t i = from; i < chain->n; i++) {
		node = &chain->nodes[i];
		better_slope(chain, i, &a, &b);
		if (a > b)
			return false;
		next = carry(&at, node->x - at.x, a, b);
		if (!meets(next, node->lo, node->hi))
			return false;
		at = *node;
		narrow(&at, next);
	}
	return true;
}

/* Pass on what the nodes say, when something changed at or after node `from`. */
static void propagate(struct gt_chain *chain, size_t from)
{
	struct gt_chain_node *nodes = chain->nodes;
	size_t i;

	for (i = from; i < chain->n; i++)
		if (!nodes[i].first)
			narrow(&nodes[i], carry(&nodes[i - 1], nodes[i].x - nodes[i - 1].x, nodes[i].a, nodes[i].b));
	for (i = chain->n - 1; i > 0 && !nodes[i].first; i--)
		if (!narrow(&nodes[i - 1], carry_back(&nodes[i], nodes[i].x - nodes[i - 1].x, nodes[i].a, nodes[i].b)) &&
		    i <= from)
			break;
}

/* The last node is new or narrower: learn from it. */
static void settle(struct gt_chain *chain)
{
	size_t from;

	learn_slope(chain);
	from = first_improved(chain);
	if (from < chain->n && !holds(chain, from)) {
		chain->breaks++;
		forget_slope(chain, chain->opts.limit);
		from = chain->n;
	}
	for (size_t i = from; i < chain->n; i++)
		better_slope(chain, i, &chain->nodes[i].a, &chain->nodes[i].b);
	propagate(chain, from < chain->n ? from : chain->n - 1);
}

static void append(struct gt_chain *chain, struct gt_chain_node node)
{
	chain->nodes[chain->n++] = node;
	if (node.first)
		chain->epoch = chain->n - 1;
	if (node.first || node.broken)
		forget_slope(chain, node.first ? chain->opts.start : chain->opts.limit);
	settle(chain);
}

/*
 * A sample no newer than the last node narrows its two neighbours, or is wrong.
 * Slopes: of the segment it falls into, or those before the very first node.
 */
static int add_past(struct gt_chain *chain, int64_t x, int64_t lo, int64_t hi)
{
	struct gt_chain_node own = { .x = x, .lo = lo, .hi = hi };
	size_t i = chain->n - 1;
	struct gt_chain_node *left, *right;

	while (i > 0 && chain->nodes[i - 1].x >= x)
		i--;
	right = &chain->nodes[i];
	left = i > 0 && !right->first ? right - 1 : NULL;
	own.a = right->a;
	own.b = right->b;
	if (i == 0)
		gt_chain_slope_before(chain, 0, chain->epoch ? 1 : chain->n, right->x - x, &own.a, &own.b);
	else if (!left && right->x > x)
		return GT_CHAIN_REJECTED;	/* inside a jump: nobody knows of which side */
	if (!meets(carry_back(right, right->x - x, own.a, own.b), lo, hi) ||
	    (left && !meets(carry(left, x - left->x, own.a, own.b), lo, hi)))
		return GT_CHAIN_REJECTED;
	narrow(right, carry(&own, right->x - x, own.a, own.b));
	if (left)
		narrow(left, carry_back(&own, x - left->x, own.a, own.b));
	propagate(chain, i > 1 ? i - 1 : 1);
	return GT_CHAIN_TAKEN;
}

/* A second sample agrees with the first misfit: the far clock did change. */
static int accept_suspect(struct gt_chain *chain)
{
	const struct gt_chain_node *last = &chain->nodes[chain->n - 1];
	struct gt_chain_node node = chain->suspect;
	int64_t d = node.x - last->x, limit = chain->opts.limit;
	struct interval likely;

	gt_chain_slope_ahead(chain, d, &node.a, &node.b);
	likely = carry(last, d, node.a, node.b);
	chain->suspected = false;
	if (!meets(carry(last, d, -limit, limit), node.lo, node.hi)) {
		node.first = true;
		chain->jumps++;
		append(chain, node);
		return GT_CHAIN_JUMPED;
	}
	if (node.lo > likely.hi)
		node.b = limit;
	else
		node.a = -limit;
	node.broken = true;
	chain->breaks++;
	append(chain, node);
	return GT_CHAIN_BROKE;
}

static bool agrees_with_suspect(const struct gt_chain *chain, int64_t x, int64_t lo, int64_t hi)
{
	const struct gt_chain_node *suspect = &chain->suspect;
	int64_t limit = chain->opts.limit;

	return chain->suspected && x > suspect->x &&
	       meets(carry(suspect, x - suspect->x, -limit, limit), lo, hi);
}

static int add_newest(struct gt_chain *chain, int64_t x, int64_t lo, int64_t hi)
{
	struct gt_chain_node *last = &chain->nodes[chain->n - 1];
	struct gt_chain_node own = { .x = x, .lo = lo, .hi = hi };
	int64_t d = x - last->x;
	int result;

	gt_chain_slope_ahead(chain, d, &own.a, &own.b);
	if (meets(carry(last, d, own.a, own.b), lo, hi)) {
		if (chain->suspected)
			chain->rejects++;
		chain->suspected = false;
		if (d >= chain->opts.min_gap)
			append(chain, own);
		else if (narrow(last, carry_back(&own, d, own.a, own.b)))
			settle(chain);
		return GT_CHAIN_TAKEN;
	}
	if (agrees_with_suspect(chain, x, lo, hi)) {
		result = accept_suspect(chain);
		add_newest(chain, x, lo, hi);
		return result;
	}
	if (chain->suspected)
		chain->rejects++;
	chain->suspect = own;
	chain->suspected = true;
	return GT_CHAIN_SUSPECT;
}

int gt_chain_add(struct gt_chain *chain, int64_t x, int64_t lo, int64_t hi)
{
	const int64_t max = GT_CHAIN_TIME_MAX;
	int r;

	if (lo > hi || x > max || x < -max || hi > max || lo < -max) {
		chain->rejects++;
		return GT_CHAIN_REJECTED;
	}
	/* Two nodes at most: a suspect that proves right, and the sample that proved it. */
	r = gt_chain_make_room(chain);
	if (r < 0)
		return r;
	chain->samples++;
	if (chain->n == 0) {
		append(chain, (struct gt_chain_node){ .x = x, .lo = lo, .hi = hi, .first = true });
		return GT_CHAIN_TAKEN;
	}
	if (x > chain->nodes[chain->n - 1].x)
		return add_newest(chain, x, lo, hi);
	r = add_past(chain, x, lo, hi);
	if (r == GT_CHAIN_REJECTED)
		chain->rejects++;
	return r;
}

void gt_chain_drop_last(struct gt_chain *chain)
{
	if (chain->n == 0)
		return;
	chain->n--;
	if (chain->n == 0)
		return;
	gt_chain_find_epoch(chain);
	chain->base = gt_min64(chain->base, chain->nodes[chain->n - 1].x);
	learn_slope(chain);
}
