/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/scalar.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

struct gt_scalar gt_scalar_unknown(void)
{
	return (struct gt_scalar){
		.bits = GT_TNUM_UNKNOWN,
		.umax = UINT64_MAX, .smin = INT64_MIN, .smax = INT64_MAX,
		.umax32 = UINT32_MAX, .smin32 = INT32_MIN, .smax32 = INT32_MAX,
	};
}

struct gt_scalar gt_scalar_const(uint64_t value)
{
	return (struct gt_scalar){
		.bits = gt_tnum_const(value),
		.umin = value, .umax = value,
		.smin = (int64_t)value, .smax = (int64_t)value,
		.umin32 = (uint32_t)value, .umax32 = (uint32_t)value,
		.smin32 = (int32_t)value, .smax32 = (int32_t)value,
	};
}

struct gt_scalar gt_scalar_urange(uint64_t min, uint64_t max)
{
	struct gt_scalar a = gt_scalar_unknown();

	a.umin = min;
	a.umax = max;
	gt_scalar_settle(&a);
	return a;
}

bool gt_scalar_holds(const struct gt_scalar *a, uint64_t value)
{
	int64_t s = (int64_t)value;
	uint32_t u32 = (uint32_t)value;
	int32_t s32 = (int32_t)value;

	return gt_tnum_holds(a->bits, value) && a->umin <= value && value <= a->umax &&
	       a->smin <= s && s <= a->smax && a->umin32 <= u32 && u32 <= a->umax32 &&
	       a->smin32 <= s32 && s32 <= a->smax32;
}

bool gt_scalar_within(const struct gt_scalar *inner, const struct gt_scalar *outer)
{
	return gt_tnum_within(inner->bits, outer->bits) &&
	       outer->umin <= inner->umin && inner->umax <= outer->umax &&
	       outer->smin <= inner->smin && inner->smax <= outer->smax &&
	       outer->umin32 <= inner->umin32 && inner->umax32 <= outer->umax32 &&
	       outer->smin32 <= inner->smin32 && inner->smax32 <= outer->smax32;
}

bool gt_scalar_equal(const struct gt_scalar *a, const struct gt_scalar *b)
{
	return gt_scalar_within(a, b) && gt_scalar_within(b, a);
}

struct gt_scalar gt_scalar_union(const struct gt_scalar *a, const struct gt_scalar *b)
{
	return (struct gt_scalar){
		.bits = gt_tnum_union(a->bits, b->bits),
		.umin = MIN(a->umin, b->umin), .umax = MAX(a->umax, b->umax),
		.smin = MIN(a->smin, b->smin), .smax = MAX(a->smax, b->smax),
		.umin32 = MIN(a->umin32, b->umin32), .umax32 = MAX(a->umax32, b->umax32),
		.smin32 = MIN(a->smin32, b->smin32), .smax32 = MAX(a->smax32, b->smax32),
	};
}

struct gt_scalar gt_scalar_widen(const struct gt_scalar *before, const struct gt_scalar *now)
{
	struct gt_scalar wide = gt_scalar_unknown();

	/* Unknown bits only ever grow, so this ends as well. */
	wide.bits = gt_tnum_union(before->bits, now->bits);
	if (before->umin <= now->umin)
		wide.umin = before->umin;
	if (before->umax >= now->umax)
		wide.umax = before->umax;
	if (before->smin <= now->smin)
		wide.smin = before->smin;
	if (before->smax >= now->smax)
		wide.smax = before->smax;
	if (before->umin32 <= now->umin32)
		wide.umin32 = before->umin32;
	if (before->umax32 >= now->umax32)
		wide.umax32 = before->umax32;
	if (before->smin32 <= now->smin32)
		wide.smin32 = before->smin32;
	if (before->smax32 >= now->smax32)
		wide.smax32 = before->smax32;
	return wide;
}

/* ---- one view learns from another ---- */

static void bounds_from_bits(struct gt_scalar *a)
{
	uint64_t sign = UINT64_C(1) << 63;
	uint32_t value32 = (uint32_t)a->bits.value, mask32 = (uint32_t)a->bits.mask;
	uint32_t sign32 = UINT32_C(1) << 31;

	a->umin = MAX(a->umin, a->bits.value);
	a->umax = MIN(a->umax, a->bits.value | a->bits.mask);
	a->smin = MAX(a->smin, (int64_t)(a->bits.value | (a->bits.mask & sign)));
	a->smax = MIN(a->smax, (int64_t)(a->bits.value | (a->bits.mask & ~sign)));
	a->umin32 = MAX(a->umin32, value32);
	a->umax32 = MIN(a->umax32, value32 | mask32);
	a->smin32 = MAX(a->smin32, (int32_t)(value32 | (mask32 & sign32)));
	a->smax32 = MIN(a->smax32, (int32_t)(value32 | (mask32 & ~sign32)));
}

