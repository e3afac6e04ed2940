/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The approximate functions.  They are computed in double precision and
 * rounded, which is within every error that the PTX definition allows.
 */
#include "half.h"
#include "lanes.h"

static float math_in(float v, unsigned flags)
{
	return flags & OPF_FTZ ? f32_flush(v) : v;
}

static float math_out(double v, unsigned flags)
{
	float narrow = (float)v;

	return f32_canonical(flags & OPF_FTZ ? f32_flush(narrow) : narrow);
}

#define MATH(name, expr) \
	OP_HEAD(name##_f32) \
	{ \
		float *d = slot(w, op->dst); \
		const float *pa = slot(w, op->a); \
		FOR_LANES(mask, i, double a = (double)math_in(pa[i], op->flags); \
			  d[i] = math_out(expr, op->flags);); \
		return OP_NEXT; \
	}
MATH(sin, sin(a))
MATH(cos, cos(a))
MATH(ex2, exp2(a))
MATH(lg2, log2(a))
MATH(rsqrt, 1.0 / sqrt(a))
MATH(tanh, tanh(a))

static uint16_t small_math(uint16_t bits, const struct small_format *f, double (*fn)(double), int ftz)
{
	uint16_t result = small_from_f64(fn(small_to_f64(ftz ? small_flush(bits, f) : bits, f)), f,
					 RND_RN, 0);

	return ftz ? small_flush(result, f) : result;
}

#define SMALL_MATH(name, fn, T) \
	OP1(name##_##T, u32, u16, small_math(a, &format_##T, fn, op->flags & OPF_FTZ)) \
	OP1(name##_##T##x2, u32, u32, \
	    small_math((uint16_t)a, &format_##T, fn, op->flags & OPF_FTZ) | \
	    (uint32_t)small_math((uint16_t)(a >> 16), &format_##T, fn, op->flags & OPF_FTZ) << 16)
SMALL_MATH(ex2, exp2, f16)
SMALL_MATH(ex2, exp2, bf16)
SMALL_MATH(tanh, tanh, f16)
SMALL_MATH(tanh, tanh, bf16)

#define ENTRY(op, T, fn) { op, ALU_PLAIN, T, "TT", fn, fn, OPF_FTZ }

const struct alu alu_math[] = {
	ENTRY("sin", T_F32, sin_f32), ENTRY("cos", T_F32, cos_f32), ENTRY("ex2", T_F32, ex2_f32),
	ENTRY("lg2", T_F32, lg2_f32), ENTRY("rsqrt", T_F32, rsqrt_f32),
	ENTRY("tanh", T_F32, tanh_f32),
	ENTRY("ex2", T_F16, ex2_f16), ENTRY("ex2", T_F16X2, ex2_f16x2),
	ENTRY("ex2", T_BF16, ex2_bf16), ENTRY("ex2", T_BF16X2, ex2_bf16x2),
	ENTRY("tanh", T_F16, tanh_f16), ENTRY("tanh", T_F16X2, tanh_f16x2),
	ENTRY("tanh", T_BF16, tanh_bf16), ENTRY("tanh", T_BF16X2, tanh_bf16x2),
	END_OF_TABLE
};
