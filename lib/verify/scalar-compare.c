/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons of sets of numbers, and what a jump taken or not says about them. */
#include <linux/bpf.h>

#include "lib/verify/scalar.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Each relation is one of four, perhaps with the sides exchanged or the answer negated. */
static int less_u64(const struct gt_scalar *a, const struct gt_scalar *b)
{
	return a->umax < b->umin ? 1 : a->umin >= b->umax ? 0 : -1;
}

static int less_s64(const struct gt_scalar *a, const struct gt_scalar *b)
{
	return a->smax < b->smin ? 1 : a->smin >= b->smax ? 0 : -1;
}

static int less_u32(const struct gt_scalar *a, const struct gt_scalar *b)
{
	return a->umax32 < b->umin32 ? 1 : a->umin32 >= b->umax32 ? 0 : -1;
}

static int less_s32(const struct gt_scalar *a, const struct gt_scalar *b)
{
	return a->smax32 < b->smin32 ? 1 : a->smin32 >= b->smax32 ? 0 : -1;
}

static int less(bool is_signed, bool is32, const struct gt_scalar *a, const struct gt_scalar *b)
{
	if (is32)
		return is_signed ? less_s32(a, b) : less_u32(a, b);
	return is_signed ? less_s64(a, b) : less_u64(a, b);
}

static int negate(int outcome)
{
	return outcome < 0 ? outcome : !outcome;
}

static int equal(bool is32, const struct gt_scalar *a, const struct gt_scalar *b)
{
	uint64_t width = is32 ? UINT32_MAX : UINT64_MAX;
	uint64_t known = ~a->bits.mask & ~b->bits.mask & width;

	if ((a->bits.value ^ b->bits.value) & known)
		return 0;
	if (less(false, is32, a, b) == 1 || less(false, is32, b, a) == 1 ||
	    less(true, is32, a, b) == 1 || less(true, is32, b, a) == 1)
		return 0;
	return known == width ? 1 : -1;
}

static int common_bits(bool is32, const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_tnum both = gt_tnum_and(a->bits, b->bits);
	uint64_t width = is32 ? UINT32_MAX : UINT64_MAX;

	if (both.value & width)
		return 1;
	return both.mask & width ? -1 : 0;
}

int gt_scalar_compare(unsigned op, bool is32, const struct gt_scalar *a, const struct gt_scalar *b)
{
	switch (op) {
	case BPF_JEQ:
		return equal(is32, a, b);
	case BPF_JNE:
		return negate(equal(is32, a, b));
	case BPF_JSET:
		return common_bits(is32, a, b);
	case BPF_JLT:
		return less(false, is32, a, b);
	case BPF_JGE:
		return negate(less(false, is32, a, b));
	case BPF_JGT:
		return less(false, is32, b, a);
	case BPF_JLE:
		return negate(less(false, is32, b, a));
	case BPF_JSLT:
		return less(true, is32, a, b);
	case BPF_JSGE:
		return negate(less(true, is32, a, b));
	case BPF_JSGT:
		return less(true, is32, b, a);
	case BPF_JSLE:
		return negate(less(true, is32, b, a));
	default:
		return -1;
	}
}

static bool assume_less_u(bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	if (is32) {
		if (b->umax32 == 0 || a->umin32 == UINT32_MAX)
			return false;
		a->umax32 = MIN(a->umax32, b->umax32 - 1);
		b->umin32 = MAX(b->umin32, a->umin32 + 1);
	} else {
		if (b->umax == 0 || a->umin == UINT64_MAX)
			return false;
		a->umax = MIN(a->umax, b->umax - 1);
		b->umin = MAX(b->umin, a->umin + 1);
	}
	return true;
}

static bool assume_less_s(bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	if (is32) {
		if (b->smax32 == INT32_MIN || a->smin32 == INT32_MAX)
			return false;
		a->smax32 = MIN(a->smax32, b->smax32 - 1);
		b->smin32 = MAX(b->smin32, a->smin32 + 1);
	} else {
		if (b->smax == INT64_MIN || a->smin == INT64_MAX)
			return false;
		a->smax = MIN(a->smax, b->smax - 1);
		b->smin = MAX(b->smin, a->smin + 1);
	}
	return true;
}

/* a <= b */
static void assume_not_more(bool is_signed, bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	if (is32 && is_signed) {
		a->smax32 = MIN(a->smax32, b->smax32);
		b->smin32 = MAX(b->smin32, a->smin32);
	} else if (is32) {
		a->umax32 = MIN(a->umax32, b->umax32);
		b->umin32 = MAX(b->umin32, a->umin32);
	} else if (is_signed) {
		a->smax = MIN(a->smax, b->smax);
		b->smin = MAX(b->smin, a->smin);
	} else {
		a->umax = MIN(a->umax, b->umax);
		b->umin = MAX(b->umin, a->umin);
	}
}

