/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sets of numbers. */
#include <linux/bpf.h>

#include "lib/verify/scalar.h"

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static struct gt_scalar add(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();
	int64_t smin, smax;
	uint64_t umin, umax;

	if (!__builtin_add_overflow(a->smin, b->smin, &smin) &&
	    !__builtin_add_overflow(a->smax, b->smax, &smax)) {
		r.smin = smin;
		r.smax = smax;
	}
	/* When both ends wrap, so does everything between. */
	if (__builtin_add_overflow(a->umin, b->umin, &umin) ==
	    __builtin_add_overflow(a->umax, b->umax, &umax)) {
		r.umin = umin;
		r.umax = umax;
	}
	r.bits = gt_tnum_add(a->bits, b->bits);
	return r;
}

static struct gt_scalar sub(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();
	int64_t smin, smax;
	uint64_t umin, umax;

	if (!__builtin_sub_overflow(a->smin, b->smax, &smin) &&
	    !__builtin_sub_overflow(a->smax, b->smin, &smax)) {
		r.smin = smin;
		r.smax = smax;
	}
	if (__builtin_sub_overflow(a->umin, b->umax, &umin) ==
	    __builtin_sub_overflow(a->umax, b->umin, &umax)) {
		r.umin = umin;
		r.umax = umax;
	}
	r.bits = gt_tnum_sub(a->bits, b->bits);
	return r;
}

static struct gt_scalar mul(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();
	const int64_t x[2] = { a->smin, a->smax }, y[2] = { b->smin, b->smax };
	int64_t smin = INT64_MAX, smax = INT64_MIN;
	uint64_t umax;
	bool overflow = false;

	for (unsigned i = 0; i < 4; i++) {
		int64_t corner;

		overflow |= __builtin_mul_overflow(x[i & 1], y[i >> 1], &corner);
		smin = MIN(smin, corner);
		smax = MAX(smax, corner);
	}
	if (!overflow) {
		r.smin = smin;
		r.smax = smax;
	}
	if (!__builtin_mul_overflow(a->umax, b->umax, &umax)) {
		r.umin = a->umin * b->umin;
		r.umax = umax;
	}
	r.bits = gt_tnum_mul(a->bits, b->bits);
	return r;
}

static struct gt_scalar and(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	r.bits = gt_tnum_and(a->bits, b->bits);
	r.umax = MIN(a->umax, b->umax);
	return r;
}

static struct gt_scalar or(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	r.bits = gt_tnum_or(a->bits, b->bits);
	r.umin = MAX(a->umin, b->umin);
	return r;
}

static struct gt_scalar xor(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	r.bits = gt_tnum_xor(a->bits, b->bits);
	return r;
}

/* count: 0 to 63 */
static struct gt_scalar lsh(const struct gt_scalar *a, const struct gt_scalar *count)
{
	struct gt_scalar r = gt_scalar_unknown();
	unsigned least = (unsigned)count->umin, most = (unsigned)count->umax;

	if (a->umax <= UINT64_MAX >> most) {
		r.umin = a->umin << least;
		r.umax = a->umax << most;
	}
	if (least != most)
		return r;
	if (a->smin >= INT64_MIN >> least && a->smax <= INT64_MAX >> least) {
		r.smin = (int64_t)((uint64_t)a->smin << least);
		r.smax = (int64_t)((uint64_t)a->smax << least);
	}
	r.bits = gt_tnum_lsh(a->bits, least);
	return r;
}

static struct gt_scalar rsh(const struct gt_scalar *a, const struct gt_scalar *count)
{
	struct gt_scalar r = gt_scalar_unknown();

	r.umin = a->umin >> count->umax;
	r.umax = a->umax >> count->umin;
	if (count->umin == count->umax)
		r.bits = gt_tnum_rsh(a->bits, (unsigned)count->umin);
	return r;
}

static struct gt_scalar arsh(const struct gt_scalar *a, const struct gt_scalar *count)
{
	struct gt_scalar r = gt_scalar_unknown();

	/* A shift moves towards 0 or -1: the least count keeps most of the distance. */
	r.smin = a->smin >> (a->smin < 0 ? count->umin : count->umax);
	r.smax = a->smax >> (a->smax < 0 ? count->umax : count->umin);
	if (count->umin == count->umax)
		r.bits = gt_tnum_arsh(a->bits, (unsigned)count->umin);
	return r;
}

/* By zero: 0. */
static struct gt_scalar udiv(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	r.umin = b->umin ? a->umin / b->umax : 0;
	r.umax = a->umax / MAX(b->umin, 1);
	return r;
}

