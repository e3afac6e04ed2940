/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verify/generate.h"

#include <stdbool.h>
#include <string.h>

#include "tests/verify/random.h"
#include "tests/verify/table.h"

/*
 * A generated program keeps numbers in r6 to r9 and in the stack's top 64 bytes,
 * the context at r10-72, and uses r0 to r5 within one part.
 */
struct generator {
	uint64_t *seed;
	struct bpf_insn *insns;
	unsigned count;
	unsigned parts[GENERATED_MAX];	/* first instruction of each */
	unsigned part_count;
	unsigned open[GENERATED_MAX], span[GENERATED_MAX];	/* jumps whose target is some parts away */
	unsigned from_part[GENERATED_MAX];
	unsigned open_count;
	bool warp;			/* with helpers for warps */
	unsigned calls[8], loops[8];	/* calls of the function at the end; constants with its address */
	unsigned call_count, loop_count;
};

static unsigned pick(struct generator *g, unsigned count)
{
	return (unsigned)(vm_random(g->seed) % count);
}

static void emit(struct generator *g, struct bpf_insn insn)
{
	if (g->count < GENERATED_MAX)
		g->insns[g->count++] = insn;
}

#define EMIT(...) do { \
	const struct bpf_insn list[] = { __VA_ARGS__ }; \
	for (unsigned n = 0; n < sizeof(list) / sizeof(list[0]); n++) \
		emit(g, list[n]); \
} while (0)

static unsigned number_reg(struct generator *g)
{
	return 6 + pick(g, 4);
}

static int32_t immediate(struct generator *g)
{
	return (int32_t)vm_interesting(g->seed);
}

static void part_alu(struct generator *g)
{
	static const uint8_t ops[] = { BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV, BPF_OR, BPF_AND, BPF_LSH, BPF_RSH,
				       BPF_MOD, BPF_XOR, BPF_MOV, BPF_ARSH };
	unsigned class = pick(g, 2) ? BPF_ALU64 : BPF_ALU, op = ops[pick(g, sizeof(ops))];
	int16_t off = (op == BPF_DIV || op == BPF_MOD) && pick(g, 2);

	if (pick(g, 2))
		EMIT(INSN(class | op | BPF_X, number_reg(g), number_reg(g), off, 0));
	else
		EMIT(INSN(class | op | BPF_K, number_reg(g), 0, off, immediate(g)));
}

static void part_unary(struct generator *g)
{
	static const int16_t bits[] = { 8, 16, 32 };
	static const int32_t widths[] = { 16, 32, 64 };
	unsigned reg = number_reg(g);

	switch (pick(g, 4)) {
	case 0:
		EMIT(INSN((pick(g, 2) ? BPF_ALU64 : BPF_ALU) | BPF_NEG, reg, 0, 0, 0));
		break;
	case 1:
		EMIT(MOVSX(reg, number_reg(g), bits[pick(g, 3)]));
		break;
	case 2:
		EMIT(INSN(BPF_ALU | BPF_MOV | BPF_X, reg, number_reg(g), bits[pick(g, 2)], 0));
		break;
	default:
		EMIT(INSN((pick(g, 2) ? BPF_ALU | (pick(g, 2) ? BPF_TO_BE : 0) : BPF_ALU64) | BPF_END, reg, 0, 0, widths[pick(g, 3)]));
		break;
	}
}

static unsigned condition_code(struct generator *g)
{
	static const uint8_t ops[] = { BPF_JEQ, BPF_JNE, BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE, BPF_JSET,
				       BPF_JSGT, BPF_JSGE, BPF_JSLT, BPF_JSLE };

	return (pick(g, 2) ? BPF_JMP : BPF_JMP32) | ops[pick(g, sizeof(ops))];
}

