/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small BPF programs with results worked out by hand from the instruction set's
 * definition (RFC 9669).  r1 is the address of `memory`, r2 its length; the result
 * is r0.
 */
#ifndef TESTS_CONFORMANCE_VECTORS_H
#define TESTS_CONFORMANCE_VECTORS_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#define VECTOR_INSNS 48
#define VECTOR_MEMORY 80

struct vector {
	char name[64];
	struct bpf_insn insns[VECTOR_INSNS];
	unsigned count;
	uint8_t memory[VECTOR_MEMORY];
	unsigned memory_size;
	uint64_t expected;
	/*
	 * It calls through a register: no instruction of RFC 9669, and the kernel's verifier says
	 * "unknown opcode 8d".  Compiling it must fail with -EOPNOTSUPP.
	 */
	bool refused;
};

struct vectors {
	struct vector *list;
	unsigned count;
};

/* A new vector at the end of the list; the name is built like printf does. */
struct vector *vector_new(struct vectors *vectors, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Instructions, one after another. */
void put(struct vector *v, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm);
void put_imm64(struct vector *v, uint8_t dst, uint64_t value);
void put_exit(struct vector *v);

void add_alu_vectors(struct vectors *vectors);
void add_jump_vectors(struct vectors *vectors);
void add_memory_vectors(struct vectors *vectors);
void add_atomic_vectors(struct vectors *vectors);
void add_control_vectors(struct vectors *vectors);
/* All of these. */
void add_own_vectors(struct vectors *vectors);

/*
 * Those that print-suite made of another suite's cases.  Ends the program, with a line that says
 * why, when it cannot.
 */
void add_listed_vectors(struct vectors *vectors, const char *path);

#endif
