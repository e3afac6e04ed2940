/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores, of plain memory and of the stack. */
#include "tests/conformance/vectors.h"

#include <string.h>

#define MEMSX 0x80	/* sign-extending load, v4 */

struct load {
	const char *name;
	uint8_t size, mode;
	int16_t off;
	uint64_t expected;
};

/* 00 11 22 ... ff, then the same backwards */
static const uint8_t bytes[] = {
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff,
	0xff, 0xee, 0xdd, 0xcc, 0xbb, 0xaa, 0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 0x00,
};

static const struct load loads[] = {
	{ "ldxb", BPF_B, BPF_MEM, 9, 0x99 },
	{ "ldxh", BPF_H, BPF_MEM, 8, 0x9988 },
	{ "ldxh odd", BPF_H, BPF_MEM, 9, 0xaa99 },
	{ "ldxw", BPF_W, BPF_MEM, 8, 0xbbaa9988 },
	{ "ldxw odd", BPF_W, BPF_MEM, 1, 0x44332211 },
	{ "ldxdw", BPF_DW, BPF_MEM, 8, 0xffeeddccbbaa9988 },
	{ "ldxdw odd", BPF_DW, BPF_MEM, 3, 0xaa99887766554433 },
	{ "ldxdw first", BPF_DW, BPF_MEM, 0, 0x7766554433221100 },
	{ "ldxdw last", BPF_DW, BPF_MEM, 24, 0x0011223344556677 },
	{ "ldxsb", BPF_B, MEMSX, 9, 0xffffffffffffff99 },
	{ "ldxsb positive", BPF_B, MEMSX, 7, 0x77 },
	{ "ldxsh", BPF_H, MEMSX, 8, 0xffffffffffff9988 },
	{ "ldxsh positive", BPF_H, MEMSX, 4, 0x5544 },
	{ "ldxsw", BPF_W, MEMSX, 8, 0xffffffffbbaa9988 },
	{ "ldxsw positive", BPF_W, MEMSX, 4, 0x77665544 },
};

static void add_load(struct vectors *vectors, const struct load *load)
{
	struct vector *v = vector_new(vectors, "%s", load->name);

	put(v, (uint8_t)(BPF_LDX | load->mode | load->size), 0, 1, load->off, 0);
	put_exit(v);
	memcpy(v->memory, bytes, sizeof(bytes));
	v->memory_size = sizeof(bytes);
	v->expected = load->expected;
}

struct store {
	const char *name;
	uint8_t size;
	int16_t off;
	uint64_t expected;	/* the eight bytes at 8 after storing 0x8877665544332211, or its low 32 bits with sign */
	uint64_t expected_immediate;
};

static const struct store stores[] = {
	{ "stb", BPF_B, 8, 0xffeeddccbbaa9911, 0xffeeddccbbaa99f0 },
	{ "stb middle", BPF_B, 11, 0xffeeddcc11aa9988, 0xffeeddccf0aa9988 },
	{ "sth", BPF_H, 10, 0xffeeddcc22119988, 0xffeeddccfff09988 },
	{ "stw", BPF_W, 12, 0x44332211bbaa9988, 0xfffffff0bbaa9988 },
	{ "stdw", BPF_DW, 8, 0x8877665544332211, 0xfffffffffffffff0 },
};

static void add_store(struct vectors *vectors, const struct store *store, int immediate)
{
	struct vector *v = vector_new(vectors, "%s %s", store->name, immediate ? "immediate" : "register");

	put_imm64(v, 3, 0x8877665544332211);
	if (immediate)
		put(v, (uint8_t)(BPF_ST | BPF_MEM | store->size), 1, 0, store->off, -16);
	else
		put(v, (uint8_t)(BPF_STX | BPF_MEM | store->size), 1, 3, store->off, 0);
	put(v, BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 8, 0);
	put_exit(v);
	memcpy(v->memory, bytes, sizeof(bytes));
	v->memory_size = sizeof(bytes);
	v->expected = immediate ? store->expected_immediate : store->expected;
}

