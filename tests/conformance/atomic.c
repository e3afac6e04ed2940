/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic instructions on the stack and on plain memory.  The operand is in r3; for
 * compare and exchange r0 holds what is expected.
 */
#include "tests/conformance/vectors.h"

struct row {
	const char *name;
	int32_t imm;
	uint64_t memory, operand, compare;
	uint64_t after64, after32;	/* the eight bytes afterwards */
	uint64_t old64, old32;		/* what fetching forms give */
};

#define M 0xaaaaaaaa0000000full

static const struct row rows[] = {
	{ "add", BPF_ADD, M, 1, 0, 0xaaaaaaaa00000010, 0xaaaaaaaa00000010, 0, 0 },
	{ "add wrapping", BPF_ADD, 0xaaaaaaaaffffffff, 1, 0, 0xaaaaaaab00000000, 0xaaaaaaaa00000000, 0, 0 },
	{ "or", BPF_OR, M, 0xf0, 0, 0xaaaaaaaa000000ff, 0xaaaaaaaa000000ff, 0, 0 },
	{ "and", BPF_AND, M, 0x5500000003, 0, 0x0000000000000003, 0xaaaaaaaa00000003, 0, 0 },
	{ "xor", BPF_XOR, M, 0x1ff, 0, 0xaaaaaaaa000001f0, 0xaaaaaaaa000001f0, 0, 0 },
	{ "fetch add", BPF_ADD | BPF_FETCH, M, 1, 0, 0xaaaaaaaa00000010, 0xaaaaaaaa00000010, M, 0xf },
	{ "fetch or", BPF_OR | BPF_FETCH, M, 0xf0, 0, 0xaaaaaaaa000000ff, 0xaaaaaaaa000000ff, M, 0xf },
	{ "fetch and", BPF_AND | BPF_FETCH, M, 6, 0, 6, 0xaaaaaaaa00000006, M, 0xf },
	{ "fetch xor", BPF_XOR | BPF_FETCH, M, 0xff, 0, 0xaaaaaaaa000000f0, 0xaaaaaaaa000000f0, M, 0xf },
	{ "exchange", BPF_XCHG, M, 0x77, 0, 0x77, 0xaaaaaaaa00000077, M, 0xf },
	{ "compare equal", BPF_CMPXCHG, M, 0x77, M, 0x77, 0xaaaaaaaa00000077, M, 0xf },
	{ "compare different", BPF_CMPXCHG, M, 0x77, 3, M, M, M, 0xf },
	{ "compare lower half", BPF_CMPXCHG, M, 0x77, 0xf, M, 0xaaaaaaaa00000077, M, 0xf },
};

/* r0: what the instruction gave back, or the memory afterwards. */
static void add_row(struct vectors *vectors, const struct row *row, int wide, int on_stack, int want_old)
{
	struct vector *v = vector_new(vectors, "atomic%s %s, %s, %s", wide ? "64" : "32", row->name,
				      on_stack ? "stack" : "memory", want_old ? "old" : "memory after");
	uint8_t size = wide ? BPF_DW : BPF_W, base = on_stack ? 10 : 1;
	int16_t off = on_stack ? -8 : 8;

	put_imm64(v, 4, row->memory);
	put(v, BPF_STX | BPF_MEM | BPF_DW, base, 4, off, 0);
	put_imm64(v, 3, row->operand);
	put_imm64(v, 0, row->compare);
	put(v, (uint8_t)(BPF_STX | BPF_ATOMIC | size), base, 3, off, row->imm);
	if (!want_old)
		put(v, BPF_LDX | BPF_MEM | BPF_DW, 0, base, off, 0);
	else if (row->imm != BPF_CMPXCHG)
		put(v, BPF_ALU64 | BPF_MOV | BPF_X, 0, 3, 0, 0);
	put_exit(v);
	v->memory_size = 16;
	if (want_old)
		v->expected = wide ? row->old64 : row->old32;
	else
		v->expected = wide ? row->after64 : row->after32;
}

void add_atomic_vectors(struct vectors *vectors)
{
	unsigned i;
	int wide, on_stack;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (wide = 0; wide < 2; wide++) {
			for (on_stack = 0; on_stack < 2; on_stack++) {
				add_row(vectors, &rows[i], wide, on_stack, 0);
				if (rows[i].imm & BPF_FETCH)
					add_row(vectors, &rows[i], wide, on_stack, 1);
			}
		}
	}
}
