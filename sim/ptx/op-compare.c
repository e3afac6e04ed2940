/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, selections, predicates. */
#include "half.h"
#include "lanes.h"

#define COMPARE(name, T, expr) \
	static uint32_t name##_##T(struct warp *w, const struct op *op, uint32_t mask) \
	{ \
		const LANE_##T *pa = slot(w, op->a), *pb = slot(w, op->b); \
		uint32_t bits = 0; \
		FOR_LANES(mask, i, VAL_##T a = (VAL_##T)pa[i]; VAL_##T b = (VAL_##T)pb[i]; \
			  bits |= (uint32_t)(expr) << i;); \
		return bits; \
	}
#define COMPARES(T) \
	COMPARE(eq, T, a == b) COMPARE(ne, T, a != b) COMPARE(lt, T, a < b) \
	COMPARE(le, T, a <= b) COMPARE(gt, T, a > b) COMPARE(ge, T, a >= b)
COMPARES(u16)
COMPARES(s16)
COMPARES(u32)
COMPARES(s32)
COMPARES(u64)
COMPARES(s64)

/* Float comparisons come as four bits: less, equal, greater, unordered. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

static const uint8_t accepted[CMP_COUNT] = {
	[CMP_EQ] = EQUAL, [CMP_NE] = LESS | GREATER, [CMP_LT] = LESS, [CMP_LE] = LESS | EQUAL,
	[CMP_GT] = GREATER, [CMP_GE] = GREATER | EQUAL,
	[CMP_EQU] = EQUAL | UNORDERED, [CMP_NEU] = LESS | GREATER | UNORDERED,
	[CMP_LTU] = LESS | UNORDERED, [CMP_LEU] = LESS | EQUAL | UNORDERED,
	[CMP_GTU] = GREATER | UNORDERED, [CMP_GEU] = GREATER | EQUAL | UNORDERED,
	[CMP_NUM] = LESS | EQUAL | GREATER, [CMP_NAN] = UNORDERED,
};

static unsigned order(double a, double b)
{
	return a < b ? LESS : a == b ? EQUAL : a > b ? GREATER : UNORDERED;
}

static double small_value(uint32_t bits, const struct small_format *f, unsigned flags)
{
	return small_to_f64(flags & OPF_FTZ ? small_flush((uint16_t)bits, f) : (uint16_t)bits, f);
}

#define FLOAT_COMPARE(name, T, CMP, value) \
	static uint32_t name##_##T(struct warp *w, const struct op *op, uint32_t mask) \
	{ \
		const SLOT_##T *pa = slot(w, op->a), *pb = slot(w, op->b); \
		uint32_t bits = 0; \
		FOR_LANES(mask, i, \
			  bits |= (uint32_t)((accepted[CMP] & order(value(pa[i]), value(pb[i]))) != 0) << i;); \
		return bits; \
	}
#define SLOT_f16 uint32_t
#define SLOT_bf16 uint32_t
#define SLOT_f32 float
#define SLOT_f64 double
#define VALUE_f16(x) small_value(x, &format_f16, op->flags)
#define VALUE_bf16(x) small_value(x, &format_bf16, op->flags)
#define VALUE_f32(x) ((double)(op->flags & OPF_FTZ ? f32_flush(x) : (x)))
#define VALUE_f64(x) (x)
#define FLOAT_COMPARES(T) \
	FLOAT_COMPARE(feq, T, CMP_EQ, VALUE_##T) FLOAT_COMPARE(fne, T, CMP_NE, VALUE_##T) \
	FLOAT_COMPARE(flt, T, CMP_LT, VALUE_##T) FLOAT_COMPARE(fle, T, CMP_LE, VALUE_##T) \
	FLOAT_COMPARE(fgt, T, CMP_GT, VALUE_##T) FLOAT_COMPARE(fge, T, CMP_GE, VALUE_##T) \
	FLOAT_COMPARE(fequ, T, CMP_EQU, VALUE_##T) FLOAT_COMPARE(fneu, T, CMP_NEU, VALUE_##T) \
	FLOAT_COMPARE(fltu, T, CMP_LTU, VALUE_##T) FLOAT_COMPARE(fleu, T, CMP_LEU, VALUE_##T) \
	FLOAT_COMPARE(fgtu, T, CMP_GTU, VALUE_##T) FLOAT_COMPARE(fgeu, T, CMP_GEU, VALUE_##T) \
	FLOAT_COMPARE(fnum, T, CMP_NUM, VALUE_##T) FLOAT_COMPARE(fnan, T, CMP_NAN, VALUE_##T)
FLOAT_COMPARES(f16)
FLOAT_COMPARES(bf16)
FLOAT_COMPARES(f32)
FLOAT_COMPARES(f64)

#define FLOAT_ROW(T) { \
	[CMP_EQ] = feq_##T, [CMP_NE] = fne_##T, [CMP_LT] = flt_##T, [CMP_LE] = fle_##T, \
	[CMP_GT] = fgt_##T, [CMP_GE] = fge_##T, [CMP_EQU] = fequ_##T, [CMP_NEU] = fneu_##T, \
	[CMP_LTU] = fltu_##T, [CMP_LEU] = fleu_##T, [CMP_GTU] = fgtu_##T, [CMP_GEU] = fgeu_##T, \
	[CMP_NUM] = fnum_##T, [CMP_NAN] = fnan_##T }
#define SIGNED_ROW(T) { \
	[CMP_EQ] = eq_##T, [CMP_NE] = ne_##T, [CMP_LT] = lt_##T, [CMP_LE] = le_##T, \
	[CMP_GT] = gt_##T, [CMP_GE] = ge_##T }
#define UNSIGNED_ROW(T) { \
	[CMP_EQ] = eq_##T, [CMP_NE] = ne_##T, [CMP_LT] = lt_##T, [CMP_LE] = le_##T, \
	[CMP_GT] = gt_##T, [CMP_GE] = ge_##T, [CMP_LO] = lt_##T, [CMP_LS] = le_##T, \
	[CMP_HI] = gt_##T, [CMP_HS] = ge_##T }
#define BITS_ROW(T) { [CMP_EQ] = eq_##T, [CMP_NE] = ne_##T }

static compare_fn *const compares[T_COUNT][CMP_COUNT] = {
	[T_B16] = BITS_ROW(u16), [T_B32] = BITS_ROW(u32), [T_B64] = BITS_ROW(u64),
	[T_U16] = UNSIGNED_ROW(u16), [T_U32] = UNSIGNED_ROW(u32), [T_U64] = UNSIGNED_ROW(u64),
	[T_S16] = SIGNED_ROW(s16), [T_S32] = SIGNED_ROW(s32), [T_S64] = SIGNED_ROW(s64),
	[T_F16] = FLOAT_ROW(f16), [T_BF16] = FLOAT_ROW(bf16), [T_F32] = FLOAT_ROW(f32),
	[T_F64] = FLOAT_ROW(f64),
	/* pairs go through op_setp_half2, half by half */
	[T_F16X2] = FLOAT_ROW(f16), [T_BF16X2] = FLOAT_ROW(bf16),
};