/* A forward jump over the next few parts. */
static void part_jump(struct generator *g)
{
	g->open[g->open_count] = g->count;
	g->from_part[g->open_count] = g->part_count;
	g->span[g->open_count++] = 1 + pick(g, 4);
	if (pick(g, 2))
		EMIT(INSN(condition_code(g) | BPF_X, number_reg(g), number_reg(g), 0, 0));
	else
		EMIT(INSN(condition_code(g) | BPF_K, number_reg(g), 0, 0, immediate(g)));
}

static void part_stack(struct generator *g)
{
	static const uint8_t sizes[] = { B, H, W, DW };
	unsigned shift = pick(g, 4), size = sizes[shift], reg = number_reg(g);
	int16_t off = (int16_t)(-64 + (int)(pick(g, 64u >> shift) << shift));

	switch (pick(g, 4)) {
	case 0:
		EMIT(STX(size, R10, off, reg));
		break;
	case 1:
		EMIT(ST(size, R10, off, immediate(g)));
		break;
	case 2:
		EMIT(LDXS(size == DW ? W : size, reg, R10, off));
		break;
	default:
		EMIT(LDX(size, reg, R10, off));
		break;
	}
}

/* Put a number into r2 and, usually, bound it to below `limit`; skips `skip` instructions otherwise. */
static void bound(struct generator *g, unsigned limit, int16_t skip)
{
	unsigned reg = number_reg(g);

	EMIT(MOVR(R2, reg));
	switch (pick(g, 10)) {
	case 0:
		break;
	case 1:
		EMIT(JIF(BPF_JGT, R2, (int32_t)limit - 1, skip));
		break;
	case 2:
		EMIT(JIF(BPF_JGE, reg, (int32_t)limit, skip));
		break;
	case 3:
		EMIT(JIF(BPF_JSLT, R2, 0, (int16_t)(skip + 1)), JIF(BPF_JSGE, R2, (int32_t)limit, skip));
		break;
	case 4:
		EMIT(ALU(BPF_MOD, R2, (int32_t)limit));
		break;
	case 5:
		EMIT(MOVR32(R2, R2), JIF32(BPF_JGE, R2, (int32_t)limit, skip));
		break;
	case 6:
		EMIT(JIF32(BPF_JSGT, R2, (int32_t)limit - 1, skip));
		break;
	case 7:
		EMIT(ALU32(BPF_RSH, R2, 28));
		break;
	case 8:
		EMIT(INSN(condition_code(g) | BPF_K, R2, 0, skip, (int32_t)pick(g, 2 * limit)));
		break;
	default:
		EMIT(AND(R2, (int32_t)limit - 1));
		break;
	}
}

/* 2 instructions */
static void access_at(struct generator *g, unsigned base, int16_t off)
{
	static const uint8_t sizes[] = { B, B, B, H, W, DW };
	unsigned size = sizes[pick(g, 6)], reg = number_reg(g);

	EMIT(AND(R2, size == DW ? -8 : size == W ? -4 : size == H ? -2 : -1), ADDR(base, R2));
	switch (pick(g, 4)) {
	case 0:
		EMIT(STX(size, base, off, reg));
		break;
	case 1:
		EMIT(ST(size, base, off, immediate(g)));
		break;
	case 2:
		if (size == W || size == DW) {
			static const int32_t ops[] = { BPF_ADD, BPF_OR | BPF_FETCH, BPF_XOR, BPF_AND | BPF_FETCH, BPF_XCHG };

			EMIT(ATOMIC(size == DW ? DW : W, ops[pick(g, 5)], base, off, reg));
			break;
		}
		/* fallthrough */
	default:
		EMIT(LDX(size, reg, base, off));
		break;
	}
}

static void part_data(struct generator *g)
{
	unsigned map = pick(g, 4) ? MAP_DATA : MAP_RODATA;

	EMIT(LD_VALUE(R1, map, (int32_t)pick(g, 3) * 8));
	bound(g, 1u << (2 + pick(g, 4)), 3);
	access_at(g, R1, (int16_t)pick(g, 5));
}

