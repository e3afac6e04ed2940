/* SPDX-License-Identifier: Apache-2.0 */
#include <fenv.h>

#include "half.h"

const struct small_format format_f16 = { 10, 5, 0x7bff, 0x7c00, 0x7fff };
const struct small_format format_bf16 = { 7, 8, 0x7f7f, 0x7f80, 0x7fff };
const struct small_format format_e4m3 = { 3, 4, 0x7e, 0, 0x7f };
const struct small_format format_e5m2 = { 2, 5, 0x7b, 0x7c, 0x7f };

static unsigned sign_bit(const struct small_format *f)
{
	return f->mantissa + f->exponent;
}

double small_to_f64(uint16_t bits, const struct small_format *f)
{
	unsigned max = (1u << f->exponent) - 1, bias = max >> 1;
	unsigned exponent = bits >> f->mantissa & max;
	unsigned mantissa = bits & ((1u << f->mantissa) - 1);
	unsigned magnitude = bits & ((1u << sign_bit(f)) - 1);
	uint64_t sign = (uint64_t)(bits >> sign_bit(f) & 1) << 63;
	uint64_t wide;

	if (magnitude > f->top)
		wide = 0x7ffull << 52 | (magnitude == f->inf ? 0 : (uint64_t)mantissa << (52 - f->mantissa));
	else if (exponent)
		wide = (uint64_t)(exponent + 1023 - bias) << 52 |
		       (uint64_t)mantissa << (52 - f->mantissa);
	else
		wide = f64_bits(ldexp(mantissa, 1 - (int)bias - (int)f->mantissa));
	return f64_of(wide | sign);
}

/* Does rounding away from zero apply to a value with `rest` of `unit` cut off? */
static int rounds_up(enum rounding rounding, int negative, uint64_t kept, uint64_t rest,
		     uint64_t half)
{
	switch (rounding) {
	case RND_RZ: return 0;
	case RND_RM: return negative && rest;
	case RND_RP: return !negative && rest;
	case RND_RNA: return rest >= half;
	default: return rest > half || (rest == half && kept & 1);
	}
}

uint16_t small_from_f64(double value, const struct small_format *f, enum rounding rounding,
			int finite)
{
	uint64_t bits = f64_bits(value);
	unsigned max = (1u << f->exponent) - 1, cut, up;
	int negative = bits >> 63, exponent = (int)(bits >> 52 & 0x7ff);
	int least = 1023 - (int)(max >> 1) + 1;		/* exponent of the smallest normal */
	uint64_t mantissa = bits & ((1ull << 52) - 1), kept, rest;
	uint32_t result;

	if (exponent == 0x7ff && mantissa)
		return f->nan;
	if (exponent == 0x7ff)
		return (uint16_t)((finite || !f->inf ? f->top : f->inf) | (unsigned)negative << sign_bit(f));
	if (exponent)
		mantissa |= 1ull << 52;
	else
		exponent = 1;
	cut = 52 - f->mantissa + (exponent < least ? least - exponent : 0);
	if (cut > 63) {
		kept = 0;
		rest = mantissa != 0;
		up = (unsigned)rounds_up(rounding, negative, 0, rest, 2);
	} else {
		kept = mantissa >> cut;
		rest = mantissa & ((1ull << cut) - 1);
		up = (unsigned)rounds_up(rounding, negative, kept, rest, 1ull << (cut - 1));
	}
	/* The hidden bit adds one to the exponent field, and so does a carry. */
	result = (uint32_t)kept + up;
	if (exponent >= least)
		result += (uint32_t)(exponent - least) << f->mantissa;
	if (exponent - least >= (int)max || result > f->top) {
		int to_inf = rounding != RND_RZ && !(rounding == RND_RM && !negative) &&
			     !(rounding == RND_RP && negative);

		result = to_inf && !finite && f->inf ? f->inf : f->top;
	}
	return (uint16_t)(result | (unsigned)negative << sign_bit(f));
}

uint16_t small_flush(uint16_t bits, const struct small_format *f)
{
	return bits >> f->mantissa & ((1u << f->exponent) - 1) ? bits : bits & 0x8000;
}

double sum_to_odd(double x, double y)
{
	double sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
	uint64_t bits = f64_bits(sum);

	if (!(error != 0) || bits & 1 || !isfinite(sum))
		return sum;
	return f64_of((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

void host_rounding(enum rounding rounding)
{
	static const int modes[] = {
		[RND_NONE] = FE_TONEAREST, [RND_RN] = FE_TONEAREST, [RND_RZ] = FE_TOWARDZERO,
		[RND_RM] = FE_DOWNWARD, [RND_RP] = FE_UPWARD, [RND_RNA] = FE_TONEAREST,
	};

	fesetround(modes[rounding]);
}
