/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conversions.  The common ones have functions of their own; all others go
 * through one that reads the types from op->imm.
 */
#include "half.h"
#include "lanes.h"

/* Integers to integers without saturation: the source's sign extends, the destination cuts. */
#define INT(R, A) OP1(R##_from_##A, R, A, a)
#define INTS(R) INT(R, u8) INT(R, s8) INT(R, u16) INT(R, s16) INT(R, u32) INT(R, s32) INT(R, u64) \
	INT(R, s64)
INTS(u8)
INTS(s8)
INTS(u16)
INTS(s16)
INTS(u32)
INTS(s32)
INTS(u64)
INTS(s64)
#define INT_ROW(R) { [T_U8] = R##_from_u8, [T_S8] = R##_from_s8, [T_U16] = R##_from_u16, \
	[T_S16] = R##_from_s16, [T_U32] = R##_from_u32, [T_S32] = R##_from_s32, \
	[T_U64] = R##_from_u64, [T_S64] = R##_from_s64 }
static op_fn *const integers[T_COUNT][T_COUNT] = {
	[T_U8] = INT_ROW(u8), [T_S8] = INT_ROW(s8), [T_U16] = INT_ROW(u16), [T_S16] = INT_ROW(s16),
	[T_U32] = INT_ROW(u32), [T_S32] = INT_ROW(s32), [T_U64] = INT_ROW(u64),
	[T_S64] = INT_ROW(s64),
};

OP1(f32_from_s32, f32, s32, (float)a)
OP1(f32_from_u32, f32, u32, (float)a)
OP1(f64_from_s32, f64, s32, (double)a)
OP1(f64_from_u32, f64, u32, (double)a)
OP1(f64_from_f32, f64, f32, (double)f32_canonical(a))
OP1(f32_from_f64, f32, f64, f32_canonical((float)a))

/* A value on its way: an integer or a float that holds it exactly. */
struct number {
	int is_float;
	int is_negative;	/* integers: the magnitude is in `integer` */
	uint64_t integer;
	double real;
};

static struct number read_number(const void *p, unsigned i, enum ptx_type type, int ftz)
{
	struct number n = { 0 };
	int64_t value = 0;

	switch (type) {
	case T_U8: value = (uint8_t)((const uint32_t *)p)[i]; break;
	case T_U16: value = (uint16_t)((const uint32_t *)p)[i]; break;
	case T_U32: value = ((const uint32_t *)p)[i]; break;
	case T_U64: n.integer = ((const uint64_t *)p)[i]; return n;
	case T_S8: value = (int8_t)((const uint32_t *)p)[i]; break;
	case T_S16: value = (int16_t)((const uint32_t *)p)[i]; break;
	case T_S32: value = (int32_t)((const uint32_t *)p)[i]; break;
	case T_S64: value = ((const int64_t *)p)[i]; break;
	default: n.is_float = 1; break;
	}
	if (!n.is_float) {
		n.is_negative = value < 0;
		n.integer = value < 0 ? -(uint64_t)value : (uint64_t)value;
		return n;
	}
	if (type == T_F16)
		n.real = small_to_f64((uint16_t)((const uint32_t *)p)[i], &format_f16);
	else if (type == T_BF16)
		n.real = small_to_f64((uint16_t)((const uint32_t *)p)[i], &format_bf16);
	else if (type == T_F32)
		n.real = (double)(ftz ? f32_flush(((const float *)p)[i]) : ((const float *)p)[i]);
	else
		n.real = ((const double *)p)[i];
	return n;
}

static double to_integral(double v, enum rounding rounding)
{
	switch (rounding) {
	case RND_RZ: return trunc(v);
	case RND_RM: return floor(v);
	case RND_RP: return ceil(v);
	default: return rint(v);	/* the host rounds to nearest even */
	}
}

/* Floats beyond the range of the integer clamp to it; NaN gives 0, or the top bit where 64 bits play a part. */
static uint64_t float_to_int(double v, enum ptx_type type, enum ptx_type from,
			     enum rounding rounding)
{
	unsigned bits = ptx_types[type].size * 8u;
	double limit;

	v = to_integral(v, rounding);
	if (v != v)
		return bits == 64 || from == T_F64 ? 1ull << (bits - 1) : 0;
	if (ptx_types[type].is_signed) {
		limit = ldexp(1, (int)bits - 1);
		if (v >= limit)
			return (1ull << (bits - 1)) - 1;
		if (v < -limit)
			return -(1ull << (bits - 1));
		return (uint64_t)(int64_t)v;
	}
	limit = ldexp(1, (int)bits);
	if (v >= limit)
		return bits == 64 ? ~0ull : (1ull << bits) - 1;
	return v > 0 ? (uint64_t)v : 0;
}

static uint64_t saturate_int(struct number n, enum ptx_type type)
{
	unsigned bits = ptx_types[type].size * 8u;
	uint64_t most = ptx_types[type].is_signed ? (1ull << (bits - 1)) - 1 :
			bits == 64 ? ~0ull : (1ull << bits) - 1;

	if (!n.is_negative)
		return n.integer > most ? most : n.integer;
	if (!ptx_types[type].is_signed)
		return 0;
	return n.integer > most + 1 ? -(most + 1) : -n.integer;
}

