/* SPDX-License-Identifier: Apache-2.0 */
/* Programs written as arrays of instructions, and the maps that they name. */
#ifndef GT_TESTS_VERIFY_PROGRAMS_H
#define GT_TESTS_VERIFY_PROGRAMS_H

#include <linux/bpf.h>
#include <stdint.h>

#include "lib/object/prog.h"

#define R0 0
#define R1 1
#define R2 2
#define R3 3
#define R4 4
#define R5 5
#define R6 6
#define R7 7
#define R8 8
#define R9 9
#define R10 10

#define B BPF_B
#define H BPF_H
#define W BPF_W
#define DW BPF_DW

#define INSN(c, d, s, o, i) { .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }

#define MOV(d, i) INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR(d, s) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV32(d, i) INSN(BPF_ALU | BPF_MOV | BPF_K, d, 0, 0, i)
#define MOVR32(d, s) INSN(BPF_ALU | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOVSX(d, s, bits) INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, bits, 0)
#define ALU(op, d, i) INSN(BPF_ALU64 | (op) | BPF_K, d, 0, 0, i)
#define ALUR(op, d, s) INSN(BPF_ALU64 | (op) | BPF_X, d, s, 0, 0)
#define ALU32(op, d, i) INSN(BPF_ALU | (op) | BPF_K, d, 0, 0, i)
#define ALUR32(op, d, s) INSN(BPF_ALU | (op) | BPF_X, d, s, 0, 0)
#define ADD(d, i) ALU(BPF_ADD, d, i)
#define ADDR(d, s) ALUR(BPF_ADD, d, s)
#define AND(d, i) ALU(BPF_AND, d, i)
#define NEG(d) INSN(BPF_ALU64 | BPF_NEG, d, 0, 0, 0)

#define LDX(size, d, s, o) INSN(BPF_LDX | BPF_MEM | (size), d, s, o, 0)
#define LDXS(size, d, s, o) INSN(BPF_LDX | 0x80 | (size), d, s, o, 0)
#define STX(size, d, o, s) INSN(BPF_STX | BPF_MEM | (size), d, s, o, 0)
#define ST(size, d, o, i) INSN(BPF_ST | BPF_MEM | (size), d, 0, o, i)
#define ATOMIC(size, op, d, o, s) INSN(BPF_STX | BPF_ATOMIC | (size), d, s, o, op)

#define LD64(d, i) INSN(BPF_LD | BPF_IMM | BPF_DW, d, 0, 0, (int32_t)(uint32_t)(i)), \
		   INSN(0, 0, 0, 0, (int32_t)((uint64_t)(i) >> 32))
#define LD_MAP(d, m) INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_FD, 0, m), INSN(0, 0, 0, 0, 0)
#define LD_VALUE(d, m, o) INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_MAP_VALUE, 0, m), INSN(0, 0, 0, 0, o)
#define LD_FUNC(d, rel) INSN(BPF_LD | BPF_IMM | BPF_DW, d, BPF_PSEUDO_FUNC, 0, rel), INSN(0, 0, 0, 0, 0)

#define JMP(o) INSN(BPF_JMP | BPF_JA, 0, 0, o, 0)
#define JMPL(i) INSN(BPF_JMP32 | BPF_JA, 0, 0, 0, i)
#define JIF(op, d, i, o) INSN(BPF_JMP | (op) | BPF_K, d, 0, o, i)
#define JIFR(op, d, s, o) INSN(BPF_JMP | (op) | BPF_X, d, s, o, 0)
#define JIF32(op, d, i, o) INSN(BPF_JMP32 | (op) | BPF_K, d, 0, o, i)
#define JIFR32(op, d, s, o) INSN(BPF_JMP32 | (op) | BPF_X, d, s, o, 0)
#define CALL(id) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, id)
#define CALLF(rel) INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, rel)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define LOOKUP 1
#define UPDATE 2
#define DELETE 3
#define KTIME 5
#define PRINTK 6
#define CPU 8
#define OUTPUT 130
#define RESERVE 131
#define SUBMIT 132
#define DISCARD 133
#define LOOP 181
#define LANE 4100
#define READ_PARAM 4104
#define WARP_SUM 4105

/* The maps every program may name, by index. */
enum {
	MAP_ARRAY,	/* key 4, value 16, 8 elements */
	MAP_HASH,	/* key 8, value 64 */
	MAP_LRU,	/* key 8, value 8 */
	MAP_RING,
	MAP_DATA,	/* .data of 32 bytes */
	MAP_RODATA,	/* .rodata of 16 bytes, read-only: "ok", "%5ld%s" at 4, "%d" at 12 */
	MAP_LANES,	/* array with a value for each thread */
	MAP_BIG,	/* array, value 4096 */
	MAPS
};

extern const struct gt_map_desc *const test_maps[MAPS];

/* Look element 0 of an array up, value pointer or NULL in r0; 6 instructions. */
#define LOOKUP_ZERO(m) \
	ST(W, R10, -4, 0), LD_MAP(R1, m), MOVR(R2, R10), ADD(R2, -4), CALL(LOOKUP)

/* Leave with 0 if r0 is NULL; 3 instructions. */
#define NULL_EXIT JIF(BPF_JNE, R0, 0, 2), MOV(R0, 0), EXIT

#endif
