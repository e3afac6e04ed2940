/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic: each row is run with a register and, where it fits, an immediate as second operand. */
#include "tests/conformance/vectors.h"

#define SIGNED 1	/* offset of sdiv and smod */

struct row {
	const char *name;
	uint8_t op;
	int16_t off;
	uint64_t a, b;
	uint64_t wide;		/* result of the 64-bit instruction */
	uint64_t narrow;	/* of the 32-bit one */
};

static const struct row rows[] = {
	{ "add", BPF_ADD, 0, 5, 7, 12, 12 },
	{ "add carry", BPF_ADD, 0, 0xffffffff, 1, 0x100000000, 0 },
	{ "add wrap", BPF_ADD, 0, 0xffffffffffffffff, 2, 1, 1 },
	{ "add negative", BPF_ADD, 0, 3, (uint64_t)-5, 0xfffffffffffffffe, 0xfffffffe },
	{ "add high", BPF_ADD, 0, 0x1234567800000001, 0x10, 0x1234567800000011, 0x11 },
	{ "sub", BPF_SUB, 0, 12, 7, 5, 5 },
	{ "sub below zero", BPF_SUB, 0, 0, 1, 0xffffffffffffffff, 0xffffffff },
	{ "sub negative", BPF_SUB, 0, 1, (uint64_t)-1, 2, 2 },
	{ "sub borrow", BPF_SUB, 0, 0x100000000, 1, 0xffffffff, 0xffffffff },
	{ "mul", BPF_MUL, 0, 6, 7, 42, 42 },
	{ "mul overflow", BPF_MUL, 0, 0x100000001, 0x7fffffff, 0x7fffffff7fffffff, 0x7fffffff },
	{ "mul negative", BPF_MUL, 0, 3, (uint64_t)-2, 0xfffffffffffffffa, 0xfffffffa },
	{ "mul large", BPF_MUL, 0, 0x80000000, 2, 0x100000000, 0 },
	{ "div", BPF_DIV, 0, 43, 6, 7, 7 },
	{ "div by zero", BPF_DIV, 0, 43, 0, 0, 0 },
	{ "div unsigned", BPF_DIV, 0, 0xffffffffffffffff, 2, 0x7fffffffffffffff, 0x7fffffff },
	{ "div by large", BPF_DIV, 0, 0xfffffffffffffffe, (uint64_t)-1, 0, 0 },
	{ "div by itself", BPF_DIV, 0, 0xffffffffffffffff, (uint64_t)-1, 1, 1 },
	{ "div high only", BPF_DIV, 0, 0x500000000, 5, 0x100000000, 0 },
	{ "div by high only", BPF_DIV, 0, 0x600000006, 0x300000000, 2, 0 },
	{ "mod", BPF_MOD, 0, 43, 6, 1, 1 },
	{ "mod by zero", BPF_MOD, 0, 0x1234567890abcdef, 0, 0x1234567890abcdef, 0x90abcdef },
	{ "mod unsigned", BPF_MOD, 0, 0xffffffffffffffff, 10, 5, 5 },
	{ "mod by large", BPF_MOD, 0, 7, (uint64_t)-1, 7, 7 },
	{ "mod by high only", BPF_MOD, 0, 0x700000005, 0x300000000, 0x100000005, 5 },
	{ "sdiv", BPF_DIV, SIGNED, 43, 6, 7, 7 },
	{ "sdiv negative", BPF_DIV, SIGNED, (uint64_t)-43, 6, (uint64_t)-7, 0xfffffff9 },
	{ "sdiv by negative", BPF_DIV, SIGNED, 43, (uint64_t)-6, (uint64_t)-7, 0xfffffff9 },
	{ "sdiv both negative", BPF_DIV, SIGNED, (uint64_t)-43, (uint64_t)-6, 7, 7 },
	{ "sdiv by zero", BPF_DIV, SIGNED, (uint64_t)-43, 0, 0, 0 },
	{ "sdiv least by minus one", BPF_DIV, SIGNED, 0x8000000000000000, (uint64_t)-1, 0x8000000000000000, 0 },
	{ "sdiv least 32 by minus one", BPF_DIV, SIGNED, 0x80000000, (uint64_t)-1, 0xffffffff80000000, 0x80000000 },
	{ "sdiv by one", BPF_DIV, SIGNED, (uint64_t)-5, 1, (uint64_t)-5, 0xfffffffb },
	{ "smod", BPF_MOD, SIGNED, 43, 6, 1, 1 },
	{ "smod negative", BPF_MOD, SIGNED, (uint64_t)-43, 6, (uint64_t)-1, 0xffffffff },
	{ "smod by negative", BPF_MOD, SIGNED, 43, (uint64_t)-6, 1, 1 },
	{ "smod both negative", BPF_MOD, SIGNED, (uint64_t)-43, (uint64_t)-6, (uint64_t)-1, 0xffffffff },
	{ "smod by zero", BPF_MOD, SIGNED, (uint64_t)-43, 0, (uint64_t)-43, 0xffffffd5 },
	{ "smod least by minus one", BPF_MOD, SIGNED, 0x8000000000000000, (uint64_t)-1, 0, 0 },
	{ "smod least 32 by minus one", BPF_MOD, SIGNED, 0x80000000, (uint64_t)-1, 0, 0 },
	{ "or", BPF_OR, 0, 0xf0, 0x0f, 0xff, 0xff },
	{ "or sign", BPF_OR, 0, 1, 0xffffffff80000000, 0xffffffff80000001, 0x80000001 },
	{ "and", BPF_AND, 0, 0xff, 0x3c, 0x3c, 0x3c },
	{ "and sign", BPF_AND, 0, 0x123456789abcdef0, (uint64_t)-16, 0x123456789abcdef0, 0x9abcdef0 },
	{ "xor", BPF_XOR, 0, 0xff, 0x0f, 0xf0, 0xf0 },
	{ "xor sign", BPF_XOR, 0, 0, (uint64_t)-1, 0xffffffffffffffff, 0xffffffff },
	{ "lsh", BPF_LSH, 0, 1, 4, 16, 16 },
	{ "lsh far", BPF_LSH, 0, 0x80000001, 31, 0x4000000080000000, 0x80000000 },
	{ "lsh by 32", BPF_LSH, 0, 3, 32, 0x300000000, 3 },
	{ "lsh by 63", BPF_LSH, 0, 1, 63, 0x8000000000000000, 0x80000000 },
	{ "lsh by 64", BPF_LSH, 0, 5, 64, 5, 5 },
	{ "lsh by 65", BPF_LSH, 0, 5, 65, 10, 10 },
	{ "rsh", BPF_RSH, 0, 0x100, 4, 0x10, 0x10 },
	{ "rsh of negative", BPF_RSH, 0, 0xffffffffffffffff, 4, 0x0fffffffffffffff, 0x0fffffff },
	{ "rsh by 32", BPF_RSH, 0, 0x300000004, 32, 3, 4 },
	{ "rsh by 65", BPF_RSH, 0, 10, 65, 5, 5 },
	{ "arsh", BPF_ARSH, 0, 0x100, 4, 0x10, 0x10 },
	{ "arsh of negative", BPF_ARSH, 0, (uint64_t)-256, 4, (uint64_t)-16, 0xfffffff0 },
	{ "arsh of negative 32", BPF_ARSH, 0, 0x80000000, 4, 0x08000000, 0xf8000000 },
	{ "arsh by 63", BPF_ARSH, 0, 0x8000000000000000, 63, (uint64_t)-1, 0 },
	{ "arsh by 66", BPF_ARSH, 0, (uint64_t)-8, 66, (uint64_t)-2, 0xfffffffe },
	{ "mov", BPF_MOV, 0, 99, 42, 42, 42 },
	{ "mov negative", BPF_MOV, 0, 99, (uint64_t)-3, (uint64_t)-3, 0xfffffffd },
};

