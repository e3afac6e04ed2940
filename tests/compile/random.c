/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/compile/random.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MEMSX 0x80
#define MEMORY 6		/* register that holds the memory's address */
#define STACK_WORDS 8

/* Registers that hold numbers. */
static const uint8_t numbers[] = { 0, 2, 3, 4, 5, 7, 8, 9 };
#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

struct maker {
	struct random_program *p;
	uint64_t state;
	unsigned registers;	/* how many of `numbers` may be used here */
	int in_function;	/* neither memory nor stack is at hand */
};

static uint32_t draw(struct maker *m, uint32_t below)
{
	m->state = m->state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(m->state >> 33) % below;
}

static uint64_t draw64(struct maker *m)
{
	/* Small, large, and those at edges. */
	switch (draw(m, 6)) {
	case 0:
		return draw(m, 20);
	case 1:
		return (uint64_t)-(int64_t)draw(m, 20);
	case 2:
		return 1ull << draw(m, 64);
	case 3:
		return (1ull << draw(m, 64)) - 1;
	case 4:
		return (uint64_t)draw(m, 0x7fffffff) << 16;
	default:
		return (uint64_t)draw(m, 0x7fffffff) << 33 ^ (uint64_t)draw(m, 0x7fffffff) << 3 ^ draw(m, 8);
	}
}

static struct bpf_insn *emit(struct maker *m, uint8_t code, uint8_t dst, uint8_t src, int16_t off, int32_t imm)
{
	struct bpf_insn *insn = &m->p->insns[m->p->count];

	if (++m->p->count > RANDOM_INSNS)
		abort();
	*insn = (struct bpf_insn){ .code = code, .dst_reg = dst & 0xf, .src_reg = src & 0xf, .off = off, .imm = imm };
	return insn;
}

static void emit_imm64(struct maker *m, uint8_t dst, uint64_t value)
{
	emit(m, BPF_LD | BPF_IMM | BPF_DW, dst, 0, 0, (int32_t)value);
	emit(m, 0, 0, 0, 0, (int32_t)(value >> 32));
}

static uint8_t number(struct maker *m)
{
	return numbers[draw(m, m->registers)];
}

static void emit_alu(struct maker *m)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH,
				       BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH };
	uint8_t op = ops[draw(m, sizeof(ops))], class = draw(m, 2) ? BPF_ALU64 : BPF_ALU;
	int bits = class == BPF_ALU64 ? 64 : 32, immediate = (int)draw(m, 2);
	int16_t off = (op == BPF_DIV || op == BPF_MOD) && draw(m, 2);
	int32_t imm = (int32_t)draw64(m);

	if (op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH)
		imm = (int32_t)draw(m, (uint32_t)bits);
	if ((op == BPF_DIV || op == BPF_MOD) && !imm)
		imm = 3;
	if (op == BPF_MOV && !immediate && draw(m, 2))
		off = (int16_t)(8 << draw(m, bits == 64 ? 3 : 2));
	emit(m, (uint8_t)(class | op | (immediate ? BPF_K : BPF_X)), number(m), immediate ? 0 : number(m), off,
	     immediate ? imm : 0);
}

static void emit_single(struct maker *m)
{
	static const int32_t widths[] = { 16, 32, 64 };
	uint8_t reg = number(m);

	switch (draw(m, 4)) {
	case 0:
		emit(m, (uint8_t)((draw(m, 2) ? BPF_ALU64 : BPF_ALU) | BPF_NEG), reg, 0, 0, 0);
		break;
	case 1:
		emit(m, BPF_ALU | BPF_END | BPF_X, reg, 0, 0, widths[draw(m, 3)]);
		break;
	case 2:
		emit(m, BPF_ALU | BPF_END | BPF_K, reg, 0, 0, widths[draw(m, 3)]);
		break;
	default:
		emit(m, BPF_ALU64 | BPF_END | BPF_K, reg, 0, 0, widths[draw(m, 3)]);
	}
}