static void part_array(struct generator *g)
{
	static const uint8_t maps[] = { MAP_ARRAY, MAP_BIG, MAP_LANES };

	EMIT(ST(W, R10, -76, 0), LD_MAP(R1, maps[pick(g, 3)]), MOVR(R2, R10), ADD(R2, -76), CALL(LOOKUP));
	if (pick(g, 10))
		EMIT(JIF(BPF_JEQ, R0, 0, 8));
	else
		EMIT(JIF(BPF_JNE, R0, 0, 1));
	bound(g, 1u << (2 + pick(g, 11)), 3);
	access_at(g, R0, 0);
	while (g->count % 2)	/* room for the jump above, whatever was chosen */
		EMIT(MOV(R5, 0));
	EMIT(MOV(R5, 0), MOV(R5, 0), MOV(R5, 0), MOV(R5, 0));
}

static void part_index_stack(struct generator *g)
{
	EMIT(MOVR(R1, R10), ADD(R1, -64));
	bound(g, 1u << (3 + pick(g, 4)), 3);
	access_at(g, R1, 0);
}

static void part_helper(struct generator *g)
{
	static const int32_t ids[] = { KTIME, CPU, 7, LANE, 4101, 4102 };

	EMIT(CALL(ids[pick(g, 6)]), MOVR(number_reg(g), R0));
}

static void part_context(struct generator *g)
{
	static const int16_t fields[] = { 8, 32, 36, 44, 56, 76 };

	EMIT(LDX(DW, R1, R10, -72), LDX(W, number_reg(g), R1, fields[pick(g, 6)]));
	if (pick(g, 3) == 0)
		EMIT(LDX(DW, number_reg(g), R1, 0));
}

static void part_loop(struct generator *g)
{
	unsigned counter = number_reg(g), start;

	EMIT(MOV(counter, pick(g, 4) ? 0 : immediate(g)));
	start = g->count;
	for (unsigned i = pick(g, 3); i > 0; i--)
		pick(g, 2) ? part_alu(g) : part_stack(g);
	if (pick(g, 3) == 0)
		EMIT(INSN(condition_code(g) | BPF_X, number_reg(g), number_reg(g), 2, 0));
	EMIT(ADD(counter, 1 + (int)pick(g, 3)));
	EMIT(INSN(pick(g, 2) ? BPF_JMP | BPF_JLT : BPF_JMP32 | BPF_JSLT, counter, 0, (int16_t)((int)start - (int)g->count - 1), (int32_t)pick(g, 40)));
}

static void part_ring(struct generator *g)
{
	int32_t size = 8 + (int32_t)pick(g, 3) * 4;

	if (pick(g, 2)) {
		EMIT(LD_MAP(R1, MAP_RING), MOVR(R2, R10), ADD(R2, -64), MOVR(R3, number_reg(g)), AND(R3, pick(g, 4) ? 63 : 127), MOV(R4, 0), CALL(OUTPUT));
		return;
	}
	EMIT(LD_MAP(R1, MAP_RING), MOV(R2, size), MOV(R3, 0), CALL(RESERVE), JIF(BPF_JEQ, R0, 0, 4));
	EMIT(STX(W, R0, (int16_t)(pick(g, 4) * 4), number_reg(g)), MOVR(R1, R0), MOV(R2, 0), CALL(pick(g, 2) ? SUBMIT : DISCARD));
}

static void part_call(struct generator *g)
{
	if (g->call_count == 8 || g->loop_count == 8)
		return;
	if (pick(g, 2)) {
		EMIT(MOVR(R1, number_reg(g)), MOVR(R2, R10), ADD(R2, -64));
		g->calls[g->call_count++] = g->count;
		EMIT(CALLF(0), MOVR(number_reg(g), R0));
		return;
	}
	EMIT(MOVR(R1, number_reg(g)));
	if (pick(g, 3))
		EMIT(AND(R1, 31));
	g->loops[g->loop_count++] = g->count;
	EMIT(LD_FUNC(R2, 0), MOVR(R3, R10), ADD(R3, -64), MOV(R4, 0), CALL(LOOP), MOVR(number_reg(g), R0));
}