compare_fn *compare_find(enum compare cmp, enum ptx_type type)
{
	return compares[type][cmp];
}

static uint32_t combine(struct warp *w, const struct op *op, uint32_t bits)
{
	switch (op->imm) {
	case LOGIC_AND: return bits & pred(w, op->c);
	case LOGIC_OR: return bits | pred(w, op->c);
	case LOGIC_XOR: return bits ^ pred(w, op->c);
	default: return bits;
	}
}

int op_setp(struct warp *w, const struct op *op, uint32_t mask)
{
	compare_fn *compare = (compare_fn *)op->ext;
	uint32_t bits = compare(w, op, mask), p = combine(w, op, bits);
	uint32_t q = op->d ? combine(w, op, ~bits) : 0;

	set_pred(w, op->dst, mask, p);
	if (op->d)
		set_pred(w, op->d, mask, q);
	return OP_NEXT;
}

/* The comparison of the high halves; its operands are read from a table in place of the frame. */
static uint32_t compare_high(struct warp *w, const struct op *op, uint32_t mask)
{
	compare_fn *compare = (compare_fn *)op->ext;
	uint32_t tops[2][LANES] __attribute__((aligned(64))), bits;
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b);
	struct op shifted = *op;
	unsigned char *base = w->base[0];

	FOR_LANES(mask, i, tops[0][i] = a[i] >> 16; tops[1][i] = b[i] >> 16;);
	shifted.a = 0;
	shifted.b = sizeof(tops[0]);
	w->base[0] = (unsigned char *)tops;
	bits = compare(w, &shifted, mask);
	w->base[0] = base;
	return bits;
}

