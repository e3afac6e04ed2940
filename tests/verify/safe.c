/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that must be accepted, with the longest way through where it can be counted by hand. */
#include "tests/verify/table.h"

/* bpf_ringbuf_output(events, r10 - bytes, bytes, 0); 7 instructions, 6 executed. */
#define OUTPUT_STACK(bytes) \
	LD_MAP(R1, MAP_RING), MOVR(R2, R10), ADD(R2, -(bytes)), MOV(R3, bytes), MOV(R4, 0), CALL(OUTPUT)
/* A record of 8 bytes in r0, or leave; 8 instructions. */
#define RESERVE_8 LD_MAP(R1, MAP_RING), MOV(R2, 8), MOV(R3, 0), CALL(RESERVE), NULL_EXIT
#define RETURN_0 MOV(R0, 0), EXIT

const struct accepted accepted[] = {
	/* ---- arithmetic: nothing traps ---- */
	{ "return a number", PROG(MOV(R0, 7), EXIT), 2 },
	{ "division by zero", PROG(MOV(R0, 7), MOV(R1, 0), ALUR(BPF_DIV, R0, R1), EXIT), 4 },
	{ "division by an immediate zero", PROG(MOV(R0, 7), ALU(BPF_DIV, R0, 0), EXIT), 3 },
	{ "modulo by an unknown", PROG(LDX(W, R1, R1, 8), MOV(R0, 7), ALUR(BPF_MOD, R0, R1), EXIT), 4 },
	{ "signed division of the least number", PROG(LD64(R0, 0x8000000000000000ull), INSN(BPF_ALU64 | BPF_DIV | BPF_K, R0, 0, 1, -1), EXIT), 3 },
	{ "signed 32-bit modulo", PROG(LDX(W, R0, R1, 8), INSN(BPF_ALU | BPF_MOD | BPF_K, R0, 0, 1, -3), EXIT), 3 },
	{ "shift by 200", PROG(MOV(R0, 1), ALU(BPF_LSH, R0, 200), EXIT), 3 },
	{ "shift by an unknown", PROG(LDX(W, R1, R1, 8), MOV(R0, 1), ALUR32(BPF_ARSH, R0, R1), EXIT), 4 },
	{ "every 64-bit operation", PROG(LDX(DW, R0, R1, 0), ALU(BPF_ADD, R0, 1), ALU(BPF_SUB, R0, 1), ALU(BPF_MUL, R0, 3), ALU(BPF_OR, R0, 1), ALU(BPF_AND, R0, -2), ALU(BPF_XOR, R0, 5),
		ALU(BPF_LSH, R0, 3), ALU(BPF_RSH, R0, 3), ALU(BPF_ARSH, R0, 3), NEG(R0), EXIT), 12 },
	{ "every 32-bit operation", PROG(LDX(DW, R0, R1, 0), ALU32(BPF_ADD, R0, 1), ALU32(BPF_SUB, R0, 1), ALU32(BPF_MUL, R0, 3), ALU32(BPF_OR, R0, 1), ALU32(BPF_AND, R0, -2),
		ALU32(BPF_XOR, R0, 5), ALU32(BPF_LSH, R0, 3), ALU32(BPF_RSH, R0, 3), ALU32(BPF_ARSH, R0, 3), INSN(BPF_ALU | BPF_NEG, R0, 0, 0, 0), EXIT), 12 },
	{ "byte swaps", PROG(LDX(DW, R0, R1, 0), INSN(BPF_ALU | BPF_END | BPF_TO_LE, R0, 0, 0, 32), INSN(BPF_ALU | BPF_END | BPF_TO_BE, R0, 0, 0, 16), INSN(BPF_ALU64 | BPF_END, R0, 0, 0, 64), EXIT), 5 },
	{ "sign extensions", PROG(LDX(DW, R2, R1, 0), MOVSX(R0, R2, 8), MOVSX(R0, R2, 16), MOVSX(R0, R2, 32), INSN(BPF_ALU | BPF_MOV | BPF_X, R0, R2, 8, 0), LDXS(W, R0, R1, 8), LDXS(B, R0, R1, 8), EXIT), 8 },
	{ "64-bit constant", PROG(LD64(R0, 0x123456789abcdef0ull), EXIT), 2 },
	{ "every condition", PROG(LDX(DW, R2, R1, 0), MOV(R0, 0), JIF(BPF_JEQ, R2, 1, 0), JIF(BPF_JNE, R2, 1, 0), JIF(BPF_JGT, R2, 1, 0), JIF(BPF_JGE, R2, 1, 0), JIF(BPF_JLT, R2, 1, 0), JIF(BPF_JLE, R2, 1, 0),
		JIF(BPF_JSGT, R2, 1, 0), JIF(BPF_JSGE, R2, 1, 0), JIF(BPF_JSLT, R2, 1, 0), JIF(BPF_JSLE, R2, 1, 0), JIF(BPF_JSET, R2, 1, 0), EXIT), 14 },
	{ "every 32-bit condition", PROG(LDX(DW, R2, R1, 0), MOV(R0, 0), JIF32(BPF_JEQ, R2, 1, 0), JIF32(BPF_JNE, R2, 1, 0), JIF32(BPF_JGT, R2, 1, 0), JIF32(BPF_JGE, R2, 1, 0), JIF32(BPF_JLT, R2, 1, 0),
		JIF32(BPF_JLE, R2, 1, 0), JIF32(BPF_JSGT, R2, 1, 0), JIF32(BPF_JSGE, R2, 1, 0), JIF32(BPF_JSLT, R2, 1, 0), JIF32(BPF_JSLE, R2, 1, 0), JIF32(BPF_JSET, R2, 1, 0), EXIT), 14 },
	{ "long jump", PROG(MOV(R0, 0), JMPL(1), MOV(R0, 1), EXIT), 3 },

	/* ---- flow ---- */
	{ "the longer way counts", PROG(LDX(W, R2, R1, 8), MOV(R0, 0), JIF(BPF_JEQ, R2, 0, 3), MOV(R0, 1), MOV(R0, 2), MOV(R0, 3), EXIT), 7 },
	{ "dead code", PROG(MOV(R0, 0), JIF(BPF_JEQ, R0, 0, 1), MOVR(R0, R9), EXIT), 3 },
	{ "unreachable tail", PROG(MOV(R0, 0), EXIT, MOVR(R0, R9), EXIT), 2 },
	{ "never taken by range", PROG(LDX(B, R2, R1, 8), MOV(R0, 0), JIF(BPF_JGT, R2, 255, 1), EXIT, MOVR(R0, R9), EXIT), 4 },
	{ "never taken by bits", PROG(LDX(W, R2, R1, 8), ALU(BPF_LSH, R2, 1), MOV(R0, 0), JIF(BPF_JSET, R2, 1, 1), EXIT, MOVR(R0, R9), EXIT), 5 },
	{ "set on both paths", PROG(LDX(W, R2, R1, 8), JIF(BPF_JEQ, R2, 0, 2), MOV(R3, 1), JMP(1), MOV(R3, 2), MOVR(R0, R3), EXIT), 6 },
	{ "loop of 100", PROG(MOV(R0, 0), ADD(R0, 1), JIF(BPF_JLT, R0, 100, -2), EXIT), 202 },
	{ "loop that counts down", PROG(MOV(R0, 50), ADD(R0, -1), JIF(BPF_JNE, R0, 0, -2), EXIT), 102 },
	{ "loop on a 32-bit signed counter", PROG(MOV32(R0, 9), ALU32(BPF_ADD, R0, -1), JIF32(BPF_JSGE, R0, 0, -2), EXIT), 22 },
	{ "nested loops", PROG(MOV(R0, 0), MOV(R1, 0), ADD(R1, 1), JIF(BPF_JLT, R1, 10, -2), ADD(R0, 1), JIF(BPF_JLT, R0, 10, -5), EXIT), 1 + 10 * (1 + 20 + 2) + 1 },
	{ "loop up to an unknown below 32", PROG(LDX(W, R2, R1, 8), AND(R2, 31), MOV(R0, 0), JIFR(BPF_JGE, R0, R2, 2), ADD(R0, 1), JMP(-3), EXIT), 3 + 31 * 3 + 2 },
	{ "loop with a break", PROG(MOVR(R6, R1), MOV(R7, 0), LDX(W, R2, R6, 8), JIFR(BPF_JEQ, R2, R7, 2), ADD(R7, 1), JIF(BPF_JLT, R7, 64, -4), MOV(R0, 0), EXIT), 2 + 64 * 4 + 2 },
	{ "loop that counts what it meets", PROG(LDX(DW, R2, R1, 0), MOV(R0, 0), MOV(R3, 0), MOVR(R4, R2), ALUR(BPF_RSH, R4, R3), AND(R4, 1), JIF(BPF_JEQ, R4, 0, 1), ADD(R0, 1), ADD(R3, 1),
		JIF(BPF_JLT, R3, 64, -7), EXIT), 3 + 64 * 7 + 1 },
	{ "loop with two counters of its own", PROG(LDX(DW, R2, R1, 0), MOV(R0, 0), MOV(R3, 0), MOV(R5, 0), MOVR(R4, R2), ALUR(BPF_RSH, R4, R3), AND(R4, 3), JIF(BPF_JEQ, R4, 0, 2), ADD(R0, 1), JMP(1),
		ADD(R5, 3), ADD(R3, 1), JIF(BPF_JLT, R3, 200, -9), ADDR(R0, R5), EXIT), 0 },
	{ "loop over a value", PROG(LOOKUP_ZERO(MAP_BIG), NULL_EXIT, MOV(R1, 0), MOV(R2, 0), MOVR(R3, R0), ADDR(R3, R1), LDX(B, R4, R3, 0), ADDR(R2, R4), ADD(R1, 1), JIF(BPF_JLT, R1, 4096, -6), MOVR(R0, R2), EXIT),
	  6 - 1 + 1 + 1 + 2 + 4096 * 6 + 2 - 1 },

	/* ---- stack ---- */
	{ "save and restore", PROG(MOV(R2, 5), STX(DW, R10, -8, R2), LDX(DW, R0, R10, -8), EXIT), 4 },
	{ "saved pointer", PROG(STX(DW, R10, -8, R1), LDX(DW, R2, R10, -8), LDX(W, R0, R2, 8), EXIT), 4 },
	{ "saved null-able pointer", PROG(LOOKUP_ZERO(MAP_ARRAY), STX(DW, R10, -16, R0), JIF(BPF_JEQ, R0, 0, 2), LDX(DW, R1, R10, -16), LDX(DW, R2, R1, 0), RETURN_0), 0 },
	{ "saved map", PROG(LD_MAP(R6, MAP_ARRAY), STX(DW, R10, -16, R6), ST(W, R10, -4, 0), LDX(DW, R1, R10, -16), MOVR(R2, R10), ADD(R2, -4), CALL(LOOKUP), RETURN_0), 9 },
	{ "whole stack", PROG(ST(DW, R10, -512, 0), LDX(DW, R0, R10, -512), EXIT), 3 },
	{ "written in two halves", PROG(ST(W, R10, -8, 1), ST(W, R10, -4, 2), LDX(DW, R0, R10, -8), EXIT), 4 },
	{ "lower half of a saved number", PROG(LDX(DW, R2, R1, 0), STX(DW, R10, -8, R2), LDX(W, R0, R10, -8), EXIT), 4 },
	{ "number over a saved pointer", PROG(STX(DW, R10, -8, R1), ST(DW, R10, -8, 0), LDX(W, R0, R10, -8), EXIT), 4 },
	{ "variable index into an array", PROG(ST(DW, R10, -16, 0), ST(DW, R10, -8, 0), LDX(W, R2, R1, 8), AND(R2, 15), MOVR(R3, R10), ADD(R3, -16), ADDR(R3, R2), ST(B, R3, 0, 1), LDX(B, R0, R3, 0), EXIT), 10 },
	{ "index times 8", PROG(ST(DW, R10, -16, 0), ST(DW, R10, -8, 0), LDX(W, R2, R1, 8), AND(R2, 1), ALU(BPF_LSH, R2, 3), MOVR(R3, R10), ADDR(R3, R2), LDX(DW, R0, R3, -16), EXIT), 9 },
	{ "atomic on the stack", PROG(ST(DW, R10, -8, 0), MOV(R2, 1), ATOMIC(DW, BPF_ADD | BPF_FETCH, R10, -8, R2), MOVR(R0, R2), EXIT), 5 },
	{ "known to be bounded after a save", PROG(LDX(W, R2, R1, 8), STX(DW, R10, -8, R2), JIF(BPF_JGT, R2, 31, 5), LDX(DW, R3, R10, -8), LD_VALUE(R4, MAP_DATA, 0), ADDR(R4, R3), LDX(B, R5, R4, 0), RETURN_0), 9 },
	{ "difference of stack pointers", PROG(MOVR(R0, R10), MOVR(R2, R10), ADD(R2, -8), ALUR(BPF_SUB, R0, R2), EXIT), 5 },
	{ "stack pointers compared", PROG(MOVR(R2, R10), ADD(R2, -16), MOVR(R3, R10), MOV(R0, 0), JIFR(BPF_JGE, R2, R3, 1), MOV(R0, 1), EXIT), 7 },

	/* ---- context ---- */
	{ "all fields of an entry point", PROG(LDX(DW, R0, R1, 0), LDX(W, R0, R1, 8), LDX(W, R0, R1, 32), LDX(W, R0, R1, 36), LDX(W, R0, R1, 40), LDX(W, R0, R1, 44), LDX(W, R0, R1, 56), LDX(W, R0, R1, 76), EXIT), 9 },
	{ "all fields of a memory point", PROG(LDX(DW, R0, R1, 16), LDX(W, R2, R1, 24), LDX(W, R3, R1, 12), EXIT), 4, GPUTRACE_POINT_STORE },
	{ "two fields in one load", PROG(LDX(DW, R0, R1, 32), EXIT), 2 },
	{ "part of a field", PROG(LDX(H, R0, R1, 2), LDX(B, R2, R1, 33), EXIT), 3 },
	{ "low half of the address", PROG(LDX(W, R0, R1, 16), EXIT), 2, GPUTRACE_POINT_ATOMIC },
	{ "copy of the context", PROG(LDX(DW, R2, R1, 0), STX(DW, R10, -80, R2), LDX(DW, R2, R1, 8), STX(DW, R10, -72, R2), LDX(DW, R2, R1, 16), STX(DW, R10, -64, R2), LDX(DW, R2, R1, 24), STX(DW, R10, -56, R2),
		RETURN_0), 10, GPUTRACE_POINT_LOAD },
	{ "moved context pointer", PROG(ADD(R1, 32), LDX(W, R0, R1, 4), EXIT), 3 },
	{ "context for a function", PROG(CALLF(1), EXIT, LDX(W, R0, R1, 8), EXIT), 4 },

	/* ---- maps ---- */
	{ "count in an array", PROG(LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, MOV(R1, 1), ATOMIC(DW, BPF_ADD, R0, 0, R1), RETURN_0), 10 },
	{ "checked the other way", PROG(LOOKUP_ZERO(MAP_ARRAY), JIF(BPF_JEQ, R0, 0, 2), LDX(DW, R1, R0, 0), STX(DW, R0, 8, R1), RETURN_0), 10 },
	{ "checked by its copy", PROG(LOOKUP_ZERO(MAP_ARRAY), MOVR(R6, R0), JIF(BPF_JEQ, R6, 0, 1), LDX(DW, R1, R0, 0), RETURN_0), 10 },
	{ "checked against a register", PROG(LOOKUP_ZERO(MAP_ARRAY), MOV(R1, 0), JIFR(BPF_JEQ, R0, R1, 1), LDX(DW, R1, R0, 0), RETURN_0), 10 },
	{ "histogram", PROG(LDX(W, R6, R1, 8), AND(R6, 511), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, ALU(BPF_LSH, R6, 3), ADDR(R0, R6), MOV(R1, 1), ATOMIC(DW, BPF_ADD, R0, 0, R1), RETURN_0), 14 },
	{ "index bounded by a comparison", PROG(LDX(W, R6, R1, 8), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, JIF(BPF_JGT, R6, 4095, 2), ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 12 },
	{ "index bounded from both sides", PROG(LDXS(W, R6, R1, 8), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, JIF(BPF_JSLT, R6, 0, 3), JIF(BPF_JSGT, R6, 4095, 2), ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 13 },
	{ "index bounded by a 32-bit comparison", PROG(LDX(W, R6, R1, 8), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, JIF32(BPF_JGT, R6, 4095, 2), ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 12 },
	{ "index bounded by a register", PROG(LDX(W, R6, R1, 8), LDX(W, R7, R1, 56), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, AND(R7, 255), JIFR(BPF_JGE, R6, R7, 2), ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 14 },
	{ "index by modulo", PROG(LDX(W, R6, R1, 8), ALU(BPF_MOD, R6, 100), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 12 },
	{ "index by division", PROG(LDX(W, R6, R1, 8), ALU(BPF_DIV, R6, 1 << 20), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 12 },
	{ "index by shift", PROG(LDX(W, R6, R1, 8), ALU32(BPF_RSH, R6, 20), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 12 },
	{ "index subtracted", PROG(LDX(W, R6, R1, 8), AND(R6, 7), LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, ADD(R0, 8), ALUR(BPF_SUB, R0, R6), LDX(B, R1, R0, 0), RETURN_0), 13 },
	{ "bounded through a copy", PROG(LDX(W, R6, R1, 8), MOVR(R7, R6), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, JIF(BPF_JGT, R7, 4095, 2), ADDR(R0, R6), LDX(B, R1, R0, 0), RETURN_0), 13 },
	{ "insert into a table", PROG(ST(DW, R10, -8, 0), ST(DW, R10, -16, 0), ST(DW, R10, -24, 0), ST(DW, R10, -32, 0), ST(DW, R10, -40, 0), ST(DW, R10, -48, 0), ST(DW, R10, -56, 0), ST(DW, R10, -64, 0), ST(DW, R10, -72, 7),
		LD_MAP(R1, MAP_HASH), MOVR(R2, R10), ADD(R2, -72), MOVR(R3, R10), ADD(R3, -64), MOV(R4, 0), CALL(UPDATE), RETURN_0), 18 },
	{ "delete from a table", PROG(ST(DW, R10, -8, 0), LD_MAP(R1, MAP_HASH), MOVR(R2, R10), ADD(R2, -8), CALL(DELETE), RETURN_0), 7 },
	{ "value of one map as another's key", PROG(LD_MAP(R1, MAP_HASH), LD_VALUE(R2, MAP_DATA, 8), CALL(LOOKUP), NULL_EXIT, LDX(DW, R0, R0, 56), EXIT), 6 },
	{ "two lookups", PROG(LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, MOVR(R6, R0), LOOKUP_ZERO(MAP_BIG), NULL_EXIT, LDX(DW, R1, R6, 0), STX(DW, R0, 0, R1), RETURN_0), 18 - 1 },
	{ "either map", PROG(LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, LDX(W, R2, R0, 0), JIF(BPF_JEQ, R2, 0, 2), LD_VALUE(R0, MAP_DATA, 0), LDX(DW, R0, R0, 8), EXIT), 11 },
	{ "pointers into one value compared", PROG(LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, MOVR(R1, R0), ADD(R1, 8), JIFR(BPF_JGT, R1, R0, 0), RETURN_0), 11 },
	{ ".data, .rodata", PROG(LD_VALUE(R1, MAP_DATA, 8), LD_VALUE(R2, MAP_RODATA, 4), LDX(W, R3, R2, 0), STX(W, R1, 4, R3), RETURN_0), 6 },
	{ "every atomic", PROG(LD_VALUE(R1, MAP_DATA, 8), MOV(R2, 1), MOV(R0, 0), ATOMIC(DW, BPF_ADD, R1, 0, R2), ATOMIC(W, BPF_OR, R1, 4, R2), ATOMIC(DW, BPF_AND | BPF_FETCH, R1, 0, R2), ATOMIC(W, BPF_XOR | BPF_FETCH, R1, 0, R2),
		ATOMIC(DW, BPF_XCHG, R1, 0, R2), ATOMIC(DW, BPF_CMPXCHG, R1, 0, R2), EXIT), 10 },
	{ "per-thread array", PROG(LOOKUP_ZERO(MAP_LANES), NULL_EXIT, LDX(DW, R1, R0, 0), ADD(R1, 1), STX(DW, R0, 0, R1), RETURN_0), 11 },

	/* ---- ring ---- */
	{ "output from the stack", PROG(CALL(KTIME), STX(DW, R10, -8, R0), ST(DW, R10, -16, 1), OUTPUT_STACK(16), RETURN_0), 11 },
	{ "output from a value", PROG(LD_MAP(R1, MAP_RING), LD_VALUE(R2, MAP_DATA, 8), MOV(R3, 24), MOV(R4, 0), CALL(OUTPUT), RETURN_0), 7 },
	{ "output of variable size", PROG(LDX(W, R3, R1, 8), AND(R3, 31), LD_MAP(R1, MAP_RING), LD_VALUE(R2, MAP_DATA, 0), MOV(R4, 0), CALL(OUTPUT), RETURN_0), 8 },
	{ "reserve and submit", PROG(RESERVE_8, ST(DW, R0, 0, 1), MOVR(R1, R0), MOV(R2, 0), CALL(SUBMIT), RETURN_0), 11 },
	{ "submit or discard", PROG(MOVR(R6, R1), RESERVE_8, LDX(W, R2, R6, 8), ST(DW, R0, 0, 1), MOVR(R1, R0), JIF(BPF_JEQ, R2, 0, 3), MOV(R2, 0), CALL(SUBMIT), JMP(2), MOV(R2, 0), CALL(DISCARD), RETURN_0), 0 },
	{ "two records at once", PROG(RESERVE_8, MOVR(R6, R0), LD_MAP(R1, MAP_RING), MOV(R2, 16), MOV(R3, 0), CALL(RESERVE), JIF(BPF_JEQ, R0, 0, 4), ST(DW, R0, 8, 1), MOVR(R1, R0), MOV(R2, 0), CALL(SUBMIT),
		MOVR(R1, R6), MOV(R2, 0), CALL(SUBMIT), RETURN_0), 0 },
	{ "record handed to a function", PROG(RESERVE_8, MOVR(R1, R0), CALLF(2), RETURN_0, ST(DW, R1, 0, 1), MOV(R2, 0), CALL(SUBMIT), EXIT), 13 },
	{ "record saved on the stack", PROG(RESERVE_8, STX(DW, R10, -8, R0), ST(DW, R0, 0, 1), LDX(DW, R1, R10, -8), MOV(R2, 0), CALL(SUBMIT), RETURN_0), 12 },
	{ "record in a loop", PROG(MOV(R6, 0), LD_MAP(R1, MAP_RING), MOV(R2, 8), MOV(R3, 0), CALL(RESERVE), JIF(BPF_JEQ, R0, 0, 4), ST(DW, R0, 0, 1), MOVR(R1, R0), MOV(R2, 0), CALL(SUBMIT), ADD(R6, 1), JIF(BPF_JLT, R6, 10, -12),
		RETURN_0), 1 + 10 * 11 + 2 },

	/* ---- helpers ---- */
	{ "simple helpers", PROG(CALL(KTIME), CALL(CPU), CALL(14), CALL(7), CALL(502), CALL(509), CALL(510), CALL(511), CALL(4096), CALL(4097), CALL(4098), CALL(4099), CALL(LANE), CALL(4101), CALL(4102), CALL(4103), EXIT), 17 },
	{ "indices as bpftime's programs ask", PROG(MOVR(R1, R10), ADD(R1, -8), MOVR(R2, R10), ADD(R2, -16), MOVR(R3, R10), ADD(R3, -24), CALL(505), LDX(DW, R0, R10, -8), LDX(DW, R2, R10, -24), EXIT), 10 },
	{ "printk with an unset argument", PROG(ST(W, R10, -4, 0x6425), MOVR(R1, R10), ADD(R1, -4), MOV(R2, 4), MOV(R3, 1), CALL(PRINTK), RETURN_0), 8 },
	{ "vprintk without data", PROG(LD_VALUE(R1, MAP_RODATA, 0), MOV(R2, 16), MOV(R3, 0), MOV(R4, 0), CALL(177), RETURN_0), 7 },
	{ "kernel parameter", PROG(MOVR(R1, R10), ADD(R1, -8), MOV(R2, 8), MOV(R3, 0), CALL(READ_PARAM), LDX(DW, R0, R10, -8), EXIT), 7 },
	{ "perf_event_output without context", PROG(ST(DW, R10, -8, 1), MOV(R1, 0), LD_MAP(R2, MAP_RING), MOV(R3, 0), MOVR(R4, R10), ADD(R4, -8), MOV(R5, 8), CALL(25), RETURN_0), 10 },
	{ "leave the kernel at entry", PROG(CALL(507), RETURN_0), 3 },
	{ "lane as an index", PROG(CALL(LANE), LD_VALUE(R1, MAP_DATA, 0), ADDR(R1, R0), LDX(B, R0, R1, 0), EXIT), 5 },

	/* ---- functions ---- */
	{ "function with a result", PROG(MOV(R1, 3), CALLF(1), EXIT, MOVR(R0, R1), ADD(R0, 1), EXIT), 6 },
	{ "r6 is kept", PROG(MOV(R6, 3), CALLF(2), MOVR(R0, R6), EXIT, MOV(R6, 9), MOV(R0, 0), EXIT), 7 },
	{ "function without result", PROG(CALLF(2), MOV(R0, 0), EXIT, EXIT), 4 },
	{ "function fills the caller's stack", PROG(MOVR(R1, R10), ADD(R1, -8), CALLF(2), LDX(DW, R0, R10, -8), EXIT, ST(DW, R1, 0, 5), MOV(R0, 0), EXIT), 8 },
	{ "function returns a value pointer", PROG(CALLF(5), JIF(BPF_JEQ, R0, 0, 2), LDX(DW, R1, R0, 0), STX(DW, R0, 8, R1), RETURN_0, LOOKUP_ZERO(MAP_ARRAY), EXIT), 12 },
	{ "eight functions deep", PROG(CALLF(1), EXIT, CALLF(1), EXIT, CALLF(1), EXIT, CALLF(1), EXIT, CALLF(1), EXIT, CALLF(1), EXIT, CALLF(1), EXIT, MOV(R0, 0), EXIT), 16 },
	{ "stack of two functions", PROG(ST(DW, R10, -256, 0), CALLF(1), EXIT, ST(DW, R10, -256, 0), MOV(R0, 0), EXIT), 6 },
	{ "two functions one after the other", PROG(ST(DW, R10, -8, 0), CALLF(2), CALLF(4), EXIT, ST(DW, R10, -496, 0), MOV(R0, 0), EXIT, ST(DW, R10, -504, 0), MOV(R0, 0), EXIT), 0 },

	/* ---- bpf_loop ---- */
	{ "bpf_loop", PROG(MOV(R1, 10), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, MOV(R0, 0), EXIT), 7 + 10 * 2 },
	{ "bpf_loop of an unknown count", PROG(LDX(W, R1, R1, 8), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, MOV(R0, 0), EXIT), 7 + (1ull << 23) * 2 },
	{ "bpf_loop of none", PROG(MOV(R1, 0), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, MOVR(R0, R9), EXIT), 7 },
	{ "bpf_loop with an early stop", PROG(MOV(R1, 100), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, MOV(R0, 0), JIF(BPF_JLT, R1, 50, 1), MOV(R0, 1), EXIT), 7 + 100 * 4 },
	{ "bpf_loop's index is bounded", PROG(MOV(R1, 16), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, LD_VALUE(R2, MAP_RODATA, 0), ADDR(R2, R1), LDX(B, R0, R2, 0), AND(R0, 1), EXIT), 7 + 16 * 5 },
	{ "bpf_loop sums into its context", PROG(ST(DW, R10, -8, 0), MOV(R1, 10), LD_FUNC(R2, 8), MOVR(R3, R10), ADD(R3, -8), MOV(R4, 0), CALL(LOOP), LDX(DW, R0, R10, -8), EXIT, EXIT,
		LDX(DW, R3, R2, 0), ADDR(R3, R1), STX(DW, R2, 0, R3), MOV(R0, 0), EXIT), 9 + 10 * 5 },
	{ "bpf_loop keeps a saved pointer", PROG(STX(DW, R10, -16, R1), ST(DW, R10, -8, 0), MOV(R1, 10), LD_FUNC(R2, 8), MOVR(R3, R10), ADD(R3, -8), MOV(R4, 0), CALL(LOOP), LDX(DW, R1, R10, -16), LDX(W, R0, R1, 8), EXIT,
		ST(DW, R2, 0, 5), MOV(R0, 0), EXIT), 11 + 10 * 3 },
	{ "bpf_loop leaves one of two indices", PROG(ST(DW, R10, -8, 0), MOV(R1, 4), LD_FUNC(R2, 12), MOVR(R3, R10), MOV(R4, 0), CALL(LOOP), LDX(DW, R1, R10, -8), LD_VALUE(R2, MAP_DATA, 0), ADDR(R2, R1),
		LDX(B, R0, R2, 0), EXIT, EXIT, EXIT, MOV(R3, 31), JIF(BPF_JGT, R1, 1, 1), MOV(R3, 8), STX(DW, R2, -8, R3), MOV(R0, 0), EXIT), 11 + 4 * 6 },
	{ "bpf_loop in bpf_loop", PROG(MOV(R1, 10), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, MOV(R1, 20), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, MOV(R0, 0), EXIT),
	  7 + 10 * (7 + 20 * 2) },
	{ "record reserved and submitted in bpf_loop", PROG(MOV(R1, 4), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, RESERVE_8, ST(DW, R0, 0, 1), MOVR(R1, R0), MOV(R2, 0), CALL(SUBMIT), RETURN_0), 7 + 4 * 11 },

	/* ---- warps ---- */
	{ "warp sum", PROG(MOV(R1, 1), CALL(WARP_SUM), EXIT), 3 },
	{ "warp sum of the lanes", PROG(CALL(LANE), MOVR(R1, R0), CALL(WARP_SUM), EXIT), 4 },
	{ "warp sum after the ways meet", PROG(CALL(LANE), MOV(R1, 0), JIF(BPF_JGT, R0, 15, 1), MOV(R1, 1), CALL(WARP_SUM), EXIT), 6 },
	{ "warp sum by block", PROG(LDX(W, R2, R1, 44), JIF(BPF_JEQ, R2, 0, 2), MOV(R1, 1), CALL(WARP_SUM), RETURN_0), 6 },
	{ "warp sum in a loop", PROG(MOV(R6, 0), MOVR(R1, R6), CALL(WARP_SUM), ADD(R6, 1), JIF(BPF_JLT, R6, 5, -4), RETURN_0), 1 + 5 * 4 + 2 },
	{ "warp sum after a lookup in an array", PROG(LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, MOVR(R6, R0), MOV(R1, 1), CALL(WARP_SUM), ATOMIC(DW, BPF_ADD, R6, 0, R0), RETURN_0), 12 },
	{ "one lane writes the sum", PROG(MOV(R1, 1), CALL(WARP_SUM), MOVR(R6, R0), CALL(LANE), JIF(BPF_JNE, R0, 0, 3), LD_VALUE(R1, MAP_DATA, 0), ATOMIC(DW, BPF_ADD, R1, 0, R6), RETURN_0), 9 },
	{ "warp sum steers a branch", PROG(CALL(LANE), MOVR(R1, R0), CALL(WARP_SUM), JIF(BPF_JGT, R0, 100, 2), MOV(R1, 1), CALL(WARP_SUM), RETURN_0), 8 },
	{ "warp sum in a function", PROG(CALLF(2), RETURN_0, MOV(R1, 1), CALL(WARP_SUM), EXIT), 6 },
	{ "warp sum in bpf_loop", PROG(MOV(R1, 10), LD_FUNC(R2, 6), MOV(R3, 0), MOV(R4, 0), CALL(LOOP), RETURN_0, CALL(WARP_SUM), MOV(R0, 0), EXIT), 7 + 10 * 3 },
	{ "warp sum by a saved block index", PROG(LDX(W, R2, R1, 44), STX(DW, R10, -8, R2), LDX(DW, R3, R10, -8), JIF(BPF_JEQ, R3, 0, 2), MOV(R1, 1), CALL(WARP_SUM), RETURN_0), 8 },
	{ "once per warp", PROG(LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, MOV(R1, 1), ATOMIC(DW, BPF_ADD, R0, 0, R1), RETURN_0), 0, GPUTRACE_POINT_EXIT, GPUTRACE_PER_WARP },
};

const unsigned accepted_count = sizeof(accepted) / sizeof(accepted[0]);