static void write_int(void *p, unsigned i, enum ptx_type type, uint64_t value)
{
	switch (type) {
	case T_U8: value = (uint8_t)value; break;
	case T_S8: value = (uint64_t)(int8_t)value; break;
	case T_U16: value = (uint16_t)value; break;
	case T_S16: value = (uint64_t)(int16_t)value; break;
	default: break;
	}
	if (ptx_types[type].size == 8)
		((uint64_t *)p)[i] = value;
	else
		((uint32_t *)p)[i] = (uint32_t)value;
}

/* An integer too long for a double, rounded to odd so that one more rounding is right. */
static double odd_double(uint64_t v)
{
	unsigned cut;

	if (v < 1ull << 54)
		return (double)v;
	cut = 11;
	return ldexp((double)((v >> cut) | ((v & ((1ull << cut) - 1)) != 0)), (int)cut);
}

static float narrow_f32(volatile double v, enum rounding rounding)
{
	volatile float result;

	host_rounding(rounding);
	result = (float)v;
	host_rounding(RND_RN);
	return result;
}

static double int_to_f64(struct number n, enum rounding rounding)
{
	volatile uint64_t v = n.integer;
	volatile double result;

	/* Rounding of the magnitude turns round for negative numbers. */
	if (n.is_negative && rounding == RND_RM)
		rounding = RND_RP;
	else if (n.is_negative && rounding == RND_RP)
		rounding = RND_RM;
	host_rounding(rounding);
	result = (double)v;
	host_rounding(RND_RN);
	return n.is_negative ? -result : result;
}

static void write_float(void *p, unsigned i, enum ptx_type type, double v, const struct op *op,
			enum rounding rounding)
{
	unsigned flags = op->flags;
	int finite = flags & OPF_SAT && type != T_F32 && type != T_F64 && op->c;

	if (flags & OPF_RELU && (v < 0 || (v == 0 && signbit(v))))
		v = 0;
	if (flags & OPF_SAT && !finite)
		v = v > 0 ? (v < 1 ? v : 1) : 0;
	if (type == T_F64) {
		((double *)p)[i] = v;
	} else if (type == T_F32) {
		float result = f32_canonical(narrow_f32(v, rounding));

		((float *)p)[i] = flags & OPF_FTZ ? f32_flush(result) : result;
	} else {
		((uint32_t *)p)[i] = small_from_f64(v, type == T_F16 ? &format_f16 : &format_bf16,
						    rounding, finite);
	}
}

static void convert_lane(void *d, const void *a, unsigned i, const struct op *op)
{
	enum ptx_type to = op->imm >> 8 & 255, from = op->imm & 255;
	enum rounding rounding = op_rounding(op->flags);
	struct number n = read_number(a, i, from, op->flags & OPF_FTZ);
	double v;

	if (ptx_types[to].class != C_FLOAT) {
		write_int(d, i, to, n.is_float ? float_to_int(n.real, to, from, rounding) :
			  op->flags & OPF_SAT ? saturate_int(n, to) :
			  n.is_negative ? -n.integer : n.integer);
		return;
	}
	if (n.is_float)
		v = op->imm >> 16 & 1 ? to_integral(n.real, rounding) : n.real;
	else if (to == T_F64)
		v = int_to_f64(n, rounding);
	else
		v = n.is_negative ? -odd_double(n.integer) : odd_double(n.integer);
	/* sign of a rounded zero stays */
	if (n.is_float && v == 0)
		v = copysign(0, n.real);
	write_float(d, i, to, v, op, rounding);
}

static int op_cvt(struct warp *w, const struct op *op, uint32_t mask)
{
	void *d = slot(w, op->dst);
	const void *a = slot(w, op->a);

	FOR_LANES(mask, i, convert_lane(d, a, i, op););
	return OP_NEXT;
}

/* cvt.rn.f16x2.f32 d, a, b: a goes into the upper half */
static int op_cvt_pair(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst), half[2];
	const float *a = slot(w, op->a), *b = slot(w, op->b);
	struct op one = *op;
	enum ptx_type to = (op->imm >> 8 & 255) == T_F16X2 ? T_F16 : T_BF16;

	one.imm = (uint64_t)to << 8 | T_F32;
	FOR_LANES(mask, i,
		convert_lane(&half[0], &b[i], 0, &one);
		convert_lane(&half[1], &a[i], 0, &one);
		d[i] = half[0] | half[1] << 16;);
	return OP_NEXT;
}

/* cvt.rna.tf32.f32: 10 bits of mantissa, ties away from zero */
static int op_cvt_tf32(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a);

	FOR_LANES(mask, i,
		uint32_t v = a[i];
		if ((v & 0x7f800000) == 0x7f800000)
			d[i] = v & 0x7fffff ? F32_NAN : v;
		else if (op_rounding(op->flags) == RND_RZ)
			d[i] = v & ~0x1fffu;
		else if (op_rounding(op->flags) == RND_RN)
			d[i] = (v + 0xfff + (v >> 13 & 1)) & ~0x1fffu;
		else
			d[i] = (v + 0x1000) & ~0x1fffu;);
	return OP_NEXT;
}

