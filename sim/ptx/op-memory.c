/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores.  One function for each space, size and kind of register;
 * each element is read or written whole, so that the host and other kernels
 * never see half of one.
 */
#include <string.h>

#include "memory.h"

/* 16-byte elements are two words and two halves of a slot. */
static inline __attribute__((always_inline))
uint64_t fetch(const unsigned char *p, unsigned size, int is_signed)
{
	switch (size) {
	case 1: {
		uint8_t v = __atomic_load_n((const uint8_t *)p, __ATOMIC_ACQUIRE);
		return is_signed ? (uint64_t)(int8_t)v : v;
	}
	case 2: {
		uint16_t v = __atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE);
		return is_signed ? (uint64_t)(int16_t)v : v;
	}
	case 4: {
		uint32_t v = __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
		return is_signed ? (uint64_t)(int32_t)v : v;
	}
	default:
		return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
	}
}

static inline __attribute__((always_inline))
void put(unsigned char *p, unsigned size, uint64_t value)
{
	switch (size) {
	case 1: __atomic_store_n((uint8_t *)p, (uint8_t)value, __ATOMIC_RELEASE); break;
	case 2: __atomic_store_n((uint16_t *)p, (uint16_t)value, __ATOMIC_RELEASE); break;
	case 4: __atomic_store_n((uint32_t *)p, (uint32_t)value, __ATOMIC_RELEASE); break;
	default: __atomic_store_n((uint64_t *)p, value, __ATOMIC_RELEASE); break;
	}
}

static inline __attribute__((always_inline))
int load(struct warp *w, const struct op *op, uint32_t mask, const enum ptx_space space,
	 const unsigned size, const int is_signed, const int is_wide)
{
	const void *base = slot(w, op->a);
	const uint32_t *slots = op->ext;
	unsigned count = op->count, k;

	if (op->flags & OPF_VOLATILE)
		w->spin_hint = 2;
	if (count == 1) {
		uint32_t *d32 = slot(w, op->dst);
		uint64_t *d64 = slot(w, op->dst);

		FOR_LANES(mask, i,
			const unsigned char *p = locate(w, op, i, address_of(base, i, op), size, size,
							space);
			if (__builtin_expect(!p, 0))
				return OP_FAULT;
			if (size == 16) {
				d64[i] = fetch(p, 8, 0);
				d64[LANES + i] = fetch(p + 8, 8, 0);
			} else if (is_wide) {
				d64[i] = fetch(p, size, is_signed);
			} else {
				d32[i] = (uint32_t)fetch(p, size, is_signed);
			}
		);
		return OP_NEXT;
	}
	FOR_LANES(mask, i,
		const unsigned char *p = locate(w, op, i, address_of(base, i, op), size * count,
						size * count, space);
		if (__builtin_expect(!p, 0))
			return OP_FAULT;
		for (k = 0; k < count; k++) {
			if (size == 16) {
				uint64_t *d = slot(w, slots[k]);

				d[i] = fetch(p + 16 * k, 8, 0);
				d[LANES + i] = fetch(p + 16 * k + 8, 8, 0);
			} else if (is_wide) {
				((uint64_t *)slot(w, slots[k]))[i] = fetch(p + k * size, size, is_signed);
			} else {
				((uint32_t *)slot(w, slots[k]))[i] =
					(uint32_t)fetch(p + k * size, size, is_signed);
			}
		}
	);
	return OP_NEXT;
}

static inline __attribute__((always_inline))
int store(struct warp *w, const struct op *op, uint32_t mask, const enum ptx_space space,
	  const unsigned size, const int is_wide)
{
	const void *base = slot(w, op->a);
	const uint32_t *slots = op->ext;
	unsigned count = op->count, k;

	/* Earlier stores must not be seen after a releasing one, and seq_cst needs no more here. */
	if (op->c)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	FOR_LANES(mask, i,
		unsigned char *p = locate(w, op, i, address_of(base, i, op), size * count,
					  size * count, space);
		if (__builtin_expect(!p, 0))
			return OP_FAULT;
		for (k = 0; k < count; k++) {
			const void *s = slot(w, slots[k]);

			if (size == 16) {
				put(p + 16 * k, 8, ((const uint64_t *)s)[i]);
				put(p + 16 * k + 8, 8, ((const uint64_t *)s)[LANES + i]);
			} else {
				put(p + k * size, size, is_wide ? ((const uint64_t *)s)[i] :
				    ((const uint32_t *)s)[i]);
			}
		}
	);
	return OP_NEXT;
}

