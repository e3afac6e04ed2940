/* SPDX-License-Identifier: Apache-2.0 */
/* Integer arithmetic, with the carry chain. */
#include "lanes.h"

typedef __int128 s128;
typedef unsigned __int128 u128;

/* Wrapping arithmetic is the same for both signs; it is done unsigned. */
#define WRAPPING(T) \
	OP2(add_##T, T, T, T, a + b) \
	OP2(sub_##T, T, T, T, a - b) \
	OP2(mul_##T, T, T, T, (LANE_##T)a * b) \
	OP3(mad_##T, T, T, T, T, (LANE_##T)a * b + c) \
	OP1(neg_##T, T, T, -(LANE_##T)a)
WRAPPING(u16)
WRAPPING(u32)
WRAPPING(u64)

#define ORDERED(T) \
	OP2(min_##T, T, T, T, a < b ? a : b) \
	OP2(max_##T, T, T, T, a > b ? a : b) \
	OP3(sad_##T, T, T, T, T, c + (a < b ? (LANE_##T)b - (LANE_##T)a : (LANE_##T)a - (LANE_##T)b))
ORDERED(u16)
ORDERED(s16)
ORDERED(u32)
ORDERED(s32)
ORDERED(u64)
ORDERED(s64)

/*
 * Division by zero has no defined result; these are what an H200 gives: all ones,
 * but for the remainder of 16-bit numbers, REM0.
 */
#define UNSIGNED_DIVISION(T, REM0) \
	OP2(div_##T, T, T, T, b ? a / b : (VAL_##T)-1) \
	OP2(rem_##T, T, T, T, b ? a % b : REM0)
UNSIGNED_DIVISION(u16, a)
UNSIGNED_DIVISION(u32, UINT32_MAX)
UNSIGNED_DIVISION(u64, UINT64_MAX)
#define SIGNED_DIVISION(T, U, REM0) \
	OP2(div_##T, T, T, T, b == 0 ? (VAL_##T)-1 : b == -1 ? (VAL_##T)-(VAL_##U)a : (VAL_##T)(a / b)) \
	OP2(rem_##T, T, T, T, b == 0 ? REM0 : b == -1 ? 0 : (VAL_##T)(a % b))
SIGNED_DIVISION(s16, u16, a)
SIGNED_DIVISION(s32, u32, -1)
SIGNED_DIVISION(s64, u64, -1)

OP1(abs_s16, s16, s16, a < 0 ? -(uint16_t)a : (uint16_t)a)
OP1(abs_s32, s32, s32, a < 0 ? -(uint32_t)a : (uint32_t)a)
OP1(abs_s64, s64, s64, a < 0 ? -(uint64_t)a : (uint64_t)a)

#define HIGH(T, W, BITS) \
	OP2(mulhi_##T, T, T, T, (VAL_##T)(((W)a * (W)b) >> BITS)) \
	OP3(madhi_##T, T, T, T, T, (VAL_##T)(LANE_##T)((LANE_##T)(((W)a * (W)b) >> BITS) + (LANE_##T)c))
HIGH(u16, uint32_t, 16)
HIGH(s16, int32_t, 16)
HIGH(u32, uint64_t, 32)
HIGH(s32, int64_t, 32)
HIGH(u64, u128, 64)
HIGH(s64, s128, 64)

#define WIDE(T, R) \
	OP2(mulwide_##T, R, T, T, (VAL_##R)a * (VAL_##R)b) \
	OP3(madwide_##T, R, T, T, R, (VAL_##R)((LANE_##R)((VAL_##R)a * (VAL_##R)b) + (LANE_##R)c))
WIDE(u16, u32)
WIDE(u32, u64)
OP2(mulwide_s16, s32, s16, s16, a * b)
OP3(madwide_s16, s32, s16, s16, s32, (uint32_t)(a * b) + (uint32_t)c)
OP2(mulwide_s32, s64, s32, s32, (int64_t)a * b)
OP3(madwide_s32, s64, s32, s32, s64, (uint64_t)((int64_t)a * b) + (uint64_t)c)

static int32_t sat32(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}
OP2(addsat_s32, s32, s32, s32, sat32((int64_t)a + b))
OP2(subsat_s32, s32, s32, s32, sat32((int64_t)a - b))

static int32_t low24(int32_t value)
{
	return (int32_t)((uint32_t)value << 8) >> 8;
}
#define MUL24_U(a, b) ((uint64_t)((a) & 0xffffff) * ((b) & 0xffffff))
#define MUL24_S(a, b) ((int64_t)low24(a) * low24(b))
OP2(mul24lo_u32, u32, u32, u32, MUL24_U(a, b))
OP2(mul24hi_u32, u32, u32, u32, MUL24_U(a, b) >> 16)
OP2(mul24lo_s32, s32, s32, s32, MUL24_S(a, b))
OP2(mul24hi_s32, s32, s32, s32, MUL24_S(a, b) >> 16)
OP3(mad24lo_u32, u32, u32, u32, u32, MUL24_U(a, b) + c)
OP3(mad24hi_u32, u32, u32, u32, u32, (MUL24_U(a, b) >> 16) + c)
OP3(mad24lo_s32, s32, s32, s32, s32, (uint32_t)MUL24_S(a, b) + (uint32_t)c)
OP3(mad24hi_s32, s32, s32, s32, s32, (uint32_t)(MUL24_S(a, b) >> 16) + (uint32_t)c)

#define PAIR(a, b, T, expr) \
	(pair16(({ VAL_##T x = (VAL_##T)(a), y = (VAL_##T)(b); (uint16_t)(expr); }), \
		({ VAL_##T x = (VAL_##T)((a) >> 16), y = (VAL_##T)((b) >> 16); (uint16_t)(expr); })))
static uint32_t pair16(uint16_t low, uint16_t high)
{
	return low | (uint32_t)high << 16;
}
OP2(add_u16x2, u32, u32, u32, PAIR(a, b, u16, x + y))
OP2(min_u16x2, u32, u32, u32, PAIR(a, b, u16, x < y ? x : y))
OP2(max_u16x2, u32, u32, u32, PAIR(a, b, u16, x > y ? x : y))
OP2(min_s16x2, u32, u32, u32, PAIR(a, b, s16, x < y ? x : y))
OP2(max_s16x2, u32, u32, u32, PAIR(a, b, s16, x > y ? x : y))

/*
 * The carry chain: one flag a lane.  After a subtraction it is the borrow.
 * IN: does the flag go in; OUT: does it come out.
 */
#define CHAIN(name, T, W, sum, IN, OUT) \
	OP_HEAD(name) \
	{ \
		LANE_##T *d = slot(w, op->dst); \
		const LANE_##T *pa = slot(w, op->a), *pb = slot(w, op->b); \
		FOR_LANES(mask, i, \
			LANE_##T a = pa[i]; \
			LANE_##T b = pb[i]; \
			unsigned in = IN ? w->carry >> i & 1 : 0; \
			W full = sum; \
			d[i] = (LANE_##T)full; \
			if (OUT) \
				w->carry = (w->carry & ~(1u << i)) | \
					   (uint32_t)(full >> (8 * sizeof(LANE_##T)) & 1) << i; \
		); \
		return OP_NEXT; \
	}
#define CHAINS(T, W) \
	CHAIN(addcc_##T, T, W, (W)a + b + in, 0, 1) \
	CHAIN(addc_##T, T, W, (W)a + b + in, 1, 0) \
	CHAIN(addccc_##T, T, W, (W)a + b + in, 1, 1) \
	CHAIN(subcc_##T, T, W, (W)a - b - in, 0, 1) \
	CHAIN(subc_##T, T, W, (W)a - b - in, 1, 0) \
	CHAIN(subccc_##T, T, W, (W)a - b - in, 1, 1)
CHAINS(u32, uint64_t)
CHAINS(u64, u128)

#define MAD_CHAIN(name, T, W, product, IN, OUT) \
	OP_HEAD(name) \
	{ \
		LANE_##T *d = slot(w, op->dst); \
		const LANE_##T *pa = slot(w, op->a), *pb = slot(w, op->b), *pc = slot(w, op->c); \
		FOR_LANES(mask, i, \
			VAL_##T a = (VAL_##T)pa[i]; \
			VAL_##T b = (VAL_##T)pb[i]; \
			unsigned in = IN ? w->carry >> i & 1 : 0; \
			W full = (W)(LANE_##T)(product) + pc[i] + in; \
			d[i] = (LANE_##T)full; \
			if (OUT) \
				w->carry = (w->carry & ~(1u << i)) | \
					   (uint32_t)(full >> (8 * sizeof(LANE_##T)) & 1) << i; \
		); \
		return OP_NEXT; \
	}
#define MAD_CHAINS(T, W, P) \
	MAD_CHAIN(madlocc_##T, T, W, (LANE_##T)a * (LANE_##T)b, 0, 1) \
	MAD_CHAIN(madclo_##T, T, W, (LANE_##T)a * (LANE_##T)b, 1, 0) \
	MAD_CHAIN(madclocc_##T, T, W, (LANE_##T)a * (LANE_##T)b, 1, 1) \
	MAD_CHAIN(madhicc_##T, T, W, ((P)a * (P)b) >> (8 * sizeof(LANE_##T)), 0, 1) \
	MAD_CHAIN(madchi_##T, T, W, ((P)a * (P)b) >> (8 * sizeof(LANE_##T)), 1, 0) \
	MAD_CHAIN(madchicc_##T, T, W, ((P)a * (P)b) >> (8 * sizeof(LANE_##T)), 1, 1)
MAD_CHAINS(u32, uint64_t, uint64_t)
MAD_CHAINS(s32, uint64_t, int64_t)
MAD_CHAINS(u64, u128, u128)
MAD_CHAINS(s64, u128, s128)

#define ENTRY(op, variant, T, signature, fn) { op, variant, T, signature, fn, NULL, 0 }
#define BOTH(op, variant, bits, signature, fn) \
	ENTRY(op, variant, T_U##bits, signature, fn##_u##bits), \
	ENTRY(op, variant, T_S##bits, signature, fn##_u##bits)
#define EACH(op, variant, bits, signature, fn) \
	ENTRY(op, variant, T_U##bits, signature, fn##_u##bits), \
	ENTRY(op, variant, T_S##bits, signature, fn##_s##bits)
#define BOTH3(op, variant, signature, fn) \
	BOTH(op, variant, 16, signature, fn), BOTH(op, variant, 32, signature, fn), \
	BOTH(op, variant, 64, signature, fn)
#define EACH3(op, variant, signature, fn) \
	EACH(op, variant, 16, signature, fn), EACH(op, variant, 32, signature, fn), \
	EACH(op, variant, 64, signature, fn)
#define CHAIN2(op, variant, signature, fn) \
	BOTH(op, variant, 32, signature, fn), BOTH(op, variant, 64, signature, fn)
#define MADC2(op, variant, fn) \
	EACH(op, variant, 32, "TTTT", fn), EACH(op, variant, 64, "TTTT", fn)

const struct alu alu_int[] = {
	BOTH3("add", ALU_PLAIN, "TTT", add),
	BOTH3("sub", ALU_PLAIN, "TTT", sub),
	ENTRY("add", ALU_SAT, T_S32, "TTT", addsat_s32),
	ENTRY("sub", ALU_SAT, T_S32, "TTT", subsat_s32),
	ENTRY("add", ALU_PLAIN, T_U16X2, "TTT", add_u16x2),
	ENTRY("add", ALU_PLAIN, T_S16X2, "TTT", add_u16x2),
	BOTH3("mul", ALU_LO, "TTT", mul),
	EACH3("mul", ALU_HI, "TTT", mulhi),
	EACH("mul", ALU_WIDE, 16, "WTT", mulwide),
	EACH("mul", ALU_WIDE, 32, "WTT", mulwide),
	BOTH3("mad", ALU_LO, "TTTT", mad),
	EACH3("mad", ALU_HI, "TTTT", madhi),
	EACH("mad", ALU_WIDE, 16, "WTTW", madwide),
	EACH("mad", ALU_WIDE, 32, "WTTW", madwide),
	EACH("mul24", ALU_LO, 32, "TTT", mul24lo),
	EACH("mul24", ALU_HI, 32, "TTT", mul24hi),
	EACH("mad24", ALU_LO, 32, "TTTT", mad24lo),
	EACH("mad24", ALU_HI, 32, "TTTT", mad24hi),
	EACH3("sad", ALU_PLAIN, "TTTT", sad),
	EACH3("div", ALU_PLAIN, "TTT", div),
	EACH3("rem", ALU_PLAIN, "TTT", rem),
	EACH3("min", ALU_PLAIN, "TTT", min),
	EACH3("max", ALU_PLAIN, "TTT", max),
	ENTRY("min", ALU_PLAIN, T_U16X2, "TTT", min_u16x2),
	ENTRY("min", ALU_PLAIN, T_S16X2, "TTT", min_s16x2),
	ENTRY("max", ALU_PLAIN, T_U16X2, "TTT", max_u16x2),
	ENTRY("max", ALU_PLAIN, T_S16X2, "TTT", max_s16x2),
	ENTRY("abs", ALU_PLAIN, T_S16, "TT", abs_s16),
	ENTRY("abs", ALU_PLAIN, T_S32, "TT", abs_s32),
	ENTRY("abs", ALU_PLAIN, T_S64, "TT", abs_s64),
	ENTRY("neg", ALU_PLAIN, T_S16, "TT", neg_u16),
	ENTRY("neg", ALU_PLAIN, T_S32, "TT", neg_u32),
	ENTRY("neg", ALU_PLAIN, T_S64, "TT", neg_u64),
	CHAIN2("add", ALU_CC, "TTT", addcc),
	CHAIN2("addc", ALU_PLAIN, "TTT", addc),
	CHAIN2("addc", ALU_CC, "TTT", addccc),
	CHAIN2("sub", ALU_CC, "TTT", subcc),
	CHAIN2("subc", ALU_PLAIN, "TTT", subc),
	CHAIN2("subc", ALU_CC, "TTT", subccc),
	MADC2("mad", ALU_LO_CC, madlocc),
	MADC2("mad", ALU_HI_CC, madhicc),
	MADC2("madc", ALU_LO, madclo),
	MADC2("madc", ALU_HI, madchi),
	MADC2("madc", ALU_LO_CC, madclocc),
	MADC2("madc", ALU_HI_CC, madchicc),
	END_OF_TABLE
};
