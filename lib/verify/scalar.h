/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The set of numbers a register may hold: bits that are known, and ranges of the
 * whole register and of its low half, as signed and as unsigned numbers.  Every
 * operation returns a superset of what the instruction can produce.
 */
#ifndef GT_VERIFY_SCALAR_H
#define GT_VERIFY_SCALAR_H

#include "lib/verify/tnum.h"

struct gt_scalar {
	struct gt_tnum bits;
	uint64_t umin, umax;
	int64_t smin, smax;
	uint32_t umin32, umax32;
	int32_t smin32, smax32;
};

struct gt_scalar gt_scalar_unknown(void);
struct gt_scalar gt_scalar_const(uint64_t value);
struct gt_scalar gt_scalar_urange(uint64_t min, uint64_t max);

static inline bool gt_scalar_is_const(const struct gt_scalar *a)
{
	return a->bits.mask == 0;
}

/* Is the register's low half one number? */
static inline bool gt_scalar_is_const32(const struct gt_scalar *a)
{
	return (uint32_t)a->bits.mask == 0;
}

bool gt_scalar_holds(const struct gt_scalar *a, uint64_t value);
bool gt_scalar_within(const struct gt_scalar *inner, const struct gt_scalar *outer);
bool gt_scalar_equal(const struct gt_scalar *a, const struct gt_scalar *b);
struct gt_scalar gt_scalar_union(const struct gt_scalar *a, const struct gt_scalar *b);
/* Like union, but bounds that moved are given up, so that repeating it comes to an end. */
struct gt_scalar gt_scalar_widen(const struct gt_scalar *before, const struct gt_scalar *now);

/* Carry knowledge from each view to the others.  False: no number is left. */
bool gt_scalar_settle(struct gt_scalar *a);

/*
 * BPF_ADD .. BPF_ARSH, BPF_NEG on 64 bits, or on the low halves with the high half
 * cleared.  `is_signed` makes BPF_DIV and BPF_MOD signed.
 */
struct gt_scalar gt_scalar_alu(unsigned op, bool is32, bool is_signed,
			       const struct gt_scalar *a, const struct gt_scalar *b);
/* Low bytes (1, 2, 4), zero extended or sign extended to 64 bits. */
struct gt_scalar gt_scalar_zero_extend(const struct gt_scalar *a, unsigned bytes);
struct gt_scalar gt_scalar_sign_extend(const struct gt_scalar *a, unsigned bytes);

/*
 * A conditional jump's outcome, BPF_JEQ .. BPF_JSLE: 1 taken, 0 not, -1 either.
 */
int gt_scalar_compare(unsigned op, bool is32, const struct gt_scalar *a, const struct gt_scalar *b);
/* Narrow both to what they are when the jump is (not) taken.  False: that cannot happen. */
bool gt_scalar_assume(unsigned op, bool is32, bool taken, struct gt_scalar *a, struct gt_scalar *b);

#endif