static void add_row(struct vectors *vectors, const struct row *row, int wide, int immediate)
{
	struct vector *v = vector_new(vectors, "%s%s %s", row->name, wide ? "64" : "32",
				      immediate ? "immediate" : "register");
	uint8_t class = wide ? BPF_ALU64 : BPF_ALU;

	put_imm64(v, 0, row->a);
	put_imm64(v, 3, row->b);
	if (immediate)
		put(v, (uint8_t)(class | row->op | BPF_K), 0, 0, row->off, (int32_t)row->b);
	else
		put(v, (uint8_t)(class | row->op | BPF_X), 0, 3, row->off, 0);
	put_exit(v);
	v->expected = wide ? row->wide : row->narrow;
}

/* One operand and one result for each of the two widths. */
struct single {
	const char *name;
	uint8_t code;
	int16_t off;
	int32_t imm;
	uint64_t a, expected;
};

#define A64 BPF_ALU64
#define A32 BPF_ALU
#define SAMPLE 0x8899aabbccddeeffull

static const struct single singles[] = {
	{ "neg64", A64 | BPF_NEG, 0, 0, 5, (uint64_t)-5 },
	{ "neg64 least", A64 | BPF_NEG, 0, 0, 0x8000000000000000, 0x8000000000000000 },
	{ "neg32", A32 | BPF_NEG, 0, 0, 5, 0xfffffffb },
	{ "neg32 ignores the upper half", A32 | BPF_NEG, 0, 0, 0x7700000001, 0xffffffff },
	{ "mov32 clears the upper half", A32 | BPF_MOV | BPF_X, 0, 0, SAMPLE, 0xccddeeff },
	{ "movsx64 8", A64 | BPF_MOV | BPF_X, 8, 0, 0x1234567890abcd80, 0xffffffffffffff80 },
	{ "movsx64 8 positive", A64 | BPF_MOV | BPF_X, 8, 0, 0xffffffffffffff7f, 0x7f },
	{ "movsx64 16", A64 | BPF_MOV | BPF_X, 16, 0, SAMPLE, 0xffffffffffffeeff },
	{ "movsx64 16 positive", A64 | BPF_MOV | BPF_X, 16, 0, 0xffff7fff, 0x7fff },
	{ "movsx64 32", A64 | BPF_MOV | BPF_X, 32, 0, SAMPLE, 0xffffffffccddeeff },
	{ "movsx64 32 positive", A64 | BPF_MOV | BPF_X, 32, 0, 0xffffffff7fffffff, 0x7fffffff },
	{ "movsx32 8", A32 | BPF_MOV | BPF_X, 8, 0, 0x80, 0xffffff80 },
	{ "movsx32 8 positive", A32 | BPF_MOV | BPF_X, 8, 0, 0xfffffffffffff37f, 0x7f },
	{ "movsx32 16", A32 | BPF_MOV | BPF_X, 16, 0, SAMPLE, 0xffffeeff },
	{ "be16", A32 | BPF_END | BPF_X, 0, 16, SAMPLE, 0xffee },
	{ "be32", A32 | BPF_END | BPF_X, 0, 32, SAMPLE, 0xffeeddcc },
	{ "be64", A32 | BPF_END | BPF_X, 0, 64, SAMPLE, 0xffeeddccbbaa9988 },
	{ "le16", A32 | BPF_END | BPF_K, 0, 16, SAMPLE, 0xeeff },
	{ "le32", A32 | BPF_END | BPF_K, 0, 32, SAMPLE, 0xccddeeff },
	{ "le64", A32 | BPF_END | BPF_K, 0, 64, SAMPLE, SAMPLE },
	{ "bswap16", A64 | BPF_END | BPF_K, 0, 16, SAMPLE, 0xffee },
	{ "bswap32", A64 | BPF_END | BPF_K, 0, 32, SAMPLE, 0xffeeddcc },
	{ "bswap64", A64 | BPF_END | BPF_K, 0, 64, SAMPLE, 0xffeeddccbbaa9988 },
};

static void add_single(struct vectors *vectors, const struct single *single)
{
	struct vector *v = vector_new(vectors, "%s", single->name);
	int is_move = BPF_OP(single->code) == BPF_MOV;

	/* A move goes through r3, the others work in place. */
	put_imm64(v, is_move ? 3 : 0, single->a);
	if (is_move)
		put_imm64(v, 0, 0x5555555555555555);
	put(v, single->code, 0, is_move ? 3 : 0, single->off, single->imm);
	put_exit(v);
	v->expected = single->expected;
}

void add_alu_vectors(struct vectors *vectors)
{
	unsigned i;
	int wide;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (wide = 0; wide < 2; wide++) {
			add_row(vectors, &rows[i], wide, 0);
			if ((int64_t)rows[i].b == (int32_t)rows[i].b)
				add_row(vectors, &rows[i], wide, 1);
		}
	}
	for (i = 0; i < sizeof(singles) / sizeof(singles[0]); i++)
		add_single(vectors, &singles[i]);
}