/* A word on the stack, read back in parts. */
static void add_stack(struct vectors *vectors)
{
	struct vector *v = vector_new(vectors, "stack in parts");

	put_imm64(v, 3, 0x0102030405060708);
	put(v, BPF_STX | BPF_MEM | BPF_DW, 10, 3, -16, 0);
	put(v, BPF_STX | BPF_MEM | BPF_B, 10, 1, -8, 0);	/* a neighbour */
	put(v, BPF_LDX | BPF_MEM | BPF_B, 0, 10, -16, 0);	/* 0x08 */
	put(v, BPF_LDX | BPF_MEM | BPF_H, 4, 10, -14, 0);	/* 0x0506 */
	put(v, BPF_LDX | BPF_MEM | BPF_W, 5, 10, -12, 0);	/* 0x01020304 */
	put(v, BPF_ALU64 | BPF_LSH | BPF_K, 4, 0, 0, 8);
	put(v, BPF_ALU64 | BPF_LSH | BPF_K, 5, 0, 0, 24);
	put(v, BPF_ALU64 | BPF_OR | BPF_X, 0, 4, 0, 0);
	put(v, BPF_ALU64 | BPF_OR | BPF_X, 0, 5, 0, 0);
	put_exit(v);
	v->expected = 0x01020304050608;

	/* The same byte through another register and the stack's lowest address. */
	v = vector_new(vectors, "stack lowest byte");
	put(v, BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0);
	put(v, BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -512);
	put(v, BPF_ST | BPF_MEM | BPF_B, 3, 0, 0, 0x5a);
	put(v, BPF_LDX | BPF_MEM | BPF_B, 0, 10, -512, 0);
	put_exit(v);
	v->expected = 0x5a;

	/* An address that is not constant: r1 is even, so r10 - 16 + (r1 & 1). */
	v = vector_new(vectors, "stack at a computed place");
	put(v, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -16, 0x4321);
	put(v, BPF_ALU64 | BPF_MOV | BPF_X, 3, 10, 0, 0);
	put(v, BPF_ALU64 | BPF_AND | BPF_K, 1, 0, 0, 1);
	put(v, BPF_ALU64 | BPF_ADD | BPF_X, 3, 1, 0, 0);
	put(v, BPF_LDX | BPF_MEM | BPF_H, 0, 3, -16, 0);
	put_exit(v);
	memcpy(v->memory, bytes, sizeof(bytes));
	v->memory_size = sizeof(bytes);
	v->expected = 0x4321;

	/* A pointer kept on the stack. */
	v = vector_new(vectors, "pointer on the stack");
	put(v, BPF_STX | BPF_MEM | BPF_DW, 10, 1, -8, 0);
	put(v, BPF_LDX | BPF_MEM | BPF_DW, 3, 10, -8, 0);
	put(v, BPF_LDX | BPF_MEM | BPF_W, 0, 3, 12, 0);
	put_exit(v);
	memcpy(v->memory, bytes, sizeof(bytes));
	v->memory_size = sizeof(bytes);
	v->expected = 0xffeeddcc;

	v = vector_new(vectors, "length of the memory");
	put(v, BPF_ALU64 | BPF_MOV | BPF_X, 0, 2, 0, 0);
	put_exit(v);
	v->memory_size = 24;
	v->expected = 24;

	v = vector_new(vectors, "64-bit immediate");
	put_imm64(v, 0, 0xdeadbeefcafebabe);
	put_exit(v);
	v->expected = 0xdeadbeefcafebabe;
}

void add_memory_vectors(struct vectors *vectors)
{
	unsigned i;

	for (i = 0; i < sizeof(loads) / sizeof(loads[0]); i++)
		add_load(vectors, &loads[i]);
	for (i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
		add_store(vectors, &stores[i], 0);
		add_store(vectors, &stores[i], 1);
	}
	add_stack(vectors);
}
