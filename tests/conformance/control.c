/* SPDX-License-Identifier: Apache-2.0 */
/* Loops, calls, long jumps, callbacks. */
#include "tests/conformance/vectors.h"

#define MOV_K (BPF_ALU64 | BPF_MOV | BPF_K)
#define MOV_X (BPF_ALU64 | BPF_MOV | BPF_X)
#define ADD_K (BPF_ALU64 | BPF_ADD | BPF_K)
#define ADD_X (BPF_ALU64 | BPF_ADD | BPF_X)
#define MUL_X (BPF_ALU64 | BPF_MUL | BPF_X)
#define CALL (BPF_JMP | BPF_CALL)
#define HELPER_LOOP 181

static void add_jumps(struct vectors *vectors)
{
	struct vector *v = vector_new(vectors, "ja");

	put(v, MOV_K, 0, 0, 0, 1);
	put(v, BPF_JMP | BPF_JA, 0, 0, 1, 0);
	put(v, MOV_K, 0, 0, 0, 2);
	put_exit(v);
	v->expected = 1;

	v = vector_new(vectors, "ja32");
	put(v, MOV_K, 0, 0, 0, 1);
	put(v, BPF_JMP32 | BPF_JA, 0, 0, 0, 2);
	put(v, MOV_K, 0, 0, 0, 2);
	put(v, MOV_K, 0, 0, 0, 3);
	put_exit(v);
	v->expected = 1;

	v = vector_new(vectors, "ja backwards");
	put(v, BPF_JMP | BPF_JA, 0, 0, 2, 0);
	put(v, MOV_K, 0, 0, 0, 9);
	put_exit(v);
	put(v, BPF_JMP | BPF_JA, 0, 0, -3, 0);
	v->expected = 9;

	/* 10 + 9 + ... + 1 */
	v = vector_new(vectors, "loop");
	put(v, MOV_K, 0, 0, 0, 0);
	put(v, MOV_K, 3, 0, 0, 10);
	put(v, ADD_X, 0, 3, 0, 0);
	put(v, ADD_K, 3, 0, 0, -1);
	put(v, BPF_JMP | BPF_JNE | BPF_K, 3, 0, -3, 0);
	put_exit(v);
	v->expected = 55;

	/* Fibonacci: 1 1 2 3 5 8 13 21 34 55 89, the loop counts in 32 bits */
	v = vector_new(vectors, "loop with two values");
	put(v, MOV_K, 0, 0, 0, 1);
	put(v, MOV_K, 3, 0, 0, 0);
	put(v, MOV_K, 4, 0, 0, 0);
	put(v, MOV_X, 5, 0, 0, 0);
	put(v, ADD_X, 0, 3, 0, 0);
	put(v, MOV_X, 3, 5, 0, 0);
	put(v, BPF_ALU | BPF_ADD | BPF_K, 4, 0, 0, 1);
	put(v, BPF_JMP32 | BPF_JLT | BPF_K, 4, 0, -5, 10);
	put_exit(v);
	v->expected = 89;

	v = vector_new(vectors, "two exits");
	put(v, MOV_K, 0, 0, 0, 1);
	put(v, BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 1, 0);
	put_exit(v);
	put(v, MOV_K, 0, 0, 0, 2);
	put_exit(v);
	v->expected = 2;
}

