/* SPDX-License-Identifier: Apache-2.0 */
/* Atomic operations: atomic to other blocks, other kernels and the host's own threads. */
#include "half.h"
#include "memory.h"

/* Read, compute, and put back unless somebody else came between. */
#define UPDATE(U, expr) ({ \
	U old = __atomic_load_n((U *)p, __ATOMIC_RELAXED), new; \
	do { \
		new = (U)(expr); \
	} while (!__atomic_compare_exchange_n((U *)p, &old, new, 0, __ATOMIC_SEQ_CST, \
					      __ATOMIC_RELAXED)); \
	old; })

#define ATOMIC(name, LANE, U, SIZE, HINT, expr) \
	static int name(struct warp *w, const struct op *op, uint32_t mask) \
	{ \
		const void *base = slot(w, op->a); \
		LANE *d = slot(w, op->dst); \
		const LANE *pb = slot(w, op->b), *pc = slot(w, op->c); \
		if (w->spin_hint < HINT) \
			w->spin_hint = HINT; \
		FOR_LANES(mask, i, \
			unsigned char *p = locate(w, op, i, address_of(base, i, op), SIZE, SIZE, \
						  op->count); \
			U b = (U)pb[i]; \
			U c = (U)pc[i]; \
			if (!p) \
				return OP_FAULT; \
			(void)c; \
			d[i] = expr; \
		); \
		return OP_NEXT; \
	}

