/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a word bit by bit: bits set in mask are unknown, the others
 * are those of value.  value & mask is always 0.
 */
#ifndef GT_VERIFY_TNUM_H
#define GT_VERIFY_TNUM_H

#include <stdbool.h>
#include <stdint.h>

struct gt_tnum {
	uint64_t value, mask;
};

#define GT_TNUM_UNKNOWN ((struct gt_tnum){ 0, UINT64_MAX })

static inline struct gt_tnum gt_tnum_const(uint64_t value)
{
	return (struct gt_tnum){ value, 0 };
}

static inline bool gt_tnum_is_const(struct gt_tnum a)
{
	return a.mask == 0;
}

static inline bool gt_tnum_holds(struct gt_tnum a, uint64_t value)
{
	return (value & ~a.mask) == a.value;
}

/* Tightest that holds every number from min to max. */
struct gt_tnum gt_tnum_range(uint64_t min, uint64_t max);

struct gt_tnum gt_tnum_add(struct gt_tnum a, struct gt_tnum b);
struct gt_tnum gt_tnum_sub(struct gt_tnum a, struct gt_tnum b);
struct gt_tnum gt_tnum_mul(struct gt_tnum a, struct gt_tnum b);
struct gt_tnum gt_tnum_and(struct gt_tnum a, struct gt_tnum b);
struct gt_tnum gt_tnum_or(struct gt_tnum a, struct gt_tnum b);
struct gt_tnum gt_tnum_xor(struct gt_tnum a, struct gt_tnum b);
/* By a known count below 64. */
struct gt_tnum gt_tnum_lsh(struct gt_tnum a, unsigned count);
struct gt_tnum gt_tnum_rsh(struct gt_tnum a, unsigned count);
struct gt_tnum gt_tnum_arsh(struct gt_tnum a, unsigned count);
/* The lowest `bytes` bytes (1 to 8), the rest zero. */
struct gt_tnum gt_tnum_low(struct gt_tnum a, unsigned bytes);

/* False when no number satisfies both. */
bool gt_tnum_intersect(struct gt_tnum a, struct gt_tnum b, struct gt_tnum *ret_both);
struct gt_tnum gt_tnum_union(struct gt_tnum a, struct gt_tnum b);
/* Does every number of `inner` belong to `outer`? */
bool gt_tnum_within(struct gt_tnum inner, struct gt_tnum outer);

#endif