/* A place of 1 to 8 aligned bytes on the stack or in the memory. */
static void draw_place(struct maker *m, uint8_t *base, int16_t *off, uint8_t *size)
{
	static const uint8_t sizes[] = { BPF_B, BPF_H, BPF_W, BPF_DW };
	uint32_t which = draw(m, 4), bytes = 1u << which;

	*size = sizes[which];
	*base = draw(m, 2) ? MEMORY : 10;
	*off = (int16_t)(draw(m, STACK_WORDS * 8 / bytes) * bytes);
	if (*base == 10)
		*off = (int16_t)(*off - STACK_WORDS * 8);
}

static void emit_memory(struct maker *m)
{
	uint8_t base, size;
	int16_t off;

	draw_place(m, &base, &off, &size);
	switch (draw(m, 4)) {
	case 0:
		emit(m, (uint8_t)(BPF_STX | BPF_MEM | size), base, number(m), off, 0);
		break;
	case 1:
		emit(m, (uint8_t)(BPF_ST | BPF_MEM | size), base, 0, off, (int32_t)draw64(m));
		break;
	case 2:
		/* The kernel has no sign-extending load of a packet's bytes. */
		if (size != BPF_DW && base == 10) {
			emit(m, (uint8_t)(BPF_LDX | MEMSX | size), number(m), base, off, 0);
			break;
		}
		/* fall through */
	default:
		emit(m, (uint8_t)(BPF_LDX | BPF_MEM | size), number(m), base, off, 0);
	}
}

static void emit_atomic(struct maker *m)
{
	static const int32_t ops[] = { BPF_ADD, BPF_OR, BPF_AND, BPF_XOR, BPF_XCHG, BPF_CMPXCHG,
				       BPF_ADD | BPF_FETCH, BPF_OR | BPF_FETCH, BPF_AND | BPF_FETCH,
				       BPF_XOR | BPF_FETCH };
	int wide = (int)draw(m, 2);
	int16_t off = (int16_t)(-(int)(draw(m, STACK_WORDS * (wide ? 1 : 2)) + 1) * (wide ? 8 : 4));

	emit(m, (uint8_t)(BPF_STX | BPF_ATOMIC | (wide ? BPF_DW : BPF_W)), 10, number(m), off, ops[draw(m, 10)]);
}

static void emit_some(struct maker *m, unsigned count);

static void emit_jump(struct maker *m)
{
	static const uint8_t ops[] = { BPF_JEQ, BPF_JGT, BPF_JGE, BPF_JSET, BPF_JNE, BPF_JSGT,
				       BPF_JSGE, BPF_JLT, BPF_JLE, BPF_JSLT, BPF_JSLE };
	uint8_t class = draw(m, 2) ? BPF_JMP : BPF_JMP32, op = ops[draw(m, sizeof(ops))];
	int immediate = (int)draw(m, 2);
	unsigned at = m->p->count;

	emit(m, (uint8_t)(class | op | (immediate ? BPF_K : BPF_X)), number(m), immediate ? 0 : number(m), 0,
	     immediate ? (int32_t)draw64(m) : 0);
	emit_some(m, 1 + draw(m, 4));
	m->p->insns[at].off = (int16_t)(m->p->count - at - 1);
	/* Sometimes with an else. */
	if (draw(m, 2)) {
		unsigned over = m->p->count;

		m->p->insns[at].off++;
		if (draw(m, 2))
			emit(m, BPF_JMP | BPF_JA, 0, 0, 0, 0);
		else
			emit(m, BPF_JMP32 | BPF_JA, 0, 0, 0, 0);
		emit_some(m, 1 + draw(m, 4));
		if (m->p->insns[over].code == (BPF_JMP | BPF_JA))
			m->p->insns[over].off = (int16_t)(m->p->count - over - 1);
		else
			m->p->insns[over].imm = (int32_t)(m->p->count - over - 1);
	}
}

static void emit_some(struct maker *m, unsigned count)
{
	while (count--) {
		uint32_t what = draw(m, m->in_function ? 8 : 12);

		if (what < 7)
			emit_alu(m);
		else if (what < 8)
			emit_single(m);
		else if (what < 11)
			emit_memory(m);
		else
			emit_atomic(m);
	}
}

