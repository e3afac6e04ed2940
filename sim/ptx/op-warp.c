/* SPDX-License-Identifier: Apache-2.0 */
/* What lanes tell one another: shuffle, vote, match, reduction, election. */
#include "lanes.h"

const struct sync_kind sync_warp = { NULL, NULL };

static void shfl_give(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *a = slot(w, op->a);

	FOR_LANES(mask, i, w->exchange[i] = a[i];);
}

/* c: bits 0..4 clamp, bits 8..12 mask of the segment */
static void shfl_take(struct warp *w, const struct op *op, uint32_t mask, uint32_t there)
{
	uint32_t *d = slot(w, op->dst), ok = 0;
	const uint32_t *pb = slot(w, op->b), *pc = slot(w, op->c);

	(void)there;
	FOR_LANES(mask, i,
		int b = (int)(pb[i] & 31);
		int clamp = (int)(pc[i] & 31);
		int segment = (int)(pc[i] >> 8 & 31);
		int lane = (int)i;
		int most = (lane & segment) | (clamp & ~segment);
		int least = lane & segment;
		int from;
		int valid;

		switch (op->count) {
		case SHFL_UP: from = lane - b; valid = from >= most; break;
		case SHFL_DOWN: from = lane + b; valid = from <= most; break;
		case SHFL_BFLY: from = lane ^ b; valid = from <= most; break;
		default: from = least | (b & ~segment); valid = from <= most; break;
		}
		if (!valid)
			from = lane;
		d[i] = (uint32_t)w->exchange[from & 31];
		ok |= (uint32_t)valid << i;
	);
	if (op->imm)
		set_pred(w, (uint32_t)op->imm, mask, ok);
}
const struct sync_kind sync_shfl = { shfl_give, shfl_take };

static void vote_give(struct warp *w, const struct op *op, uint32_t mask)
{
	w->exchange_pred = (w->exchange_pred & ~mask) | (pred(w, op->a) & mask);
}

static void vote_take(struct warp *w, const struct op *op, uint32_t mask, uint32_t there)
{
	uint32_t votes = w->exchange_pred & there, *d;
	int result;

	if (op->count == VOTE_BALLOT) {
		d = slot(w, op->dst);
		FOR_LANES(mask, i, d[i] = votes;);
		return;
	}
	result = op->count == VOTE_ALL ? votes == there : op->count == VOTE_ANY ? votes != 0 :
		 votes == 0 || votes == there;
	set_pred(w, op->dst, mask, result ? FULL : 0);
}
const struct sync_kind sync_vote = { vote_give, vote_take };

static void match_give(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *a = slot(w, op->a);
	const uint64_t *wide = slot(w, op->a);

	FOR_LANES(mask, i, w->exchange[i] = op->flags & OPF_WIDE ? wide[i] : a[i];);
}

static uint32_t equals(const struct warp *w, uint32_t there, uint64_t value)
{
	uint32_t same = 0;

	FOR_LANES(there, i, same |= (uint32_t)(w->exchange[i] == value) << i;);
	return same;
}

static void match_take(struct warp *w, const struct op *op, uint32_t mask, uint32_t there)
{
	uint32_t *d = slot(w, op->dst), all = 0;

	FOR_LANES(mask, i,
		uint32_t same = equals(w, there, w->exchange[i]);
		if (op->count == MATCH_ALL) {
			all |= (uint32_t)(same == there) << i;
			same = same == there ? there : 0;
		}
		d[i] = same;
	);
	if (op->imm)
		set_pred(w, (uint32_t)op->imm, mask, all);
}
const struct sync_kind sync_match = { match_give, match_take };

static uint32_t reduce(uint32_t x, uint32_t y, enum atom atom, int is_signed)
{
	switch (atom) {
	case ATOM_ADD: return x + y;
	case ATOM_AND: return x & y;
	case ATOM_OR: return x | y;
	case ATOM_XOR: return x ^ y;
	case ATOM_MIN: return (is_signed ? (int32_t)x < (int32_t)y : x < y) ? x : y;
	default: return (is_signed ? (int32_t)x > (int32_t)y : x > y) ? x : y;
	}
}

static void redux_take(struct warp *w, const struct op *op, uint32_t mask, uint32_t there)
{
	uint32_t *d = slot(w, op->dst), result = (uint32_t)w->exchange[__builtin_ctz(there)];
	uint32_t rest = there & (there - 1);

	FOR_LANES(rest, i, result = reduce(result, (uint32_t)w->exchange[i], op->count,
					   op->imm != 0););
	FOR_LANES(mask, i, d[i] = result;);
}
const struct sync_kind sync_redux = { shfl_give, redux_take };

static void elect_take(struct warp *w, const struct op *op, uint32_t mask, uint32_t there)
{
	uint32_t *d = slot(w, op->dst), leader = (uint32_t)__builtin_ctz(there);

	FOR_LANES(mask, i, d[i] = leader;);
	set_pred(w, (uint32_t)op->imm, mask, 1u << leader);
}
const struct sync_kind sync_elect = { NULL, elect_take };
