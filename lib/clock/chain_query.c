/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to a chain.
 *
 * In a segment from node p to node q with slopes [a, b], o(x) lies below two
 * lines, p.hi + b*(x - p.x) and q.hi - a*(q.x - x), and above two others.  When
 * far showed g is where x + o(x) = g: at the earliest where x plus the upper
 * lines reaches g, at the latest where x plus the lower ones does.
 */
#include <errno.h>

#include "lib/clock/chain.h"
#include "lib/clock/slope.h"

/* Earliest and latest far time that node i can stand for. */
static int64_t far_lo(const struct gt_chain_node *node)
{
	return node->x + node->lo;
}

static int64_t far_hi(const struct gt_chain_node *node)
{
	return node->x + node->hi;
}

/* Slopes before the first node of an epoch, d away: as in its first segment, or anything. */
void gt_chain_slope_before(const struct gt_chain *chain, size_t first, size_t end, int64_t d,
			   int64_t *ret_a, int64_t *ret_b)
{
	int64_t wander = gt_chain_wander(chain, d), limit = chain->opts.limit;

	if (first + 1 < end) {
		*ret_a = gt_max64(chain->nodes[first + 1].a - wander, -limit);
		*ret_b = gt_min64(chain->nodes[first + 1].b + wander, limit);
	} else if (end == chain->n) {
		gt_chain_slope_ahead(chain, d, ret_a, ret_b);
	} else {
		*ret_a = -chain->opts.start;
		*ret_b = chain->opts.start;
	}
}

/* Slopes after the last node of an epoch, likewise. */
static void slope_after(const struct gt_chain *chain, size_t first, size_t end, int64_t d, int64_t *ret_a,
			int64_t *ret_b)
{
	int64_t wander = gt_chain_wander(chain, d), limit = chain->opts.limit;

	if (end == chain->n) {
		gt_chain_slope_ahead(chain, d, ret_a, ret_b);
	} else if (first + 1 < end) {
		*ret_a = gt_max64(chain->nodes[end - 1].a - wander, -limit);
		*ret_b = gt_min64(chain->nodes[end - 1].b + wander, limit);
	} else {
		*ret_a = -chain->opts.start;
		*ret_b = chain->opts.start;
	}
}

/* The first node in [first, end) that `key` puts at or after g; end when none. */
static size_t lower_bound(const struct gt_chain *chain, size_t first, size_t end, int64_t g,
			  int64_t (*key)(const struct gt_chain_node *))
{
	size_t mid;

	while (first < end) {
		mid = first + (end - first) / 2;
		if (key(&chain->nodes[mid]) < g)
			first = mid + 1;
		else
			end = mid;
	}
	return first;
}

static int64_t undo(int64_t d, int64_t slope, bool up)
{
	return up ? gt_slope_undo_up(d, slope) : gt_slope_undo_down(d, slope);
}

/*
 * The earliest near time at which far can have shown g, or the latest, in the
 * epoch [first, end).  The earliest is where the upper lines reach g: counted
 * on from a node along the steepest slope, and back from one along the flattest.
 */
static int moment(const struct gt_chain *chain, size_t first, size_t end, int64_t g, bool latest, int64_t *ret)
{
	int64_t (*far)(const struct gt_chain_node *) = latest ? far_lo : far_hi;
	const struct gt_chain_node *nodes = chain->nodes, *p, *q;
	size_t i = lower_bound(chain, first, end, g, far);
	int64_t a, b, d, on, back;

	if (i == first) {
		d = far(&nodes[first]) - g;
		if (d > GT_CHAIN_REACH)
			return -ERANGE;
		gt_chain_slope_before(chain, first, end, d, &a, &b);
		*ret = nodes[first].x - undo(d, latest ? b : a, !latest);
		return 0;
	}
	p = &nodes[i - 1];
	d = g - far(p);
	if (i == end) {
		if (d > GT_CHAIN_REACH)
			return -ERANGE;
		slope_after(chain, first, end, d, &a, &b);
		*ret = p->x + undo(d, latest ? a : b, latest);
		return 0;
	}
	q = &nodes[i];
	on = p->x + undo(d, latest ? q->a : q->b, latest);
	back = q->x - undo(far(q) - g, latest ? q->b : q->a, !latest);
	*ret = latest ? gt_min64(on, back) : gt_max64(on, back);
	return 0;
}

static size_t epoch_begin(const struct gt_chain *chain, size_t end)
{
	size_t i = end - 1;

	while (!chain->nodes[i].first)
		i--;
	return i;
}