#define LOAD(space, size, sign, wide) \
	static int ld_##space##_##size##_##sign##_##wide(struct warp *w, const struct op *op, \
							 uint32_t mask) \
	{ \
		return load(w, op, mask, SPACE_##space, size, sign, wide); \
	}
#define STORE(space, size, wide) \
	static int st_##space##_##size##_##wide(struct warp *w, const struct op *op, uint32_t mask) \
	{ \
		return store(w, op, mask, SPACE_##space, size, wide); \
	}
#define SPACE(space) \
	LOAD(space, 1, 0, 0) LOAD(space, 1, 0, 1) LOAD(space, 1, 1, 0) LOAD(space, 1, 1, 1) \
	LOAD(space, 2, 0, 0) LOAD(space, 2, 0, 1) LOAD(space, 2, 1, 0) LOAD(space, 2, 1, 1) \
	LOAD(space, 4, 0, 0) LOAD(space, 4, 0, 1) LOAD(space, 4, 1, 1) \
	LOAD(space, 8, 0, 1) LOAD(space, 16, 0, 1) \
	STORE(space, 1, 0) STORE(space, 1, 1) STORE(space, 2, 0) STORE(space, 2, 1) \
	STORE(space, 4, 0) STORE(space, 4, 1) STORE(space, 8, 1) STORE(space, 16, 1)
SPACE(GENERIC)
SPACE(GLOBAL)
SPACE(SHARED)
SPACE(LOCAL)

/* By log2 of the size, sign, width of the register. */
#define LOADS(space) { \
	{ { ld_##space##_1_0_0, ld_##space##_1_0_1 }, { ld_##space##_1_1_0, ld_##space##_1_1_1 } }, \
	{ { ld_##space##_2_0_0, ld_##space##_2_0_1 }, { ld_##space##_2_1_0, ld_##space##_2_1_1 } }, \
	{ { ld_##space##_4_0_0, ld_##space##_4_0_1 }, { ld_##space##_4_0_0, ld_##space##_4_1_1 } }, \
	{ { ld_##space##_8_0_1, ld_##space##_8_0_1 }, { ld_##space##_8_0_1, ld_##space##_8_0_1 } }, \
	{ { ld_##space##_16_0_1, ld_##space##_16_0_1 }, { ld_##space##_16_0_1, ld_##space##_16_0_1 } } }
#define STORES(space) { \
	{ st_##space##_1_0, st_##space##_1_1 }, { st_##space##_2_0, st_##space##_2_1 }, \
	{ st_##space##_4_0, st_##space##_4_1 }, { st_##space##_8_1, st_##space##_8_1 }, \
	{ st_##space##_16_1, st_##space##_16_1 } }

static op_fn *const loads[4][5][2][2] = {
	LOADS(GENERIC), LOADS(GLOBAL), LOADS(SHARED), LOADS(LOCAL),
};
static op_fn *const stores[4][5][2] = {
	STORES(GENERIC), STORES(GLOBAL), STORES(SHARED), STORES(LOCAL),
};

static unsigned row_of(enum ptx_space space)
{
	switch (space) {
	case SPACE_GLOBAL: case SPACE_CONST: return 1;
	case SPACE_SHARED: case SPACE_CLUSTER: return 2;
	case SPACE_LOCAL: return 3;
	default: return 0;
	}
}

op_fn *load_find(enum ptx_space space, unsigned size, int is_signed, int is_wide)
{
	return loads[row_of(space)][__builtin_ctz(size)][is_signed][is_wide];
}

op_fn *store_find(enum ptx_space space, unsigned size, int is_wide)
{
	return stores[row_of(space)][__builtin_ctz(size)][is_wide];
}

/* imm: offset; count: bytes; b: signed; OPF_WIDE: 64-bit register */
int op_load_param(struct warp *w, const struct op *op, uint32_t mask)
{
	const unsigned char *p = w->block->launch->params + op->imm;
	uint32_t *d32 = slot(w, op->dst);
	uint64_t *d64 = slot(w, op->dst), value = 0;

	memcpy(&value, p, op->count);
	if (op->b && op->count < 8) {
		unsigned shift = 64 - 8 * op->count;

		value = (uint64_t)((int64_t)(value << shift) >> shift);
	}
	if (op->flags & OPF_WIDE)
		FOR_LANES(mask, i, d64[i] = value;);
	else
		FOR_LANES(mask, i, d32[i] = (uint32_t)value;);
	return OP_NEXT;
}

/* count: space; imm: from generic to the space */
int op_cvta(struct warp *w, const struct op *op, uint32_t mask)
{
	uint64_t *d = slot(w, op->dst), base;
	const uint64_t *a = slot(w, op->a);
	int local = op->count != SPACE_SHARED && op->count != SPACE_CLUSTER;

	FOR_LANES(mask, i,
		base = (uintptr_t)(local ? w->local + i * w->local_stride : w->shared);
		d[i] = op->imm ? a[i] - base : a[i] + base;);
	return OP_NEXT;
}

static int in_const(struct warp *w, uint64_t addr)
{
	const struct sim_module *module = w->block->launch->kernel->module;
	unsigned i;

	for (i = 0; i < module->variable_count; i++)
		if (module->variables[i].is_const &&
		    addr - module->variables[i].addr < module->variables[i].size)
			return 1;
	return 0;
}

static int in_space(struct warp *w, unsigned lane, uint64_t addr, enum ptx_space space)
{
	int shared = addr - (uintptr_t)w->shared < w->shared_size;
	int local = addr - (uintptr_t)(w->local + lane * w->local_stride) < w->local_stride;
	int param = addr - (uintptr_t)w->block->launch->params <
		    w->block->launch->kernel->info.param_bytes;

	switch (space) {
	case SPACE_SHARED: case SPACE_CLUSTER: return shared;
	case SPACE_LOCAL: return local;
	case SPACE_CONST: return in_const(w, addr);
	case SPACE_PARAM: return param;
	default: return !shared && !local && !param && !in_const(w, addr);
	}
}

int op_isspacep(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint64_t *a = slot(w, op->a);
	uint32_t bits = 0;

	FOR_LANES(mask, i, bits |= (uint32_t)in_space(w, i, a[i], op->count) << i;);
	set_pred(w, op->dst, mask, bits);
	return OP_NEXT;
}

int op_fence(struct warp *w, const struct op *op, uint32_t mask)
{
	(void)w;
	(void)op;
	(void)mask;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return OP_NEXT;
}

/* a, imm: shared destination; b, d: global source; count: bytes; c: bytes to read, the rest is zero */
int op_cp_async(struct warp *w, const struct op *op, uint32_t mask)
{
	const void *to = slot(w, op->a), *from = slot(w, op->b);
	const uint32_t *given = op->c ? slot(w, op->c) : NULL;
	struct op source = *op;

	source.imm = (uint64_t)(int32_t)op->d;
	source.flags = op->flags & OPF_WIDE ? OPF_ADDR32 : 0;
	FOR_LANES(mask, i,
		unsigned size = given ? given[i] : op->count;
		unsigned char *d = locate(w, op, i, address_of(to, i, op), op->count, op->count,
					  SPACE_SHARED);
		const unsigned char *s;
		if (!d)
			return OP_FAULT;
		if (size > op->count)
			return warp_fault(w, op, i, SIM_ERROR_TRAP, "cp.async of %u bytes from %u",
					  op->count, size);
		memset(d, 0, op->count);
		if (size) {
			s = locate(w, op, i, address_of(from, i, &source), size, op->count,
				   SPACE_GLOBAL);
			if (!s)
				return OP_FAULT;
			memcpy(d, s, size);
		}
	);
	return OP_NEXT;
}

/* The address itself. */
int op_address(struct warp *w, const struct op *op, uint32_t mask)
{
	const void *base = slot(w, op->a);
	uint64_t *d = slot(w, op->dst);

	FOR_LANES(mask, i, d[i] = address_of(base, i, op););
	return OP_NEXT;
}