static void add_calls(struct vectors *vectors)
{
	struct vector *v = vector_new(vectors, "call");

	put(v, MOV_K, 1, 0, 0, 20);
	put(v, MOV_K, 2, 0, 0, 22);
	put(v, CALL, 0, BPF_PSEUDO_CALL, 0, 1);
	put_exit(v);
	put(v, MOV_X, 0, 1, 0, 0);
	put(v, ADD_X, 0, 2, 0, 0);
	put_exit(v);
	v->expected = 42;

	/* r6 to r9 survive a function that uses them */
	v = vector_new(vectors, "call keeps r6 to r9");
	put(v, MOV_K, 6, 0, 0, 1);
	put(v, MOV_K, 7, 0, 0, 20);
	put(v, MOV_K, 8, 0, 0, 300);
	put(v, MOV_K, 9, 0, 0, 4000);
	put(v, CALL, 0, BPF_PSEUDO_CALL, 0, 5);
	put(v, ADD_X, 0, 6, 0, 0);
	put(v, ADD_X, 0, 7, 0, 0);
	put(v, ADD_X, 0, 8, 0, 0);
	put(v, ADD_X, 0, 9, 0, 0);
	put_exit(v);
	put(v, MOV_K, 6, 0, 0, 7);
	put(v, MOV_K, 7, 0, 0, 7);
	put(v, MOV_K, 8, 0, 0, 7);
	put(v, MOV_K, 9, 0, 0, 7);
	put(v, MOV_K, 0, 0, 0, 50000);
	put_exit(v);
	v->expected = 54321;

	/* Each function has a stack of its own, and may write the caller's through a pointer. */
	v = vector_new(vectors, "call with a pointer to the stack");
	put(v, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 5);
	put(v, MOV_X, 1, 10, 0, 0);
	put(v, ADD_K, 1, 0, 0, -8);
	put(v, CALL, 0, BPF_PSEUDO_CALL, 0, 3);
	put(v, BPF_LDX | BPF_MEM | BPF_DW, 3, 10, -8, 0);
	put(v, ADD_X, 0, 3, 0, 0);
	put_exit(v);
	put(v, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 1000);
	put(v, BPF_LDX | BPF_MEM | BPF_DW, 0, 1, 0, 0);
	put(v, BPF_ST | BPF_MEM | BPF_DW, 1, 0, 0, 6);
	put(v, BPF_LDX | BPF_MEM | BPF_DW, 3, 10, -8, 0);
	put(v, ADD_X, 0, 3, 0, 0);
	put_exit(v);
	v->expected = 1011;

	/* 3 functions deep: ((2 + 1) * 10) + 3 */
	v = vector_new(vectors, "calls within calls");
	put(v, MOV_K, 1, 0, 0, 2);
	put(v, CALL, 0, BPF_PSEUDO_CALL, 0, 2);
	put(v, ADD_K, 0, 0, 0, 3);
	put_exit(v);
	put(v, CALL, 0, BPF_PSEUDO_CALL, 0, 3);
	put(v, MOV_K, 3, 0, 0, 10);
	put(v, MUL_X, 0, 3, 0, 0);
	put_exit(v);
	put(v, MOV_X, 0, 1, 0, 0);
	put(v, ADD_K, 0, 0, 0, 1);
	put_exit(v);
	v->expected = 33;
}

/* bpf_loop(times, callback, &sum, flags); the callback adds its index and stops at `stop`. */
static void add_loop(struct vectors *vectors, const char *name, int32_t times, int32_t flags, int32_t stop,
		     int want_sum, uint64_t expected)
{
	struct vector *v = vector_new(vectors, "bpf_loop %s", name);

	put(v, BPF_ST | BPF_MEM | BPF_DW, 10, 0, -8, 0);
	put(v, MOV_K, 1, 0, 0, times);
	put(v, BPF_LD | BPF_IMM | BPF_DW, 2, BPF_PSEUDO_FUNC, 0, 7);
	put(v, 0, 0, 0, 0, 0);
	put(v, MOV_X, 3, 10, 0, 0);
	put(v, ADD_K, 3, 0, 0, -8);
	put(v, MOV_K, 4, 0, 0, flags);
	put(v, CALL, 0, 0, 0, HELPER_LOOP);
	if (want_sum)
		put(v, BPF_LDX | BPF_MEM | BPF_DW, 0, 10, -8, 0);
	else
		put(v, MOV_X, 0, 0, 0, 0);
	put_exit(v);
	/* the callback */
	put(v, BPF_LDX | BPF_MEM | BPF_DW, 3, 2, 0, 0);
	put(v, ADD_X, 3, 1, 0, 0);
	put(v, BPF_STX | BPF_MEM | BPF_DW, 2, 3, 0, 0);
	put(v, MOV_K, 0, 0, 0, 0);
	put(v, BPF_JMP | BPF_JNE | BPF_K, 1, 0, 1, stop);
	put(v, MOV_K, 0, 0, 0, 1);
	put_exit(v);
	v->expected = expected;
}

static void add_call_register(struct vectors *vectors)
{
	struct vector *v = vector_new(vectors, "call through a register");

	put(v, MOV_K, 2, 0, 0, 5);
	put(v, CALL | BPF_X, 2, 0, 0, 0);
	put(v, MOV_K, 0, 0, 0, 2);
	put_exit(v);
	v->expected = 2;	/* were there such an instruction */
}

void add_control_vectors(struct vectors *vectors)
{
	add_call_register(vectors);
	add_jumps(vectors);
	add_calls(vectors);
	add_loop(vectors, "sum", 5, 0, -1, 1, 10);
	add_loop(vectors, "count", 5, 0, -1, 0, 5);
	add_loop(vectors, "stopped, sum", 100, 0, 3, 1, 6);
	add_loop(vectors, "stopped, count", 100, 0, 3, 0, 4);
	add_loop(vectors, "no times", 0, 0, -1, 0, 0);
	add_loop(vectors, "too often", (1 << 23) + 1, 0, -1, 0, (uint64_t)-7);
	add_loop(vectors, "unknown flags", 5, 1, -1, 0, (uint64_t)-22);
	add_loop(vectors, "unknown flags do nothing", 5, 1, -1, 1, 0);
}
