/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arithmetic in single and double precision.  `plain` functions do rounding to
 * nearest without modifiers; `full` ones look at the flags.  Compiled with
 * -frounding-math: between host_rounding() calls operands come from memory and
 * results go to memory, so nothing moves across.
 */
#include "half.h"
#include "lanes.h"

static float f32_in(float v, unsigned flags)
{
	return flags & OPF_FTZ ? f32_flush(v) : v;
}

static float f32_out(float v, unsigned flags)
{
	if (flags & OPF_FTZ)
		v = f32_flush(v);
	if (flags & OPF_SAT)
		v = f32_saturate(v);
	return f32_canonical(v);
}

#define PLAIN_F32_2(name, expr) OP2(name##_f32, f32, f32, f32, f32_canonical(expr))
#define FULL_F32_2(name, expr) \
	OP_HEAD(name##_f32_full) \
	{ \
		float *d = slot(w, op->dst); \
		const float *pa = slot(w, op->a), *pb = slot(w, op->b); \
		host_rounding(op_rounding(op->flags)); \
		FOR_LANES(mask, i, float a = f32_in(pa[i], op->flags); \
			  float b = f32_in(pb[i], op->flags); \
			  d[i] = f32_out(expr, op->flags);); \
		host_rounding(RND_RN); \
		return OP_NEXT; \
	}
#define FULL_F32_1(name, expr) \
	OP_HEAD(name##_f32_full) \
	{ \
		float *d = slot(w, op->dst); \
		const float *pa = slot(w, op->a); \
		host_rounding(op_rounding(op->flags)); \
		FOR_LANES(mask, i, float a = f32_in(pa[i], op->flags); \
			  d[i] = f32_out(expr, op->flags);); \
		host_rounding(RND_RN); \
		return OP_NEXT; \
	}
#define FULL_F64_2(name, expr) \
	OP_HEAD(name##_f64_full) \
	{ \
		double *d = slot(w, op->dst); \
		const double *pa = slot(w, op->a), *pb = slot(w, op->b); \
		host_rounding(op_rounding(op->flags)); \
		FOR_LANES(mask, i, double a = pa[i]; double b = pb[i]; d[i] = expr;); \
		host_rounding(RND_RN); \
		return OP_NEXT; \
	}
#define FULL_F64_1(name, expr) \
	OP_HEAD(name##_f64_full) \
	{ \
		double *d = slot(w, op->dst); \
		const double *pa = slot(w, op->a); \
		host_rounding(op_rounding(op->flags)); \
		FOR_LANES(mask, i, double a = pa[i]; d[i] = expr;); \
		host_rounding(RND_RN); \
		return OP_NEXT; \
	}
#define ARITHMETIC(name, expr) \
	PLAIN_F32_2(name, expr) \
	FULL_F32_2(name, expr) \
	OP2(name##_f64, f64, f64, f64, expr) \
	FULL_F64_2(name, expr)
ARITHMETIC(add, a + b)
ARITHMETIC(sub, a - b)
ARITHMETIC(mul, a * b)
FULL_F32_2(div_rn, a / b)
OP2(div_rn_f64, f64, f64, f64, a / b)
FULL_F64_2(div_rn, a / b)
FULL_F32_1(sqrt_rn, sqrtf(a))
FULL_F64_1(sqrt_rn, sqrt(a))
FULL_F32_1(rcp_rn, 1.0f / a)
FULL_F64_1(rcp_rn, 1.0 / a)

/* The fast quotient gives up where the reciprocal would be subnormal. */
static float quick_quotient(float a, float b, unsigned mode)
{
	uint32_t exponent = f32_bits(b) >> 23 & 255;

	if (mode == 1 && exponent >= 253 && exponent < 255)
		return isinf(a) ? f32_of(F32_NAN) : copysignf(0, (signbit(a) != 0) == (signbit(b) != 0) ? 1 : -1);
	return a / b;
}

/* imm: 0 exact, 1 .approx, 2 .full */
OP_HEAD(div_f32)
{
	float *d = slot(w, op->dst);
	const float *pa = slot(w, op->a), *pb = slot(w, op->b);

	if (!op->imm)
		return div_rn_f32_full(w, op, mask);
	FOR_LANES(mask, i,
		float a = f32_in(pa[i], op->flags);
		float b = f32_in(pb[i], op->flags);
		d[i] = f32_out(quick_quotient(a, b, (unsigned)op->imm), op->flags););
	return OP_NEXT;
}

/*
 * The hardware's fused multiply-add, where the compiler may not assume it but
 * the processor has it; the C library's function costs a call a lane.
 */
#if defined(__x86_64__)
#pragma GCC push_options
#pragma GCC target("fma")
OP3(fma_f32_fast, f32, f32, f32, f32, f32_canonical(__builtin_fmaf(a, b, c)))
OP3(fma_f64_fast, f64, f64, f64, f64, __builtin_fma(a, b, c))
#pragma GCC pop_options
OP3(fma_f32_call, f32, f32, f32, f32, f32_canonical(fmaf(a, b, c)))
OP3(fma_f64_call, f64, f64, f64, f64, fma(a, b, c))

OP_HEAD(fma_f32)
{
	return __builtin_cpu_supports("fma") ? fma_f32_fast(w, op, mask) : fma_f32_call(w, op, mask);
}

OP_HEAD(fma_f64)
{
	return __builtin_cpu_supports("fma") ? fma_f64_fast(w, op, mask) : fma_f64_call(w, op, mask);
}
#else
OP3(fma_f32, f32, f32, f32, f32, f32_canonical(fmaf(a, b, c)))
OP3(fma_f64, f64, f64, f64, f64, fma(a, b, c))
#endif

OP_HEAD(fma_f32_full)
{
	float *d = slot(w, op->dst);
	const float *pa = slot(w, op->a), *pb = slot(w, op->b), *pc = slot(w, op->c);

	host_rounding(op_rounding(op->flags));
	FOR_LANES(mask, i,
		float a = f32_in(pa[i], op->flags);
		float b = f32_in(pb[i], op->flags);
		float c = f32_in(pc[i], op->flags);
		d[i] = f32_out(fmaf(a, b, c), op->flags););
	host_rounding(RND_RN);
	return OP_NEXT;
}

OP_HEAD(fma_f64_full)
{
	double *d = slot(w, op->dst);
	const double *pa = slot(w, op->a), *pb = slot(w, op->b), *pc = slot(w, op->c);

	host_rounding(op_rounding(op->flags));
	FOR_LANES(mask, i, d[i] = fma(pa[i], pb[i], pc[i]););
	host_rounding(RND_RN);
	return OP_NEXT;
}

/* -0 is less than +0; of a number and a NaN the number is taken, but with .NaN. */
static float least_f32(float a, float b)
{
	return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static float most_f32(float a, float b)
{
	return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

static double least_f64(double a, double b)
{
	return a != a ? b : b != b ? a : a == b ? (signbit(a) ? a : b) : a < b ? a : b;
}

static double most_f64(double a, double b)
{
	return a != a ? b : b != b ? a : a == b ? (signbit(a) ? b : a) : a > b ? a : b;
}

static float choose_f32(float a, float b, unsigned flags, float (*choose)(float, float))
{
	float result;
	uint32_t sign;

	a = f32_in(a, flags);
	b = f32_in(b, flags);
	if (flags & OPF_NEG && (a != a || b != b))
		return f32_of(F32_NAN);
	if (!(flags & OPF_ABS))
		return f32_canonical(choose(a, b));
	sign = (f32_bits(a) ^ f32_bits(b)) & 0x80000000;
	result = f32_canonical(choose(fabsf(a), fabsf(b)));
	return result != result ? result : f32_of(f32_bits(result) | sign);
}
OP2(min_f32, f32, f32, f32, choose_f32(a, b, op->flags, least_f32))
OP2(max_f32, f32, f32, f32, choose_f32(a, b, op->flags, most_f32))
OP2(min_f64, f64, f64, f64, least_f64(a, b))
OP2(max_f64, f64, f64, f64, most_f64(a, b))

OP1(abs_f32, f32, f32, f32_in(f32_of(f32_bits(a) & 0x7fffffff), op->flags))
OP1(neg_f32, f32, f32, f32_in(f32_of(f32_bits(a) ^ 0x80000000), op->flags))
OP1(abs_f64, f64, f64, fabs(a))
OP1(neg_f64, f64, f64, -a)
OP2(copysign_f32, f32, f32, f32, copysignf(b, a))
OP2(copysign_f64, f64, f64, f64, copysign(b, a))

/* approximate forms are computed exactly, but where the definition says otherwise */
OP_HEAD(rcp_f32)
{
	return rcp_rn_f32_full(w, op, mask);
}
OP_HEAD(sqrt_f32)
{
	return sqrt_rn_f32_full(w, op, mask);
}
/* rcp.approx.ftz.f64: 20 bits of the mantissa, the low word zero */
static double coarse(double v)
{
	uint64_t bits = f64_bits(v);

	if (v != v)
		return f64_of(0x7fffffff00000000ull);
	if (!(bits >> 52 & 0x7ff))
		return f64_of(bits & 1ull << 63);
	return f64_of(bits & ~0xffffffffull);
}
static double flush_f64(double v)
{
	return f64_bits(v) >> 52 & 0x7ff ? v : f64_of(f64_bits(v) & 1ull << 63);
}
OP1(rcp_coarse_f64, f64, f64, coarse(1.0 / flush_f64(a)))
OP1(rsqrt_f64, f64, f64, coarse(1.0 / sqrt(flush_f64(a))))
OP_HEAD(rcp_f64)
{
	return op->imm ? rcp_coarse_f64(w, op, mask) : rcp_rn_f64_full(w, op, mask);
}

#define ROUNDS (7 << OPF_RND_SHIFT)
#define F32(op, signature, plain, full) \
	{ op, ALU_PLAIN, T_F32, signature, plain, full, OPF_FTZ | OPF_SAT | ROUNDS }
#define F64(op, signature, plain, full) { op, ALU_PLAIN, T_F64, signature, plain, full, ROUNDS }
#define SAME(op, T, signature, fn, flags) { op, ALU_PLAIN, T, signature, fn, fn, flags }

const struct alu alu_float[] = {
	F32("add", "TTT", add_f32, add_f32_full), F64("add", "TTT", add_f64, add_f64_full),
	F32("sub", "TTT", sub_f32, sub_f32_full), F64("sub", "TTT", sub_f64, sub_f64_full),
	F32("mul", "TTT", mul_f32, mul_f32_full), F64("mul", "TTT", mul_f64, mul_f64_full),
	F32("fma", "TTTT", fma_f32, fma_f32_full), F64("fma", "TTTT", fma_f64, fma_f64_full),
	F32("mad", "TTTT", fma_f32, fma_f32_full), F64("mad", "TTTT", fma_f64, fma_f64_full),
	F32("div", "TTT", div_f32, div_f32), F64("div", "TTT", div_rn_f64, div_rn_f64_full),
	F32("sqrt", "TT", sqrt_f32, sqrt_f32), F64("sqrt", "TT", sqrt_rn_f64_full, sqrt_rn_f64_full),
	F32("rcp", "TT", rcp_f32, rcp_f32),
	SAME("rcp", T_F64, "TT", rcp_f64, OPF_FTZ | ROUNDS),
	SAME("rsqrt", T_F64, "TT", rsqrt_f64, OPF_FTZ),
	SAME("min", T_F32, "TTT", min_f32, OPF_FTZ | OPF_NEG | OPF_ABS),
	SAME("max", T_F32, "TTT", max_f32, OPF_FTZ | OPF_NEG | OPF_ABS),
	SAME("min", T_F64, "TTT", min_f64, 0), SAME("max", T_F64, "TTT", max_f64, 0),
	SAME("abs", T_F32, "TT", abs_f32, OPF_FTZ), SAME("neg", T_F32, "TT", neg_f32, OPF_FTZ),
	SAME("abs", T_F64, "TT", abs_f64, 0), SAME("neg", T_F64, "TT", neg_f64, 0),
	SAME("copysign", T_F32, "TTT", copysign_f32, 0),
	SAME("copysign", T_F64, "TTT", copysign_f64, 0),
	END_OF_TABLE
};