/* r1 counts down; nothing else uses it. */
static void emit_loop(struct maker *m)
{
	unsigned start;

	emit(m, BPF_ALU64 | BPF_MOV | BPF_K, 1, 0, 0, (int32_t)(2 + draw(m, 5)));
	start = m->p->count;
	emit_some(m, 2 + draw(m, 4));
	emit(m, BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -1);
	emit(m, BPF_JMP | BPF_JNE | BPF_K, 1, 0, (int16_t)((int)start - (int)m->p->count - 1), 0);
}

/* A call of a function whose place is filled in later; r2 to r5 are numbers again after it. */
static unsigned emit_call(struct maker *m)
{
	unsigned at;
	uint8_t reg;

	emit(m, BPF_ALU64 | BPF_MOV | BPF_X, 1, number(m), 0, 0);
	emit(m, BPF_ALU64 | BPF_MOV | BPF_X, 2, number(m), 0, 0);
	at = m->p->count;
	emit(m, BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0);
	for (reg = 2; reg <= 5; reg++)
		emit_imm64(m, reg, draw64(m));
	return at;
}

/* Numbers in, numbers through, one number out. */
static void emit_function(struct maker *m)
{
	uint8_t reg;

	for (reg = 3; reg <= 5; reg++)
		emit_imm64(m, reg, draw64(m));
	emit(m, BPF_ALU64 | BPF_MOV | BPF_X, 0, 1, 0, 0);
	m->registers = 5;	/* r0, r2 to r5 */
	m->in_function = 1;
	emit_some(m, 4 + draw(m, 6));
	emit_jump(m);
	emit(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	m->registers = NUMBERS;
	m->in_function = 0;
}

static void emit_prologue(struct maker *m, int kernel)
{
	if (!kernel) {
		emit(m, BPF_ALU64 | BPF_MOV | BPF_X, MEMORY, 1, 0, 0);
		return;
	}
	emit(m, BPF_LDX | BPF_MEM | BPF_W, MEMORY, 1, offsetof(struct __sk_buff, data), 0);
	emit(m, BPF_LDX | BPF_MEM | BPF_W, 2, 1, offsetof(struct __sk_buff, data_end), 0);
	emit(m, BPF_ALU64 | BPF_MOV | BPF_X, 3, MEMORY, 0, 0);
	emit(m, BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, RANDOM_MEMORY);
	emit(m, BPF_JMP | BPF_JLE | BPF_X, 3, 2, 2, 0);
	emit(m, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1);
	emit(m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

void random_program(uint64_t seed, int kernel, struct random_program *program)
{
	struct maker m = { .p = program, .state = seed * 0x9e3779b97f4a7c15 + 1, .registers = NUMBERS };
	unsigned i, parts, calls[4], call_count = 0;

	memset(program, 0, sizeof(*program));
	emit_prologue(&m, kernel);
	for (i = 0; i < RANDOM_MEMORY; i++)
		program->memory[i] = (uint8_t)draw(&m, 256);
	for (i = 0; i < NUMBERS; i++)
		emit_imm64(&m, numbers[i], draw64(&m));
	for (i = 1; i <= STACK_WORDS; i++)
		emit(&m, BPF_STX | BPF_MEM | BPF_DW, 10, number(&m), (int16_t)(-8 * (int)i), 0);
	for (parts = 4 + draw(&m, 6); parts; parts--) {
		switch (draw(&m, 5)) {
		case 0:
			emit_loop(&m);
			break;
		case 1:
		case 2:
			emit_jump(&m);
			break;
		case 3:
			if (call_count < 2) {
				calls[call_count++] = emit_call(&m);
				break;
			}
			/* fall through */
		default:
			emit_some(&m, 3 + draw(&m, 5));
		}
	}
	for (i = 0; i < NUMBERS; i++)
		emit(&m, BPF_STX | BPF_MEM | BPF_DW, MEMORY, numbers[i], (int16_t)(8 * i), 0);
	emit(&m, BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0);
	emit(&m, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	for (i = 0; i < call_count; i++) {
		program->insns[calls[i]].imm = (int32_t)(program->count - calls[i] - 1);
		emit_function(&m);
	}
}