static void part_indices(struct generator *g)
{
	EMIT(MOVR(R1, R10), ADD(R1, -8), MOVR(R2, R10), ADD(R2, -16), MOVR(R3, R10), ADD(R3, -(8 + (int)pick(g, 8) * 8)), CALL(505));
}

/* Some of the stack's bytes from a kernel's parameters. */
static void part_parameter(struct generator *g)
{
	bound(g, 64, 4);
	EMIT(ADD(R2, 1), MOVR(R1, R10), ADD(R1, -(int)(64 + pick(g, 2) * 8 + pick(g, 20) / 18 * 256)), MOV(R3, 0), CALL(READ_PARAM));
	if (pick(g, 2) == 0)
		EMIT(LDX(B, number_reg(g), R10, (int16_t)(-1 - (int)pick(g, 72))));
}

/* A number below another that is one of two: what bounds the index is known only on some ways. */
static void part_two_bounds(struct generator *g)
{
	unsigned a = 6 + pick(g, 2), b = 8 + pick(g, 2), used = pick(g, 2) ? a : R2;

	EMIT(MOV(b, (int32_t)(8u << pick(g, 4))), MOVR(R2, pick(g, 3) ? a : number_reg(g)), MOV(R3, 0), MOV(R4, 0));
	EMIT(INSN(condition_code(g) | BPF_K, number_reg(g), 0, 1, immediate(g)));
	if (pick(g, 2))
		EMIT(MOV(b, (int32_t)(8u << pick(g, 4))));
	else
		EMIT(MOVR(R2, a));
	EMIT(LD_VALUE(R1, MAP_DATA, 0), JIFR(BPF_JGE, a, b, 2), ADDR(R1, used), LDX(B, R5, R1, 0));
}

static void part_warp(struct generator *g)
{
	EMIT(MOVR(R1, number_reg(g)), CALL(WARP_SUM));
	if (pick(g, 2))
		EMIT(MOVR(number_reg(g), R0));
}

/* Something that all threads of a warp have alike. */
static void part_alike(struct generator *g)
{
	static const int16_t fields[] = { 8, 44, 48, 56, 68, 76 };

	switch (pick(g, 4)) {
	case 0:
		EMIT(CALL(CPU), MOVR(number_reg(g), R0));
		break;
	case 1:
		EMIT(LD_VALUE(R1, MAP_RODATA, 0), LDX(W, number_reg(g), R1, 4));
		break;
	default:
		EMIT(LDX(DW, R1, R10, -72), LDX(W, number_reg(g), R1, fields[pick(g, 6)]));
		break;
	}
}

static void part(struct generator *g)
{
	static void (*const parts[])(struct generator *) = {
		part_alu, part_alu, part_alu, part_alu, part_unary, part_jump, part_jump, part_jump, part_stack,
		part_stack, part_data, part_data, part_array, part_index_stack, part_helper, part_context,
		part_loop, part_ring, part_call, part_indices, part_parameter, part_two_bounds, part_two_bounds,
	};

	g->parts[g->part_count++] = g->count;
	if (g->warp && pick(g, 2)) {
		pick(g, 2) ? part_warp(g) : part_alike(g);
		return;
	}
	parts[pick(g, sizeof(parts) / sizeof(parts[0]))](g);
}

static void begin(struct generator *g)
{
	EMIT(STX(DW, R10, -72, R1));
	for (int16_t off = -64; off < 0; off = (int16_t)(off + 8))
		EMIT(ST(DW, R10, off, 0));
	EMIT(LDX(W, R6, R1, 8), LDX(DW, R7, R1, 0), MOV(R8, immediate(g)), MOVR(R9, R6));
}