#define FETCH(fn, U) fn((U *)p, b, __ATOMIC_SEQ_CST)
#define INTEGERS(BITS, S) \
	ATOMIC(add_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       FETCH(__atomic_fetch_add, uint##BITS##_t)) \
	ATOMIC(and_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       FETCH(__atomic_fetch_and, uint##BITS##_t)) \
	ATOMIC(or_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       FETCH(__atomic_fetch_or, uint##BITS##_t)) \
	ATOMIC(xor_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       FETCH(__atomic_fetch_xor, uint##BITS##_t)) \
	ATOMIC(exch_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 2, \
	       FETCH(__atomic_exchange_n, uint##BITS##_t)) \
	ATOMIC(umin_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       UPDATE(uint##BITS##_t, old < b ? old : b)) \
	ATOMIC(umax_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       UPDATE(uint##BITS##_t, old > b ? old : b)) \
	ATOMIC(smin_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       UPDATE(uint##BITS##_t, (S)old < (S)b ? old : b)) \
	ATOMIC(smax_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 1, \
	       UPDATE(uint##BITS##_t, (S)old > (S)b ? old : b)) \
	ATOMIC(cas_##BITS, uint##BITS##_t, uint##BITS##_t, BITS / 8, 2, ({ \
		uint##BITS##_t old = b; \
		__atomic_compare_exchange_n((uint##BITS##_t *)p, &old, c, 0, __ATOMIC_SEQ_CST, \
					    __ATOMIC_SEQ_CST); \
		old; }))
INTEGERS(32, int32_t)
INTEGERS(64, int64_t)
ATOMIC(inc_32, uint32_t, uint32_t, 4, 1, UPDATE(uint32_t, old >= b ? 0 : old + 1))
ATOMIC(dec_32, uint32_t, uint32_t, 4, 1, UPDATE(uint32_t, !old || old > b ? b : old - 1))
ATOMIC(cas_16, uint32_t, uint16_t, 2, 2, ({
	uint16_t old = b;
	__atomic_compare_exchange_n((uint16_t *)p, &old, c, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	old; }))
ATOMIC(exch_16, uint32_t, uint16_t, 2, 2, FETCH(__atomic_exchange_n, uint16_t))

/* In global memory .f32 sums have no subnormals; in shared memory they do. */
static uint32_t sum_f32(const struct warp *w, const unsigned char *p, uint32_t x, uint32_t y)
{
	if ((uintptr_t)p - (uintptr_t)w->shared < w->shared_size)
		return f32_bits(f32_canonical(f32_of(x) + f32_of(y)));
	return f32_bits(f32_canonical(f32_flush(f32_flush(f32_of(x)) + f32_flush(f32_of(y)))));
}
ATOMIC(add_f32, uint32_t, uint32_t, 4, 1, UPDATE(uint32_t, sum_f32(w, p, old, b)))
ATOMIC(add_f64, uint64_t, uint64_t, 8, 1, UPDATE(uint64_t, f64_bits(f64_of(old) + f64_of(b))))

static uint16_t small_sum(uint16_t a, uint16_t b, const struct small_format *f)
{
	return small_from_f64(sum_to_odd(small_to_f64(a, f), small_to_f64(b, f)), f, RND_RN, 0);
}

static uint32_t pair_sum(uint32_t a, uint32_t b, const struct small_format *f)
{
	return small_sum((uint16_t)a, (uint16_t)b, f) |
	       (uint32_t)small_sum((uint16_t)(a >> 16), (uint16_t)(b >> 16), f) << 16;
}
ATOMIC(add_f16, uint32_t, uint16_t, 2, 1, UPDATE(uint16_t, small_sum(old, b, &format_f16)))
ATOMIC(add_bf16, uint32_t, uint16_t, 2, 1, UPDATE(uint16_t, small_sum(old, b, &format_bf16)))
ATOMIC(add_f16x2, uint32_t, uint32_t, 4, 1, UPDATE(uint32_t, pair_sum(old, b, &format_f16)))
ATOMIC(add_bf16x2, uint32_t, uint32_t, 4, 1, UPDATE(uint32_t, pair_sum(old, b, &format_bf16)))

static const struct {
	uint8_t atom, type;
	op_fn *fn;
} atomics[] = {
	{ ATOM_ADD, T_U32, add_32 }, { ATOM_ADD, T_S32, add_32 }, { ATOM_ADD, T_U64, add_64 },
	{ ATOM_ADD, T_S64, add_64 }, { ATOM_ADD, T_F32, add_f32 }, { ATOM_ADD, T_F64, add_f64 },
	{ ATOM_ADD, T_F16, add_f16 }, { ATOM_ADD, T_F16X2, add_f16x2 },
	{ ATOM_ADD, T_BF16, add_bf16 }, { ATOM_ADD, T_BF16X2, add_bf16x2 },
	{ ATOM_AND, T_B32, and_32 }, { ATOM_AND, T_B64, and_64 },
	{ ATOM_OR, T_B32, or_32 }, { ATOM_OR, T_B64, or_64 },
	{ ATOM_XOR, T_B32, xor_32 }, { ATOM_XOR, T_B64, xor_64 },
	{ ATOM_EXCH, T_B32, exch_32 }, { ATOM_EXCH, T_B64, exch_64 }, { ATOM_EXCH, T_B16, exch_16 },
	{ ATOM_EXCH, T_U32, exch_32 }, { ATOM_EXCH, T_S32, exch_32 },
	{ ATOM_EXCH, T_F32, exch_32 }, { ATOM_EXCH, T_U64, exch_64 },
	{ ATOM_CAS, T_B32, cas_32 }, { ATOM_CAS, T_B64, cas_64 }, { ATOM_CAS, T_B16, cas_16 },
	{ ATOM_CAS, T_U32, cas_32 }, { ATOM_CAS, T_S32, cas_32 }, { ATOM_CAS, T_U64, cas_64 },
	{ ATOM_INC, T_U32, inc_32 }, { ATOM_DEC, T_U32, dec_32 },
	{ ATOM_MIN, T_U32, umin_32 }, { ATOM_MIN, T_S32, smin_32 }, { ATOM_MIN, T_U64, umin_64 },
	{ ATOM_MIN, T_S64, smin_64 }, { ATOM_MAX, T_U32, umax_32 }, { ATOM_MAX, T_S32, smax_32 },
	{ ATOM_MAX, T_U64, umax_64 }, { ATOM_MAX, T_S64, smax_64 },
};

op_fn *atomic_find(enum atom atom, enum ptx_type type)
{
	unsigned i;

	for (i = 0; i < sizeof(atomics) / sizeof(*atomics); i++)
		if (atomics[i].atom == atom && atomics[i].type == type)
			return atomics[i].fn;
	return NULL;
}
