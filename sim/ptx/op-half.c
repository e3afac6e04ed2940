/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Half precision, in both formats, alone and in pairs.  Sums and products of
 * small floats are computed in double precision, rounded to odd where they do
 * not fit, and then rounded once to the small format.
 */
#include "half.h"
#include "lanes.h"

typedef uint16_t small_fn(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f);

static double value_in(uint16_t bits, unsigned flags, const struct small_format *f)
{
	return small_to_f64(flags & OPF_FTZ ? small_flush(bits, f) : bits, f);
}

static uint16_t value_out(double v, unsigned flags, const struct small_format *f)
{
	uint16_t bits;

	if (flags & OPF_RELU && v < 0)
		v = 0;
	if (flags & OPF_SAT)
		v = v > 0 ? (v < 1 ? v : 1) : 0;
	bits = small_from_f64(v, f, RND_RN, 0);
	if (flags & OPF_RELU && bits == 0x8000)
		bits = 0;
	return flags & OPF_FTZ ? small_flush(bits, f) : bits;
}

static uint16_t small_add(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)c;
	return value_out(sum_to_odd(value_in(a, flags, f), value_in(b, flags, f)), flags, f);
}

static uint16_t small_sub(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)c;
	return value_out(sum_to_odd(value_in(a, flags, f), -value_in(b, flags, f)), flags, f);
}

static uint16_t small_mul(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)c;
	return value_out(value_in(a, flags, f) * value_in(b, flags, f), flags, f);
}

static uint16_t small_fma(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	double product = value_in(a, flags, f) * value_in(b, flags, f);

	return value_out(sum_to_odd(product, value_in(c, flags, f)), flags, f);
}

static uint16_t small_abs(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)b;
	(void)c;
	a &= 0x7fff;
	return flags & OPF_FTZ ? small_flush(a, f) : a;
}

static uint16_t small_neg(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)b;
	(void)c;
	a ^= 0x8000;
	return flags & OPF_FTZ ? small_flush(a, f) : a;
}

/* Order of magnitude and sign as an integer; -0 below +0. */
static int rank(uint16_t bits)
{
	return bits & 0x8000 ? -1 - (bits & 0x7fff) : bits;
}

static uint16_t choose(uint16_t a, uint16_t b, unsigned flags, const struct small_format *f,
		       int most)
{
	uint16_t inf = (uint16_t)(((1u << f->exponent) - 1) << f->mantissa), sign = 0, result;
	int nan_a = (a & 0x7fff) > inf, nan_b = (b & 0x7fff) > inf;

	if (flags & OPF_FTZ) {
		a = small_flush(a, f);
		b = small_flush(b, f);
	}
	if ((nan_a && nan_b) || (flags & OPF_NEG && (nan_a || nan_b)))
		return f->nan;
	if (flags & OPF_ABS) {
		sign = (a ^ b) & 0x8000;
		a &= 0x7fff;
		b &= 0x7fff;
	}
	result = nan_a ? b : nan_b ? a : (rank(a) < rank(b)) != most ? a : b;
	return result | sign;
}

static uint16_t small_min(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)c;
	return choose(a, b, flags, f, 0);
}

static uint16_t small_max(uint16_t a, uint16_t b, uint16_t c, unsigned flags,
			  const struct small_format *f)
{
	(void)c;
	return choose(a, b, flags, f, 1);
}

/* Unused operands are slot 0, which every frame has. */
static inline void run_single(struct warp *w, const struct op *op, uint32_t mask, small_fn *fn,
			      const struct small_format *f)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = op->b ? slot(w, op->b) : a;
	const uint32_t *c = op->c ? slot(w, op->c) : a;

	FOR_LANES(mask, i,
		d[i] = fn((uint16_t)a[i], (uint16_t)b[i], (uint16_t)c[i], op->flags, f););
}

static inline void run_pair(struct warp *w, const struct op *op, uint32_t mask, small_fn *fn,
			    const struct small_format *f)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = op->b ? slot(w, op->b) : a;
	const uint32_t *c = op->c ? slot(w, op->c) : a;

	FOR_LANES(mask, i,
		uint32_t low = fn((uint16_t)a[i], (uint16_t)b[i], (uint16_t)c[i], op->flags, f);
		uint32_t high = fn((uint16_t)(a[i] >> 16), (uint16_t)(b[i] >> 16),
				   (uint16_t)(c[i] >> 16), op->flags, f);
		d[i] = low | high << 16;);
}

#define SMALL(name) \
	OP_HEAD(name##_f16) { run_single(w, op, mask, small_##name, &format_f16); return OP_NEXT; } \
	OP_HEAD(name##_bf16) { run_single(w, op, mask, small_##name, &format_bf16); return OP_NEXT; } \
	OP_HEAD(name##_f16x2) { run_pair(w, op, mask, small_##name, &format_f16); return OP_NEXT; } \
	OP_HEAD(name##_bf16x2) { run_pair(w, op, mask, small_##name, &format_bf16); return OP_NEXT; }
SMALL(add)
SMALL(sub)
SMALL(mul)
SMALL(fma)
SMALL(abs)
SMALL(neg)
SMALL(min)
SMALL(max)

#define ENTRY(op, T, signature, fn, flags) { op, ALU_PLAIN, T, signature, fn, fn, flags }
#define ALL(op, signature, name, f16_flags, bf16_flags) \
	ENTRY(op, T_F16, signature, name##_f16, f16_flags), \
	ENTRY(op, T_F16X2, signature, name##_f16x2, f16_flags), \
	ENTRY(op, T_BF16, signature, name##_bf16, bf16_flags), \
	ENTRY(op, T_BF16X2, signature, name##_bf16x2, bf16_flags)
#define ROUNDS (7 << OPF_RND_SHIFT)

const struct alu alu_half[] = {
	ALL("add", "TTT", add, OPF_FTZ | OPF_SAT | ROUNDS, ROUNDS),
	ALL("sub", "TTT", sub, OPF_FTZ | OPF_SAT | ROUNDS, ROUNDS),
	ALL("mul", "TTT", mul, OPF_FTZ | OPF_SAT | ROUNDS, ROUNDS),
	ALL("fma", "TTTT", fma, OPF_FTZ | OPF_SAT | OPF_RELU | ROUNDS, OPF_RELU | ROUNDS),
	ALL("abs", "TT", abs, OPF_FTZ, 0),
	ALL("neg", "TT", neg, OPF_FTZ, 0),
	ALL("min", "TTT", min, OPF_FTZ | OPF_NEG | OPF_ABS, OPF_NEG | OPF_ABS),
	ALL("max", "TTT", max, OPF_FTZ | OPF_NEG | OPF_ABS, OPF_NEG | OPF_ABS),
	END_OF_TABLE
};