/* The function that calls and bpf_loop go to: r1 a number, r2 the caller's 64 bytes. */
static void end(struct generator *g)
{
	unsigned function;

	g->parts[g->part_count++] = g->count;
	EMIT(MOVR(R0, number_reg(g)), EXIT);
	function = g->count;
	for (unsigned i = 0; i < g->call_count; i++)
		g->insns[g->calls[i]].imm = (int32_t)(function - g->calls[i] - 1);
	for (unsigned i = 0; i < g->loop_count; i++)
		g->insns[g->loops[i]].imm = (int32_t)(function - g->loops[i] - 1);
	if (g->call_count || g->loop_count) {
		EMIT(MOVR(R3, R1), AND(R3, pick(g, 2) ? 56 : 63));
		if (pick(g, 2))
			EMIT(ADDR(R2, R3));
		EMIT(LDX(DW, R4, R2, 0), ADDR(R4, R1), STX(DW, R2, 0, R4));
		if (pick(g, 2)) {	/* one of two numbers, in a place of the caller's */
			EMIT(MOV(R5, (int32_t)pick(g, 64)), INSN(condition_code(g) | BPF_K, R1, 0, 1, (int32_t)pick(g, 16)));
			EMIT(MOV(R5, (int32_t)pick(g, 64)), STX(DW, R2, 0, R5), MOV(R5, 0), MOV(R5, 0), MOV(R5, 0), JMP(0));
		}
		EMIT(MOVR(R0, R4), AND(R0, 1));
		if (g->warp && pick(g, 2))
			EMIT(MOV(R1, 1), CALL(WARP_SUM));
		if (pick(g, 3) == 0 || g->warp)
			EMIT(MOV(R0, 0));
		EMIT(EXIT);
	}
	for (unsigned i = 0; i < g->open_count; i++) {
		unsigned to = g->from_part[i] + g->span[i];

		if (to >= g->part_count)
			to = g->part_count - 1;
		g->insns[g->open[i]].off = (int16_t)(g->parts[to] - g->open[i] - 1);
	}
}

unsigned generate_program(uint64_t *seed, struct bpf_insn insns[GENERATED_MAX])
{
	struct generator g = { .seed = seed, .insns = insns };
	unsigned parts = 2 + pick(&g, 14);

	g.warp = pick(&g, 3) == 0;
	begin(&g);
	while (parts-- && g.count < GENERATED_MAX - 60)
		part(&g);
	end(&g);
	return g.count;
}

static void mutate(uint64_t *seed, struct bpf_insn *insns, unsigned count)
{
	struct bpf_insn *insn = &insns[vm_random(seed) % count];
	const struct bpf_insn *other = &insns[vm_random(seed) % count];

	switch (vm_random(seed) % 8) {
	case 0:
		insn->dst_reg = vm_random(seed) % 11;
		break;
	case 1:
		insn->src_reg = vm_random(seed) % 11;
		break;
	case 2:
		insn->off = (int16_t)(insn->off + (int)(vm_random(seed) % 17) - 8);
		break;
	case 3:
		insn->imm = (int32_t)vm_interesting(seed);
		break;
	case 4:
		insn->imm = (int32_t)((uint32_t)insn->imm + (uint32_t)(vm_random(seed) % 17) - 8);
		break;
	case 5:
		insn->code = (uint8_t)((insn->code & 0x0f) | (vm_random(seed) % 14) << 4);
		break;
	case 6:
		*insn = *other;
		break;
	default:
		insn->code ^= (uint8_t)(1u << vm_random(seed) % 8);
		break;
	}
}

unsigned generate_mutant(uint64_t *seed, struct bpf_insn insns[GENERATED_MAX])
{
	unsigned which = (unsigned)(vm_random(seed) % (accepted_count + refused_count));
	const struct bpf_insn *from = which < accepted_count ? accepted[which].insns :
							       refused[which - accepted_count].insns;
	unsigned count = which < accepted_count ? accepted[which].count : refused[which - accepted_count].count;

	memcpy(insns, from, count * sizeof(*insns));
	for (unsigned i = vm_random(seed) % 4; i > 0; i--)
		mutate(seed, insns, count);
	return count;
}
