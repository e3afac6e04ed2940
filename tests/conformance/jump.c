/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional jumps: r0 is 1 when taken, 0 when not. */
#include "tests/conformance/vectors.h"

struct row {
	const char *name;
	uint8_t op;
	uint64_t a, b;
	int wide, narrow;	/* taken? */
};

#define MINUS(x) ((uint64_t)-(int64_t)(x))
#define HIGH 0x100000000ull	/* seen by 64-bit jumps alone */

static const struct row rows[] = {
	{ "jeq equal", BPF_JEQ, 7, 7, 1, 1 },
	{ "jeq different", BPF_JEQ, 7, 8, 0, 0 },
	{ "jeq upper half", BPF_JEQ, HIGH + 7, 7, 0, 1 },
	{ "jeq negative", BPF_JEQ, MINUS(1), MINUS(1), 1, 1 },
	{ "jne equal", BPF_JNE, 7, 7, 0, 0 },
	{ "jne different", BPF_JNE, 7, 8, 1, 1 },
	{ "jne upper half", BPF_JNE, HIGH + 7, 7, 1, 0 },
	{ "jgt more", BPF_JGT, 8, 7, 1, 1 },
	{ "jgt equal", BPF_JGT, 7, 7, 0, 0 },
	{ "jgt unsigned", BPF_JGT, MINUS(1), 7, 1, 1 },
	{ "jgt upper half", BPF_JGT, HIGH + 1, 7, 1, 0 },
	{ "jge equal", BPF_JGE, 7, 7, 1, 1 },
	{ "jge less", BPF_JGE, 6, 7, 0, 0 },
	{ "jge unsigned", BPF_JGE, 6, MINUS(1), 0, 0 },
	{ "jlt less", BPF_JLT, 6, 7, 1, 1 },
	{ "jlt equal", BPF_JLT, 7, 7, 0, 0 },
	{ "jlt unsigned", BPF_JLT, 6, MINUS(1), 1, 1 },
	{ "jlt upper half", BPF_JLT, HIGH + 6, 7, 0, 1 },
	{ "jle equal", BPF_JLE, 7, 7, 1, 1 },
	{ "jle more", BPF_JLE, 8, 7, 0, 0 },
	{ "jle unsigned", BPF_JLE, MINUS(1), 7, 0, 0 },
	{ "jsgt more", BPF_JSGT, 8, 7, 1, 1 },
	{ "jsgt negative", BPF_JSGT, MINUS(1), 7, 0, 0 },
	{ "jsgt than negative", BPF_JSGT, 0, MINUS(1), 1, 1 },
	{ "jsgt sign of the lower half", BPF_JSGT, 0x80000000, 7, 1, 0 },
	{ "jsge equal negative", BPF_JSGE, MINUS(3), MINUS(3), 1, 1 },
	{ "jsge less", BPF_JSGE, MINUS(4), MINUS(3), 0, 0 },
	{ "jslt negative", BPF_JSLT, MINUS(1), 0, 1, 1 },
	{ "jslt sign of the lower half", BPF_JSLT, 0x80000000, 0, 0, 1 },
	{ "jslt equal", BPF_JSLT, MINUS(1), MINUS(1), 0, 0 },
	{ "jsle equal", BPF_JSLE, MINUS(1), MINUS(1), 1, 1 },
	{ "jsle more", BPF_JSLE, 1, MINUS(1), 0, 0 },
	{ "jset common", BPF_JSET, 0xf, 0x8, 1, 1 },
	{ "jset none", BPF_JSET, 0xf, 0x10, 0, 0 },
	{ "jset upper half", BPF_JSET, HIGH, MINUS(2), 1, 0 },
};

static void add_row(struct vectors *vectors, const struct row *row, int wide, int immediate)
{
	struct vector *v = vector_new(vectors, "%s %s %s", row->name, wide ? "64" : "32",
				      immediate ? "immediate" : "register");
	uint8_t class = wide ? BPF_JMP : BPF_JMP32;

	put(v, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
	put_imm64(v, 3, row->a);
	put_imm64(v, 4, row->b);
	if (immediate)
		put(v, (uint8_t)(class | row->op | BPF_K), 3, 0, 1, (int32_t)row->b);
	else
		put(v, (uint8_t)(class | row->op | BPF_X), 3, 4, 1, 0);
	put(v, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	put_exit(v);
	v->expected = (uint64_t)(wide ? row->wide : row->narrow);
}

void add_jump_vectors(struct vectors *vectors)
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
}