/* By zero: the dividend. */
static struct gt_scalar umod(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	if (b->umin > a->umax)
		return *a;
	r.umax = b->umin ? MIN(a->umax, b->umax - 1) : a->umax;
	if (gt_scalar_is_const(b) && (b->umin & (b->umin - 1)) == 0 && b->umin) {
		struct gt_scalar mask = gt_scalar_const(b->umin - 1);

		return and(a, &mask);
	}
	return r;
}

static struct gt_scalar sdiv(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	if (gt_scalar_is_const(b) && b->smin > 0) {
		r.smin = a->smin / b->smin;
		r.smax = a->smax / b->smin;
	} else if (a->smin > INT64_MIN) {
		/* The quotient is no farther from zero than the dividend. */
		r.smax = MAX(a->smax < 0 ? -a->smax : a->smax, a->smin < 0 ? -a->smin : a->smin);
		r.smin = -r.smax;
	}
	return r;
}

static struct gt_scalar smod(const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown();

	/* The dividend's sign, and no farther from zero. */
	r.smin = MIN(a->smin, 0);
	r.smax = MAX(a->smax, 0);
	if (b->smin > 0) {
		r.smin = MAX(r.smin, -(b->smax - 1));
		r.smax = MIN(r.smax, b->smax - 1);
	}
	return r;
}

static struct gt_scalar masked_count(const struct gt_scalar *b, unsigned width)
{
	struct gt_scalar mask = gt_scalar_const(width - 1), count;

	if (b->umax < width)
		return *b;
	count = and(b, &mask);
	gt_scalar_settle(&count);
	return count;
}

static struct gt_scalar alu64(unsigned op, bool is_signed, unsigned width,
			      const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r, count, zero = gt_scalar_const(0);

	switch (op) {
	case BPF_ADD:
		r = add(a, b);
		break;
	case BPF_SUB:
		r = sub(a, b);
		break;
	case BPF_MUL:
		r = mul(a, b);
		break;
	case BPF_AND:
		r = and(a, b);
		break;
	case BPF_OR:
		r = or(a, b);
		break;
	case BPF_XOR:
		r = xor(a, b);
		break;
	case BPF_NEG:
		r = sub(&zero, a);
		break;
	case BPF_LSH:
		count = masked_count(b, width);
		r = lsh(a, &count);
		break;
	case BPF_RSH:
		count = masked_count(b, width);
		r = rsh(a, &count);
		break;
	case BPF_ARSH:
		count = masked_count(b, width);
		r = arsh(a, &count);
		break;
	case BPF_DIV:
		r = is_signed ? sdiv(a, b) : udiv(a, b);
		break;
	case BPF_MOD:
		r = is_signed ? smod(a, b) : umod(a, b);
		break;
	default:
		r = gt_scalar_unknown();
		break;
	}
	gt_scalar_settle(&r);
	return r;
}

/* Does the 64-bit operation on zero (sign) extended halves give the right low half? */
static bool works_zero_extended(unsigned op, bool is_signed)
{
	return op != BPF_ARSH && !((op == BPF_DIV || op == BPF_MOD) && is_signed);
}

static bool works_sign_extended(unsigned op, bool is_signed)
{
	return op != BPF_RSH && !((op == BPF_DIV || op == BPF_MOD) && !is_signed);
}

static void keep_low_half(struct gt_scalar *r, const struct gt_scalar *wide)
{
	struct gt_tnum low = gt_tnum_low(wide->bits, 4), both;

	r->umin32 = MAX(r->umin32, wide->umin32);
	r->umax32 = MIN(r->umax32, wide->umax32);
	r->smin32 = MAX(r->smin32, wide->smin32);
	r->smax32 = MIN(r->smax32, wide->smax32);
	if (gt_tnum_intersect(r->bits, low, &both))
		r->bits = both;
}

static struct gt_scalar alu32(unsigned op, bool is_signed,
			      const struct gt_scalar *a, const struct gt_scalar *b)
{
	struct gt_scalar r = gt_scalar_unknown(), x, y, wide;

	if (works_zero_extended(op, is_signed)) {
		x = gt_scalar_zero_extend(a, 4);
		y = gt_scalar_zero_extend(b, 4);
		wide = alu64(op, is_signed, 32, &x, &y);
		keep_low_half(&r, &wide);
	}
	if (works_sign_extended(op, is_signed)) {
		x = gt_scalar_sign_extend(a, 4);
		y = gt_scalar_sign_extend(b, 4);
		wide = alu64(op, is_signed, 32, &x, &y);
		keep_low_half(&r, &wide);
	}
	return gt_scalar_zero_extend(&r, 4);
}

struct gt_scalar gt_scalar_alu(unsigned op, bool is32, bool is_signed,
			       const struct gt_scalar *a, const struct gt_scalar *b)
{
	return is32 ? alu32(op, is_signed, a, b) : alu64(op, is_signed, 64, a, b);
}
