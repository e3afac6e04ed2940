/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on bits. */
#include "lanes.h"

op_fn op_dp4a, op_dp2a, op_lop3, op_shf_l, op_shf_r;

#define LOGICAL(T) \
	OP2(and_##T, T, T, T, a & b) \
	OP2(or_##T, T, T, T, a | b) \
	OP2(xor_##T, T, T, T, a ^ b) \
	OP1(not_##T, T, T, ~a) \
	OP1(cnot_##T, T, T, !a)
LOGICAL(u16)
LOGICAL(u32)
LOGICAL(u64)

/* Counts beyond the width clamp to it. */
#define SHIFT(T, S, BITS) \
	OP2(shl_##T, T, T, u32, b < BITS ? (LANE_##T)a << b : 0) \
	OP2(shr_##T, T, T, u32, b < BITS ? a >> b : 0) \
	OP2(shr_##S, S, S, u32, a >> (b < BITS ? b : BITS - 1))
SHIFT(u16, s16, 16)
SHIFT(u32, s32, 32)
SHIFT(u64, s64, 64)

static uint32_t reverse32(uint32_t v)
{
	v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
	v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
	v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
	return __builtin_bswap32(v);
}
OP1(brev_u32, u32, u32, reverse32(a))
OP1(brev_u64, u64, u64, (uint64_t)reverse32((uint32_t)a) << 32 | reverse32((uint32_t)(a >> 32)))
OP1(popc_u32, u32, u32, __builtin_popcount(a))
OP1(popc_u64, u32, u64, __builtin_popcountll(a))
OP1(clz_u32, u32, u32, a ? __builtin_clz(a) : 32)
OP1(clz_u64, u32, u64, a ? __builtin_clzll(a) : 64)

/* Position of the highest bit that differs from the sign; shiftamt: the shift that brings it up. */
#define FIND(a, BITS, CLZ) ((a) ? (op->imm ? CLZ(a) : BITS - 1 - CLZ(a)) : (int)FULL)
OP1(bfind_u32, u32, u32, FIND(a, 32, __builtin_clz))
OP1(bfind_u64, u32, u64, FIND(a, 64, __builtin_clzll))
OP1(bfind_s32, u32, s32, FIND((uint32_t)(a < 0 ? ~a : a), 32, __builtin_clz))
OP1(bfind_s64, u32, s64, FIND((uint64_t)(a < 0 ? ~a : a), 64, __builtin_clzll))

static uint64_t extract(uint64_t a, unsigned pos, unsigned len, unsigned bits, int is_signed)
{
	unsigned last = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
	uint64_t sign = is_signed && len ? a >> (last > 63 ? 63 : last) & 1 : 0, value = 0;

	if (pos < bits) {
		value = a >> pos;
		if (pos + len > bits)
			len = bits - pos;
		value = len < 64 ? value & ((1ull << len) - 1) : value;
	} else {
		len = 0;
	}
	if (sign && len < 64)
		value |= ~0ull << len;
	return value;
}
#define BFE(T, BITS, SIGNED) \
	OP3(bfe_##T, T, T, u32, u32, extract((LANE_##T)a, b & 255, c & 255, BITS, SIGNED))
BFE(u32, 32, 0)
BFE(s32, 32, 1)
BFE(u64, 64, 0)
BFE(s64, 64, 1)

static uint64_t insert(uint64_t a, uint64_t b, unsigned pos, unsigned len, unsigned bits)
{
	uint64_t field;

	if (pos >= bits || !len)
		return b;
	if (len > bits - pos)
		len = bits - pos;
	field = (len < 64 ? (1ull << len) - 1 : ~0ull) << pos;
	return (b & ~field) | (a << pos & field);
}
#define BFI(T, BITS) \
	OP_HEAD(bfi_##T) \
	{ \
		LANE_##T *d = slot(w, op->dst); \
		const LANE_##T *pa = slot(w, op->a), *pb = slot(w, op->b); \
		const uint32_t *pc = slot(w, op->c), *pd = slot(w, op->d); \
		FOR_LANES(mask, i, \
			d[i] = (LANE_##T)insert(pa[i], pb[i], pc[i] & 255, pd[i] & 255, BITS);); \
		return OP_NEXT; \
	}
BFI(u32, 32)
BFI(u64, 64)

/* The n-th set bit from a base, upwards or downwards. */
static uint32_t find_nth(uint32_t value, uint32_t base, int32_t n)
{
	int step = n < 0 ? -1 : 1;
	int at = (int)(base & 31);

	if (base > 31)
		return FULL;
	if (!n)
		return value >> at & 1 ? (uint32_t)at : FULL;
	for (n = n < 0 ? -n : n; at >= 0 && at < 32; at += step)
		if (value >> at & 1 && !--n)
			return (uint32_t)at;
	return FULL;
}
OP3(fns_b32, u32, u32, u32, s32, find_nth(a, b, c < -64 ? -64 : c))

static uint32_t permute(uint32_t a, uint32_t b, uint32_t selector)
{
	uint64_t bytes = a | (uint64_t)b << 32;
	uint32_t result = 0;
	unsigned i;

	for (i = 0; i < 4; i++) {
		unsigned nibble = selector >> 4 * i & 15;
		uint32_t byte = bytes >> 8 * (nibble & 7) & 255;

		if (nibble & 8)
			byte = byte & 128 ? 255 : 0;
		result |= byte << 8 * i;
	}
	return result;
}

/* The named modes are selections that depend on the low bits of c. */
static uint32_t permute_mode(uint32_t a, uint32_t b, uint32_t c, unsigned mode)
{
	static const uint16_t selections[7][4] = {
		[1] = { 0x3210, 0x4321, 0x5432, 0x6543 },	/* f4e */
		[2] = { 0x5670, 0x6701, 0x7012, 0x0123 },	/* b4e */
		[3] = { 0x0000, 0x1111, 0x2222, 0x3333 },	/* rc8 */
		[4] = { 0x3210, 0x3211, 0x3222, 0x3333 },	/* ecl */
		[5] = { 0x0000, 0x1110, 0x2210, 0x3210 },	/* ecr */
		[6] = { 0x1010, 0x3232, 0x1010, 0x3232 },	/* rc16 */
	};

	return permute(a, b, mode ? selections[mode][c & 3] : c);
}
OP3(prmt_b32, u32, u32, u32, u32, permute_mode(a, b, c, (unsigned)op->imm))

static uint32_t bit_mask(uint32_t a, uint32_t b, int wrap)
{
	uint64_t field;

	if (wrap) {
		a &= 31;
		b &= 31;
	}
	if (a > 31)
		return 0;
	field = b > 31 ? 0xffffffffull : (1ull << b) - 1;
	return (uint32_t)(field << a);
}
OP2(bmsk_b32, u32, u32, u32, bit_mask(a, b, (int)op->imm))

/* Extend from bit b - 1. */
static uint32_t extend(uint32_t a, uint32_t b, int wrap, int is_signed)
{
	if (wrap)
		b &= 31;
	if (b > 31)
		return a;
	if (!b)
		return 0;
	a &= (1u << b) - 1;
	return is_signed && a >> (b - 1) ? a | ~0u << b : a;
}
OP2(szext_u32, u32, u32, u32, extend(a, b, (int)op->imm, 0))
OP2(szext_s32, u32, u32, u32, extend(a, b, (int)op->imm, 1))

int op_lop3(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);
	unsigned table = (unsigned)op->imm, k;
	uint32_t all[8];

	for (k = 0; k < 8; k++)
		all[k] = table >> k & 1 ? FULL : 0;
	FOR_LANES(mask, i,
		uint32_t x = a[i];
		uint32_t y = b[i];
		uint32_t z = c[i];
		d[i] = (~x & ~y & ~z & all[0]) | (~x & ~y & z & all[1]) | (~x & y & ~z & all[2]) |
		       (~x & y & z & all[3]) | (x & ~y & ~z & all[4]) | (x & ~y & z & all[5]) |
		       (x & y & ~z & all[6]) | (x & y & z & all[7]);
	);
	return OP_NEXT;
}

static unsigned shift_count(uint32_t count, int wrap)
{
	return wrap ? count & 31 : count > 32 ? 32 : count;
}

int op_shf_l(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);

	FOR_LANES(mask, i,
		uint64_t both = (uint64_t)b[i] << 32 | a[i];
		d[i] = (uint32_t)(both << shift_count(c[i], op->imm != 0) >> 32););
	return OP_NEXT;
}

int op_shf_r(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);

	FOR_LANES(mask, i,
		uint64_t both = (uint64_t)b[i] << 32 | a[i];
		d[i] = (uint32_t)(both >> shift_count(c[i], op->imm != 0)););
	return OP_NEXT;
}

static int32_t part(uint32_t value, unsigned index, unsigned bits, int is_signed)
{
	uint32_t field = value >> index * bits & ((1u << bits) - 1);

	return is_signed && field >> (bits - 1) ? (int32_t)(field | ~0u << bits) : (int32_t)field;
}

int op_dp4a(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);

	FOR_LANES(mask, i,
		uint32_t sum = c[i];
		for (unsigned k = 0; k < 4; k++)
			sum += (uint32_t)(part(a[i], k, 8, op->imm & 1) *
					  part(b[i], k, 8, op->imm >> 1 & 1));
		d[i] = sum;);
	return OP_NEXT;
}

int op_dp2a(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);
	unsigned high = op->imm >> 2 & 1 ? 2 : 0;

	FOR_LANES(mask, i,
		uint32_t sum = c[i];
		for (unsigned k = 0; k < 2; k++)
			sum += (uint32_t)part(a[i], k, 16, op->imm & 1) *
			       (uint32_t)part(b[i], k + high, 8, op->imm >> 1 & 1);
		d[i] = sum;);
	return OP_NEXT;
}

#define ENTRY(op, T, signature, fn) { op, ALU_PLAIN, T, signature, fn, NULL, 0 }
#define BITS3(op, signature, fn) \
	ENTRY(op, T_B16, signature, fn##_u16), ENTRY(op, T_B32, signature, fn##_u32), \
	ENTRY(op, T_B64, signature, fn##_u64)

const struct alu alu_bit[] = {
	BITS3("and", "TTT", and), BITS3("or", "TTT", or), BITS3("xor", "TTT", xor),
	BITS3("not", "TT", not), BITS3("cnot", "TT", cnot), BITS3("shl", "TTu", shl),
	BITS3("shr", "TTu", shr),
	ENTRY("shr", T_U16, "TTu", shr_u16), ENTRY("shr", T_U32, "TTu", shr_u32),
	ENTRY("shr", T_U64, "TTu", shr_u64), ENTRY("shr", T_S16, "TTu", shr_s16),
	ENTRY("shr", T_S32, "TTu", shr_s32), ENTRY("shr", T_S64, "TTu", shr_s64),
	ENTRY("brev", T_B32, "TT", brev_u32), ENTRY("brev", T_B64, "TT", brev_u64),
	ENTRY("popc", T_B32, "uT", popc_u32), ENTRY("popc", T_B64, "uT", popc_u64),
	ENTRY("clz", T_B32, "uT", clz_u32), ENTRY("clz", T_B64, "uT", clz_u64),
	ENTRY("bfind", T_U32, "uT", bfind_u32), ENTRY("bfind", T_U64, "uT", bfind_u64),
	ENTRY("bfind", T_S32, "uT", bfind_s32), ENTRY("bfind", T_S64, "uT", bfind_s64),
	ENTRY("bfe", T_U32, "TTuu", bfe_u32), ENTRY("bfe", T_S32, "TTuu", bfe_s32),
	ENTRY("bfe", T_U64, "TTuu", bfe_u64), ENTRY("bfe", T_S64, "TTuu", bfe_s64),
	ENTRY("bfi", T_B32, "TTTuu", bfi_u32), ENTRY("bfi", T_B64, "TTTuu", bfi_u64),
	ENTRY("fns", T_B32, "TTTT", fns_b32), ENTRY("prmt", T_B32, "TTTT", prmt_b32),
	ENTRY("bmsk", T_B32, "TTT", bmsk_b32),
	ENTRY("szext", T_U32, "TTT", szext_u32), ENTRY("szext", T_S32, "TTT", szext_s32),
	END_OF_TABLE
};
