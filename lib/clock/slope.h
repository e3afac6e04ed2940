/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slopes: how fast one clock gains on another, as a fixed-point number with 40
 * fractional bits (one unit is 9e-13).  Times are int64_t nanoseconds; products
 * go through 128 bits, since a double loses 256 ns at the GPU's epoch.
 * Every function rounds in the direction its name says, so that a bound computed
 * with it stays a bound.
 */
#ifndef GT_CLOCK_SLOPE_H
#define GT_CLOCK_SLOPE_H

#include <stdint.h>

#define GT_SLOPE_BITS 40
#define GT_SLOPE_ONE (INT64_C(1) << GT_SLOPE_BITS)
#define GT_SLOPE_PPB(n) ((int64_t)((__int128)(n) * GT_SLOPE_ONE / 1000000000))
#define GT_NS_PER_S INT64_C(1000000000)

/* d * s, |d| below 2^62, |s| below GT_SLOPE_ONE */
static inline int64_t gt_slope_mul_down(int64_t d, int64_t s)
{
	return (int64_t)(((__int128)d * s) >> GT_SLOPE_BITS);
}

static inline int64_t gt_slope_mul_up(int64_t d, int64_t s)
{
	return -gt_slope_mul_down(-d, s);
}

/* a / b for b > 0; what does not fit becomes +-2^62, more than any sum here can be */
static inline int64_t gt_div_down(__int128 a, int64_t b)
{
	const int64_t max = INT64_C(1) << 62;
	__int128 q = a / b;

	if (q >= max)
		return max;
	if (q <= -max)
		return -max;
	return (int64_t)(q - (a % b < 0));
}

static inline int64_t gt_div_up(__int128 a, int64_t b)
{
	return -gt_div_down(-a, b);
}

/* d / (1 + s), -1 < s < 1 */
static inline int64_t gt_slope_undo_down(int64_t d, int64_t s)
{
	return gt_div_down((__int128)d * GT_SLOPE_ONE, GT_SLOPE_ONE + s);
}

static inline int64_t gt_slope_undo_up(int64_t d, int64_t s)
{
	return gt_div_up((__int128)d * GT_SLOPE_ONE, GT_SLOPE_ONE + s);
}

/* rise / run as a slope, run > 0, |rise| below 2^62 */
static inline int64_t gt_slope_of_down(int64_t rise, int64_t run)
{
	return gt_div_down((__int128)rise * GT_SLOPE_ONE, run);
}

static inline int64_t gt_slope_of_up(int64_t rise, int64_t run)
{
	return gt_div_up((__int128)rise * GT_SLOPE_ONE, run);
}

static inline int64_t gt_slope_to_ppb(int64_t s)
{
	return gt_slope_mul_down(1000000000, s);
}

static inline int64_t gt_min64(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static inline int64_t gt_max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

#endif