/* Signed and unsigned order agree as long as a range does not cross its view's seam. */
static void signed_and_unsigned(struct gt_scalar *a)
{
	if ((a->smin ^ a->smax) >= 0) {
		a->umin = MAX(a->umin, (uint64_t)a->smin);
		a->umax = MIN(a->umax, (uint64_t)a->smax);
	}
	if ((int64_t)(a->umin ^ a->umax) >= 0) {
		a->smin = MAX(a->smin, (int64_t)a->umin);
		a->smax = MIN(a->smax, (int64_t)a->umax);
	}
	if ((a->smin32 ^ a->smax32) >= 0) {
		a->umin32 = MAX(a->umin32, (uint32_t)a->smin32);
		a->umax32 = MIN(a->umax32, (uint32_t)a->smax32);
	}
	if ((int32_t)(a->umin32 ^ a->umax32) >= 0) {
		a->smin32 = MAX(a->smin32, (int32_t)a->umin32);
		a->smax32 = MIN(a->smax32, (int32_t)a->umax32);
	}
}

static void low_half_from_whole(struct gt_scalar *a)
{
	if (a->umin >> 32 == a->umax >> 32) {
		a->umin32 = MAX(a->umin32, (uint32_t)a->umin);
		a->umax32 = MIN(a->umax32, (uint32_t)a->umax);
	}
	if (a->smin >= INT32_MIN && a->smax <= INT32_MAX) {
		a->smin32 = MAX(a->smin32, (int32_t)a->smin);
		a->smax32 = MIN(a->smax32, (int32_t)a->smax);
	}
}

static void whole_from_low_half(struct gt_scalar *a)
{
	const uint64_t high = ~UINT64_C(0xffffffff);

	a->umin = MAX(a->umin, (a->umin & high) | a->umin32);
	a->umax = MIN(a->umax, (a->umax & high) | a->umax32);
	a->smin = MAX(a->smin, (int64_t)(((uint64_t)a->smin & high) | a->umin32));
	a->smax = MIN(a->smax, (int64_t)(((uint64_t)a->smax & high) | a->umax32));
	/* A number that fits 32 signed bits is what its low half says. */
	if (a->smin >= INT32_MIN && a->smax <= INT32_MAX) {
		a->smin = MAX(a->smin, (int64_t)a->smin32);
		a->smax = MIN(a->smax, (int64_t)a->smax32);
	}
}

static bool bits_from_bounds(struct gt_scalar *a)
{
	struct gt_tnum low = gt_tnum_range(a->umin32, a->umax32);

	low.mask |= ~UINT64_C(0xffffffff);
	return gt_tnum_intersect(a->bits, gt_tnum_range(a->umin, a->umax), &a->bits) &&
	       gt_tnum_intersect(a->bits, low, &a->bits);
}

static bool is_empty(const struct gt_scalar *a)
{
	return a->umin > a->umax || a->smin > a->smax ||
	       a->umin32 > a->umax32 || a->smin32 > a->smax32;
}

bool gt_scalar_settle(struct gt_scalar *a)
{
	/* Two rounds find what matters; more would only be tighter. */
	for (unsigned round = 0; round < 2; round++) {
		if (is_empty(a))
			return false;
		bounds_from_bits(a);
		if (is_empty(a))
			return false;
		signed_and_unsigned(a);
		if (is_empty(a))
			return false;
		low_half_from_whole(a);
		if (is_empty(a))
			return false;
		whole_from_low_half(a);
		if (is_empty(a))
			return false;
		signed_and_unsigned(a);
		if (is_empty(a) || !bits_from_bounds(a))
			return false;
	}
	bounds_from_bits(a);
	return !is_empty(a);
}

struct gt_scalar gt_scalar_zero_extend(const struct gt_scalar *a, unsigned bytes)
{
	struct gt_scalar low = gt_scalar_unknown();

	low.bits = gt_tnum_low(a->bits, bytes);
	if (bytes == 4) {
		low.umin = a->umin32;
		low.umax = a->umax32;
		low.smin32 = a->smin32;
		low.smax32 = a->smax32;
	} else if (a->umax < UINT64_C(1) << (8 * bytes)) {
		low.umin = a->umin;
		low.umax = a->umax;
	}
	gt_scalar_settle(&low);
	return low;
}

struct gt_scalar gt_scalar_sign_extend(const struct gt_scalar *a, unsigned bytes)
{
	struct gt_scalar wide = gt_scalar_unknown();
	unsigned shift = 64 - 8 * bytes;
	int64_t least = INT64_MIN >> shift, most = INT64_MAX >> shift;

	wide.bits = gt_tnum_arsh(gt_tnum_lsh(a->bits, shift), shift);
	wide.smin = least;
	wide.smax = most;
	if (bytes == 4) {
		wide.smin = a->smin32;
		wide.smax = a->smax32;
	} else if (a->smin >= least && a->smax <= most) {
		wide.smin = a->smin;
		wide.smax = a->smax;
	}
	gt_scalar_settle(&wide);
	return wide;
}