static bool assume_less(bool is_signed, bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	return is_signed ? assume_less_s(is32, a, b) : assume_less_u(is32, a, b);
}

static bool assume_equal(bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	struct gt_tnum x = a->bits, y = b->bits;
	const uint64_t high = ~UINT64_C(0xffffffff);

	if (is32) {	/* nothing is said about the high halves */
		x.value &= ~high;
		y.value &= ~high;
		x.mask |= high;
		y.mask |= high;
	}
	if (!gt_tnum_intersect(a->bits, y, &a->bits) || !gt_tnum_intersect(b->bits, x, &b->bits))
		return false;
	assume_not_more(false, is32, a, b);
	assume_not_more(false, is32, b, a);
	assume_not_more(true, is32, a, b);
	assume_not_more(true, is32, b, a);
	return true;
}

/* A number known to be missing shortens a range that ends there. */
static bool remove_number(bool is32, struct gt_scalar *a, const struct gt_scalar *b)
{
	if (is32 && gt_scalar_is_const32(b)) {
		uint32_t number = (uint32_t)b->bits.value;

		if (a->umin32 == a->umax32)
			return a->umin32 != number;
		a->umin32 += a->umin32 == number;
		a->umax32 -= a->umax32 == number;
		if (a->smin32 == a->smax32)
			return true;
		a->smin32 += a->smin32 == (int32_t)number;
		a->smax32 -= a->smax32 == (int32_t)number;
	} else if (!is32 && gt_scalar_is_const(b)) {
		uint64_t number = b->bits.value;

		if (a->umin == a->umax)
			return a->umin != number;
		a->umin += a->umin == number;
		a->umax -= a->umax == number;
		if (a->smin == a->smax)
			return true;
		a->smin += a->smin == (int64_t)number;
		a->smax -= a->smax == (int64_t)number;
	}
	return true;
}

static bool assume_different(bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	return remove_number(is32, a, b) && remove_number(is32, b, a);
}

/* Both share a bit, or none. */
static bool assume_common(bool is32, bool shared, struct gt_scalar *a, const struct gt_scalar *b)
{
	uint64_t mask = b->bits.value;

	if (!gt_scalar_is_const(b) && !(is32 && gt_scalar_is_const32(b)))
		return true;
	if (is32)
		mask &= UINT32_MAX;
	if (!shared) {
		if (a->bits.value & mask)
			return false;
		a->bits.mask &= ~mask;
	} else if (mask && (mask & (mask - 1)) == 0) {
		if (!((a->bits.value | a->bits.mask) & mask))
			return false;
		a->bits.value |= mask;
		a->bits.mask &= ~mask;
	}
	return true;
}

static bool assume(unsigned op, bool is32, struct gt_scalar *a, struct gt_scalar *b)
{
	switch (op) {
	case BPF_JEQ:
		return assume_equal(is32, a, b);
	case BPF_JNE:
		return assume_different(is32, a, b);
	case BPF_JLT:
		return assume_less(false, is32, a, b);
	case BPF_JGT:
		return assume_less(false, is32, b, a);
	case BPF_JSLT:
		return assume_less(true, is32, a, b);
	case BPF_JSGT:
		return assume_less(true, is32, b, a);
	case BPF_JLE:
		assume_not_more(false, is32, a, b);
		return true;
	case BPF_JGE:
		assume_not_more(false, is32, b, a);
		return true;
	case BPF_JSLE:
		assume_not_more(true, is32, a, b);
		return true;
	case BPF_JSGE:
		assume_not_more(true, is32, b, a);
		return true;
	default:
		return true;
	}
}

static unsigned opposite(unsigned op)
{
	switch (op) {
	case BPF_JEQ:
		return BPF_JNE;
	case BPF_JNE:
		return BPF_JEQ;
	case BPF_JLT:
		return BPF_JGE;
	case BPF_JGE:
		return BPF_JLT;
	case BPF_JGT:
		return BPF_JLE;
	case BPF_JLE:
		return BPF_JGT;
	case BPF_JSLT:
		return BPF_JSGE;
	case BPF_JSGE:
		return BPF_JSLT;
	case BPF_JSGT:
		return BPF_JSLE;
	default:
		return BPF_JSGT;
	}
}

bool gt_scalar_assume(unsigned op, bool is32, bool taken, struct gt_scalar *a, struct gt_scalar *b)
{
	bool possible;

	if (op == BPF_JSET)
		possible = assume_common(is32, taken, a, b) && assume_common(is32, taken, b, a);
	else
		possible = assume(taken ? op : opposite(op), is32, a, b);
	return possible && gt_scalar_settle(a) && gt_scalar_settle(b);
}