/* p from the low halves, q from the high ones */
int op_setp_half2(struct warp *w, const struct op *op, uint32_t mask)
{
	compare_fn *compare = (compare_fn *)op->ext;
	uint32_t low = combine(w, op, compare(w, op, mask));
	uint32_t high = combine(w, op, compare_high(w, op, mask));

	set_pred(w, op->dst, mask, low);
	set_pred(w, op->d, mask, high);
	return OP_NEXT;
}

int op_set_half2(struct warp *w, const struct op *op, uint32_t mask)
{
	compare_fn *compare = (compare_fn *)op->ext;
	uint32_t low = combine(w, op, compare(w, op, mask));
	uint32_t high = combine(w, op, compare_high(w, op, mask));
	uint32_t *d = slot(w, op->dst);

	FOR_LANES(mask, i, d[i] = (low >> i & 1 ? op->d : 0) | (high >> i & 1 ? op->d << 16 : 0););
	return OP_NEXT;
}

/* d holds what true is */
int op_set(struct warp *w, const struct op *op, uint32_t mask)
{
	compare_fn *compare = (compare_fn *)op->ext;
	uint32_t bits = combine(w, op, compare(w, op, mask));
	uint32_t *d = slot(w, op->dst);

	FOR_LANES(mask, i, d[i] = bits >> i & 1 ? op->d : 0;);
	return OP_NEXT;
}

int op_selp32(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst), bits = pred(w, op->c);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b);

	FOR_LANES(mask, i, d[i] = bits >> i & 1 ? a[i] : b[i];);
	return OP_NEXT;
}

int op_selp64(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst);
	const uint64_t *a = slot(w, op->a), *b = slot(w, op->b);
	uint32_t bits = pred(w, op->c);

	FOR_LANES(mask, i, d[i] = bits >> i & 1 ? a[i] : b[i];);
	return OP_NEXT;
}

/* imm: c is a float, of which -0 counts as not negative and NaN as negative */
static int takes_first(uint32_t c, const struct op *op)
{
	float v = f32_of(c);

	if (!op->imm)
		return (int32_t)c >= 0;
	if (op->flags & OPF_FTZ)
		v = f32_flush(v);
	return v >= 0;
}

int op_slct32(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);

	FOR_LANES(mask, i, d[i] = takes_first(c[i], op) ? a[i] : b[i];);
	return OP_NEXT;
}

int op_slct64(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst);
	const uint64_t *a = slot(w, op->a), *b = slot(w, op->b);
	const uint32_t *c = slot(w, op->c);

	FOR_LANES(mask, i, d[i] = takes_first(c[i], op) ? a[i] : b[i];);
	return OP_NEXT;
}

/* imm: which test, in the order of the modifier table */
static int has_property(int class, unsigned test)
{
	switch (test) {
	case 1: return class != FP_INFINITE && class != FP_NAN;
	case 2: return class == FP_INFINITE;
	case 3: return class != FP_NAN;
	case 4: return class == FP_NAN;
	case 5: return class == FP_NORMAL || class == FP_ZERO;
	default: return class == FP_SUBNORMAL;
	}
}

int op_testp(struct warp *w, const struct op *op, uint32_t mask)
{
	const float *f = slot(w, op->a);
	const double *g = slot(w, op->a);
	uint32_t bits = 0;

	FOR_LANES(mask, i,
		int class = op->flags & OPF_WIDE ? fpclassify(g[i]) : fpclassify(f[i]);
		bits |= (uint32_t)has_property(class, (unsigned)op->imm) << i;);
	set_pred(w, op->dst, mask, bits);
	return OP_NEXT;
}

int op_pred_and(struct warp *w, const struct op *op, uint32_t mask)
{
	set_pred(w, op->dst, mask, pred(w, op->a) & pred(w, op->b));
	return OP_NEXT;
}

int op_pred_or(struct warp *w, const struct op *op, uint32_t mask)
{
	set_pred(w, op->dst, mask, pred(w, op->a) | pred(w, op->b));
	return OP_NEXT;
}

int op_pred_xor(struct warp *w, const struct op *op, uint32_t mask)
{
	set_pred(w, op->dst, mask, pred(w, op->a) ^ pred(w, op->b));
	return OP_NEXT;
}

int op_not_pred(struct warp *w, const struct op *op, uint32_t mask)
{
	set_pred(w, op->dst, mask, ~pred(w, op->a));
	return OP_NEXT;
}
