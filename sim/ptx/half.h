/* SPDX-License-Identifier: Apache-2.0 */
/* Small float formats, and float helpers that several files share. */
#ifndef SIM_PTX_HALF_H
#define SIM_PTX_HALF_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "machine.h"

static inline uint32_t f32_bits(float v)
{
	uint32_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static inline float f32_of(uint32_t bits)
{
	float v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

static inline uint64_t f64_bits(double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	return bits;
}

static inline double f64_of(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	return v;
}

/* The NaN that single-precision instructions give. */
#define F32_NAN 0x7fffffffu

static inline float f32_canonical(float v)
{
	return v != v ? f32_of(F32_NAN) : v;
}

/* Subnormals become zero of the same sign. */
static inline float f32_flush(float v)
{
	uint32_t bits = f32_bits(v);

	return bits & 0x7f800000 ? v : f32_of(bits & 0x80000000);
}

static inline float f32_saturate(float v)
{
	return v > 0 ? (v < 1 ? v : 1) : 0;	/* NaN too becomes 0 */
}

struct small_format {
	unsigned mantissa;	/* bits without the hidden one */
	unsigned exponent;	/* bits */
	uint16_t top, inf, nan;	/* largest finite value; infinity, 0: there is none; NaN */
};
extern const struct small_format format_f16, format_bf16, format_e4m3, format_e5m2;

double small_to_f64(uint16_t bits, const struct small_format *format);
/* With SATFINITE as a flag, values beyond the largest finite one become that one. */
uint16_t small_from_f64(double value, const struct small_format *format, enum rounding rounding,
			int finite);
uint16_t small_flush(uint16_t bits, const struct small_format *format);

/* x + y rounded to odd: rounding it again to fewer bits gives what one rounding would. */
double sum_to_odd(double x, double y);

/* Set the host's rounding for the computations that follow; RND_NONE is nearest. */
void host_rounding(enum rounding rounding);

#endif
