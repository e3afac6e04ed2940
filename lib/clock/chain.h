/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain: everything known about one clock ("far") as seen from another
 * ("near"), from samples that each say "at near time x the far clock was ahead
 * by at least lo and at most hi".
 *
 * What is assumed
 *
 *   Let o(x) be far minus near at near time x, and r(x) its slope.  For any two
 *   moments less than some minutes apart,
 *
 *       |r(x) - r(y)|  <=  W(|x - y|),                                 (A)
 *       W(d) = wander + wander_growth * d, but no more than wander_max
 *
 *   and |r| <= limit always.  Nothing else: no line, no statistics.  Given (A)
 *   and true samples every bound below is a theorem.
 *
 * What follows
 *
 *   Slope.  Between two nodes D apart the mean of r lies in
 *   [(lo2 - hi1)/D, (hi2 - lo1)/D].  By (A), r at a distance d beyond the second
 *   differs from that mean by at most W(D/2 + d).  Many
 *   earlier nodes give many such statements about the slope at the newest node;
 *   all are true, so their intersection is.  Short baselines are blurred by the
 *   width of the samples, long ones by wander_growth: the intersection picks the
 *   best by itself.
 *
 *   Offset.  If r stays in [a, b] over a segment of length d, then o changes by
 *   a*d to b*d: the interval of one node, carried along, is a cone.  Each node's
 *   interval is intersected with its neighbours' cones, from both sides, until
 *   nothing changes.  Then a node's interval holds all that every other node
 *   says about it, so a question about any moment looks at two nodes alone.
 *
 *   A question between two nodes is bounded from both sides; one after the last
 *   node by a cone that opens with distance.
 *
 * What happens when a sample does not fit
 *
 *   A first misfit is only remembered.  If the next sample fits the chain, the
 *   misfit was a bad sample.  If the next fits the misfit instead, then the far
 *   clock did something outside (A): if `limit` allows it, the segment is marked
 *   broken and its slope is left open on the side of the surprise only (whatever
 *   happened inside, o moved one way); otherwise the far clock jumped, and an
 *   unconnected chain (a new epoch) begins.  Both are counted.
 */
#ifndef GT_CLOCK_CHAIN_H
#define GT_CLOCK_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_chain_node {
	int64_t x;		/* near time; strictly ascending, at least min_gap apart */
	int64_t lo, hi;		/* o(x), both included */
	int64_t a, b;		/* slope of the segment that ends here */
	bool first;		/* begins an epoch: no segment ends here */
	bool broken;		/* the segment lies outside (A) */
};

struct gt_chain_opts {
	int64_t wander;		/* a slope */
	int64_t wander_growth;	/* a slope, for each second */
	int64_t wander_max;	/* a slope */
	int64_t start;		/* |r| of a clock just met */
	int64_t limit;		/* |r| at most, ever; below GT_SLOPE_ONE */
	int64_t min_gap;	/* ns; samples closer than this share a node */
	size_t max_nodes;
};

struct gt_chain {
	struct gt_chain_opts opts;
	struct gt_chain_node *nodes;
	size_t n, room;
	size_t epoch;		/* index where the newest epoch begins */
	int64_t base;		/* near time where baselines for the slope begin */
	int64_t unknown;	/* |slope| as long as nothing since base says more */
	int64_t ka, kb;		/* slope at the last node, without `wander`; may cross */
	struct gt_chain_node suspect;
	bool suspected;
	uint64_t samples, rejects, jumps, breaks;
};

/* Times a chain accepts, so that no sum overflows. */
#define GT_CHAIN_TIME_MAX (INT64_C(1) << 61)
/* Farther than this from every node there is no answer, ns. */
#define GT_CHAIN_REACH (INT64_C(3600) * 1000000000)

enum gt_chain_result {
	GT_CHAIN_TAKEN,
	GT_CHAIN_SUSPECT,	/* does not fit; the next sample decides */
	GT_CHAIN_BROKE,		/* this sample confirmed a change of slope outside (A) */
	GT_CHAIN_JUMPED,	/* this sample confirmed a jump */
	GT_CHAIN_REJECTED,
};

void gt_chain_init(struct gt_chain *chain, const struct gt_chain_opts *opts);
void gt_chain_done(struct gt_chain *chain);

/* Add "lo <= o(x) <= hi".  Returns enum gt_chain_result or -ENOMEM. */
int gt_chain_add(struct gt_chain *chain, int64_t x, int64_t lo, int64_t hi);

/* Take the last node out again (what it taught its neighbours stays). */
void gt_chain_drop_last(struct gt_chain *chain);

/* Slope expected at a distance d >= 0 after the last node. */
void gt_chain_slope_ahead(const struct gt_chain *chain, int64_t d, int64_t *ret_a, int64_t *ret_b);

/* ---- questions: 0, -ENODATA (empty, or inside a jump), -ERANGE (out of reach) ---- */

/* The far clock showed something in [g_lo, g_hi]: when? */
int gt_chain_to_near(const struct gt_chain *chain, int64_t g_lo, int64_t g_hi, int64_t *ret_lo,
		     int64_t *ret_hi);
/* It was some moment in [x_lo, x_hi]: what did the far clock show? */
int gt_chain_to_far(const struct gt_chain *chain, int64_t x_lo, int64_t x_hi, int64_t *ret_lo,
		    int64_t *ret_hi);

/* How far near times [x_lo, x_hi] lie outside the chain's nodes, ns; 0 inside. */
int64_t gt_chain_distance(const struct gt_chain *chain, int64_t x_lo, int64_t x_hi);

/* ---- shared by the chain's own files ---- */

/* W(d) */
int64_t gt_chain_wander(const struct gt_chain *chain, int64_t d);
/* Slopes a little before the first node of the epoch [first, end), d away. */
void gt_chain_slope_before(const struct gt_chain *chain, size_t first, size_t end, int64_t d,
			   int64_t *ret_a, int64_t *ret_b);
/* Find again where the newest epoch begins. */
void gt_chain_find_epoch(struct gt_chain *chain);
/* Make room for one more node, thinning old ones when the limit is reached.  -ENOMEM. */
int gt_chain_make_room(struct gt_chain *chain);

#endif
