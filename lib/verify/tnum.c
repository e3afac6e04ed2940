/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/verify/tnum.h"

struct gt_tnum gt_tnum_range(uint64_t min, uint64_t max)
{
	uint64_t differing = min ^ max;
	uint64_t mask;

	if (!differing)
		return gt_tnum_const(min);
	/* From the highest differing bit down nothing is known. */
	mask = UINT64_MAX >> __builtin_clzll(differing);
	return (struct gt_tnum){ min & ~mask, mask };
}

struct gt_tnum gt_tnum_add(struct gt_tnum a, struct gt_tnum b)
{
	/* A result bit is unknown where an operand's is, or where the carry into it differs between extremes. */
	uint64_t least = a.value + b.value;
	uint64_t most = least + a.mask + b.mask;
	uint64_t mask = (least ^ most) | a.mask | b.mask;

	return (struct gt_tnum){ least & ~mask, mask };
}

struct gt_tnum gt_tnum_sub(struct gt_tnum a, struct gt_tnum b)
{
	uint64_t middle = a.value - b.value;
	uint64_t mask = ((middle + a.mask) ^ (middle - b.mask)) | a.mask | b.mask;

	return (struct gt_tnum){ middle & ~mask, mask };
}

struct gt_tnum gt_tnum_mul(struct gt_tnum a, struct gt_tnum b)
{
	struct gt_tnum sum = gt_tnum_const(0);

	for (unsigned bit = 0; bit < 64; bit++) {
		struct gt_tnum term = gt_tnum_lsh(b, bit);

		if (a.value >> bit & 1)
			sum = gt_tnum_add(sum, term);
		else if (a.mask >> bit & 1)	/* the term or nothing */
			sum = gt_tnum_add(sum, (struct gt_tnum){ 0, term.value | term.mask });
	}
	return sum;
}

struct gt_tnum gt_tnum_and(struct gt_tnum a, struct gt_tnum b)
{
	uint64_t ones = a.value & b.value;

	return (struct gt_tnum){ ones, ((a.value | a.mask) & (b.value | b.mask)) & ~ones };
}

struct gt_tnum gt_tnum_or(struct gt_tnum a, struct gt_tnum b)
{
	uint64_t ones = a.value | b.value;

	return (struct gt_tnum){ ones, (a.mask | b.mask) & ~ones };
}

struct gt_tnum gt_tnum_xor(struct gt_tnum a, struct gt_tnum b)
{
	uint64_t mask = a.mask | b.mask;

	return (struct gt_tnum){ (a.value ^ b.value) & ~mask, mask };
}

struct gt_tnum gt_tnum_lsh(struct gt_tnum a, unsigned count)
{
	return (struct gt_tnum){ a.value << count, a.mask << count };
}

struct gt_tnum gt_tnum_rsh(struct gt_tnum a, unsigned count)
{
	return (struct gt_tnum){ a.value >> count, a.mask >> count };
}

struct gt_tnum gt_tnum_arsh(struct gt_tnum a, unsigned count)
{
	/* An unknown sign spreads as unknown bits; value's bits stay clear of it. */
	return (struct gt_tnum){ (uint64_t)((int64_t)a.value >> count),
				 (uint64_t)((int64_t)a.mask >> count) };
}

struct gt_tnum gt_tnum_low(struct gt_tnum a, unsigned bytes)
{
	uint64_t keep = UINT64_MAX >> (64 - 8 * bytes);

	return (struct gt_tnum){ a.value & keep, a.mask & keep };
}

bool gt_tnum_intersect(struct gt_tnum a, struct gt_tnum b, struct gt_tnum *ret_both)
{
	uint64_t mask = a.mask & b.mask;

	if ((a.value ^ b.value) & ~a.mask & ~b.mask)
		return false;
	*ret_both = (struct gt_tnum){ (a.value | b.value) & ~mask, mask };
	return true;
}

struct gt_tnum gt_tnum_union(struct gt_tnum a, struct gt_tnum b)
{
	uint64_t mask = a.mask | b.mask | (a.value ^ b.value);

	return (struct gt_tnum){ a.value & ~mask, mask };
}

bool gt_tnum_within(struct gt_tnum inner, struct gt_tnum outer)
{
	return !(inner.mask & ~outer.mask) && !((inner.value ^ outer.value) & ~outer.mask);
}