/*
 * After a jump the same far time may have been shown twice.  Prefer the epoch
 * whose nodes are nearest to it, of equals the newest.
 */
static void find_epoch(const struct gt_chain *chain, int64_t g, size_t *ret_first, size_t *ret_end)
{
	const struct gt_chain_node *nodes = chain->nodes;
	size_t first, end = chain->n;
	int64_t away, best = INT64_MAX;

	while (end > 0 && best > 0) {
		first = end == chain->n ? chain->epoch : epoch_begin(chain, end);
		away = gt_max64(gt_max64(far_lo(&nodes[first]) - g, g - far_hi(&nodes[end - 1])), 0);
		if (away < best) {
			best = away;
			*ret_first = first;
			*ret_end = end;
		}
		end = first;
	}
}

int gt_chain_to_near(const struct gt_chain *chain, int64_t g_lo, int64_t g_hi, int64_t *ret_lo,
		     int64_t *ret_hi)
{
	size_t first = 0, end = 0;
	int64_t lo, hi;
	int r;

	if (chain->n == 0)
		return -ENODATA;
	if (g_lo < -GT_CHAIN_TIME_MAX || g_hi > GT_CHAIN_TIME_MAX)
		return -ERANGE;
	find_epoch(chain, g_lo, &first, &end);
	r = moment(chain, first, end, g_lo, false, &lo);
	if (r < 0)
		return r;
	r = moment(chain, first, end, g_hi, true, &hi);
	if (r < 0)
		return r;
	*ret_lo = lo;
	*ret_hi = gt_max64(lo, hi);
	return 0;
}

static int64_t near_of(const struct gt_chain_node *node)
{
	return node->x;
}

/* Bounds of o at one near time. */
static int offset_at(const struct gt_chain *chain, int64_t x, int64_t *ret_lo, int64_t *ret_hi)
{
	const struct gt_chain_node *nodes = chain->nodes, *p, *q;
	size_t i = lower_bound(chain, 0, chain->n, x, near_of), end;
	int64_t a, b, d, d2;

	if (i == chain->n) {
		p = &nodes[i - 1];
		d = x - p->x;
		if (d > GT_CHAIN_REACH)
			return -ERANGE;
		gt_chain_slope_ahead(chain, d, &a, &b);
		*ret_lo = p->lo + gt_slope_mul_down(d, a);
		*ret_hi = p->hi + gt_slope_mul_up(d, b);
		return 0;
	}
	q = &nodes[i];
	d2 = q->x - x;
	if (i == 0) {
		if (d2 > GT_CHAIN_REACH)
			return -ERANGE;
		for (end = 1; end < chain->n && end < 2 && !nodes[end].first; )
			end++;
		gt_chain_slope_before(chain, 0, end, d2, &a, &b);
		*ret_lo = q->lo - gt_slope_mul_up(d2, b);
		*ret_hi = q->hi - gt_slope_mul_down(d2, a);
		return 0;
	}
	if (d2 == 0) {
		*ret_lo = q->lo;
		*ret_hi = q->hi;
		return 0;
	}
	if (q->first)
		return -ENODATA;
	p = q - 1;
	d = x - p->x;
	*ret_lo = gt_max64(p->lo + gt_slope_mul_down(d, q->a), q->lo - gt_slope_mul_up(d2, q->b));
	*ret_hi = gt_min64(p->hi + gt_slope_mul_up(d, q->b), q->hi - gt_slope_mul_down(d2, q->a));
	return 0;
}

int gt_chain_to_far(const struct gt_chain *chain, int64_t x_lo, int64_t x_hi, int64_t *ret_lo,
		    int64_t *ret_hi)
{
	int64_t lo, hi, unused;
	int r;

	if (chain->n == 0)
		return -ENODATA;
	if (x_lo < -GT_CHAIN_TIME_MAX || x_hi > GT_CHAIN_TIME_MAX)
		return -ERANGE;
	r = offset_at(chain, x_lo, &lo, &unused);
	if (r < 0)
		return r;
	r = offset_at(chain, x_hi, &unused, &hi);
	if (r < 0)
		return r;
	*ret_lo = x_lo + lo;
	*ret_hi = gt_max64(x_lo + lo, x_hi + hi);
	return 0;
}

int64_t gt_chain_distance(const struct gt_chain *chain, int64_t x_lo, int64_t x_hi)
{
	if (chain->n == 0)
		return INT64_MAX;
	return gt_max64(gt_max64(chain->nodes[0].x - x_hi, x_lo - chain->nodes[chain->n - 1].x), 0);
}