static const struct small_format *small_of(enum ptx_type type)
{
	return type == T_E4M3X2 ? &format_e4m3 : &format_e5m2;
}

static uint32_t to_fp8(double v, const struct small_format *f, unsigned flags)
{
	/* Minus zero becomes plus zero too. */
	if (flags & OPF_RELU && signbit(v) && !isnan(v))
		v = 0;
	return small_from_f64(v, f, RND_RN, 1);
}

/* cvt.rn.satfinite.e4m3x2.f32 d, a, b: a goes into the upper half */
static int op_cvt_fp8_f32(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct small_format *f = small_of(op->imm >> 8 & 255);
	uint32_t *d = slot(w, op->dst);
	const float *a = slot(w, op->a), *b = slot(w, op->b);

	FOR_LANES(mask, i, d[i] = to_fp8((double)a[i], f, op->flags) << 8 |
				  to_fp8((double)b[i], f, op->flags););
	return OP_NEXT;
}

static int op_cvt_fp8_f16(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct small_format *f = small_of(op->imm >> 8 & 255);
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a);

	FOR_LANES(mask, i,
		d[i] = to_fp8(small_to_f64((uint16_t)(a[i] >> 16), &format_f16), f, op->flags) << 8 |
		       to_fp8(small_to_f64((uint16_t)a[i], &format_f16), f, op->flags););
	return OP_NEXT;
}

static uint32_t from_fp8(unsigned bits, const struct small_format *f, unsigned flags)
{
	double v = small_to_f64((uint16_t)bits, f);

	return small_from_f64(flags & OPF_RELU && v < 0 ? 0 : v, &format_f16, RND_RN, 0);
}

static int op_cvt_f16_fp8(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct small_format *f = small_of(op->imm & 255);
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a);

	FOR_LANES(mask, i, d[i] = from_fp8(a[i] >> 8 & 255, f, op->flags) << 16 |
				  from_fp8(a[i] & 255, f, op->flags););
	return OP_NEXT;
}

static op_fn *convert_fp8(enum ptx_type to, enum ptx_type from, enum rounding rounding, unsigned flags)
{
	int to_fp = to == T_E4M3X2 || to == T_E5M2X2, from_fp = from == T_E4M3X2 || from == T_E5M2X2;

	if (rounding != RND_RN || flags & OPF_FTZ)
		return NULL;
	if (to_fp && flags & OPF_SAT)
		return from == T_F32 ? op_cvt_fp8_f32 : from == T_F16X2 ? op_cvt_fp8_f16 : NULL;
	return from_fp && to == T_F16X2 && !(flags & OPF_SAT) ? op_cvt_f16_fp8 : NULL;
}

static op_fn *convert_common(enum ptx_type to, enum ptx_type from, enum rounding rounding)
{
	if (rounding != RND_NONE && rounding != RND_RN)
		return NULL;
	if (to == T_F32 && from == T_S32)
		return f32_from_s32;
	if (to == T_F32 && from == T_U32)
		return f32_from_u32;
	if (to == T_F64 && from == T_S32)
		return f64_from_s32;
	if (to == T_F64 && from == T_U32)
		return f64_from_u32;
	if (to == T_F64 && from == T_F32)
		return f64_from_f32;
	if (to == T_F32 && from == T_F64)
		return f32_from_f64;
	return NULL;
}

static int is_plain_float(enum ptx_type type)
{
	return type == T_F16 || type == T_BF16 || type == T_F32 || type == T_F64;
}

op_fn *convert_find(enum ptx_type to, enum ptx_type from, enum rounding rounding, int integral,
		    unsigned flags)
{
	int to_float = is_plain_float(to), from_float = is_plain_float(from);
	int to_int = integers[T_U8][to] != NULL, from_int = integers[T_U8][from] != NULL;
	op_fn *fn;

	if (to == T_TF32 && from == T_F32)
		return flags || rounding == RND_RM || rounding == RND_RP ? NULL : op_cvt_tf32;
	if (to == T_E4M3X2 || to == T_E5M2X2 || from == T_E4M3X2 || from == T_E5M2X2)
		return convert_fp8(to, from, rounding, flags);
	if ((to == T_F16X2 || to == T_BF16X2) && from == T_F32)
		return rounding == RND_RN || rounding == RND_RZ ? op_cvt_pair : NULL;
	if (!(to_float || to_int) || !(from_float || from_int))
		return NULL;
	if (to_int && from_int)
		return rounding ? NULL : flags & OPF_SAT ? op_cvt : integers[to][from];
	if (to_int && (!rounding || rounding == RND_RNA))
		return NULL;	/* a float becomes an integer only by a stated rounding */
	if (to_float && from_float && !flags && !integral) {
		fn = convert_common(to, from, rounding);
		if (fn)
			return fn;
	}
	if (to_float && from_int && !flags) {
		fn = convert_common(to, from, rounding);
		if (fn)
			return fn;
	}
	return op_cvt;
}
