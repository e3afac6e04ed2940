/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probe functions in PTX for the tests of grafting.  `dev` is a block of
 * counters; each function says which it uses.
 */
#ifndef TESTS_GRAFT_PROBES_H
#define TESTS_GRAFT_PROBES_H

#include <stdint.h>

#define PROBE(name, body) \
	".func " name "(.param .b64 " name "_0, .param .b64 " name "_1, .param .b64 " name "_2,\n" \
	"\t.param .b32 " name "_3, .param .b64 " name "_4, .param .b64 " name "_5, .param .b32 " name "_6,\n" \
	"\t.param .b32 " name "_7)\n{\n" \
	"\t.reg .b64 %rd<32>; .reg .b32 %r<64>; .reg .pred %p<8>;\n" \
	"\tld.param.b64 %rd1, [" name "_1];\n" body "\tret;\n}\n"

/* Counters, in units of 8 bytes. */
enum {
	C_ENTRIES,	/* threads that ran entry() */
	C_ENTRY_IDS,	/* sum of kernel ids that it was told */
	C_ENTRY_LAUNCH,	/* sum of launch ids */
	C_EXITS,	/* threads that ran leave() */
	C_EXIT_IDS,
	C_GROUPED,	/* sum of the sizes of groups that left together */
	C_PARAMS,	/* sum of the first parameter's low 32 bits */
	C_BIG_ENTRY,	/* threads that ran big_entry(), and trips of its loop */
	C_BIG_ENTRY_TRIPS,
	C_BIG_EXIT,
	C_BIG_EXIT_TRIPS,
	C_RING_HEAD,	/* slots taken by ring() */
	C_AGGREGATED,	/* threads that ran aggregate() */
	C_LITERAL,	/* literal(): 7 more, times and plus large numbers */
	C_ORDER,	/* first() appends the bit 1, second() the bits 10 */
	C_UNIFORM_ENTRY,	/* sum over threads of a number made of what their warp has in common */
	C_UNIFORM_EXIT,		/* the same number, made at exit */
	C_QUOTIENTS,	/* sum of divide()'s quotients, by thread: see test_dividend() */
	C_RESTS,
	C_GENERIC,	/* 5 of each thread, by way of its stack */
	C_LOADS,	/* told(): accesses, bytes, sum of addresses, sum of spaces */
	C_STORES = C_LOADS + 4,
	C_ATOMICS = C_STORES + 4,
	C_COUNTERS = C_ATOMICS + 4,
	C_SLOTS = 32,	/* ring()'s slots begin here: global thread index + 1 each */
};

/* What the thread with this global index divides by what. */
static inline uint64_t test_dividend(uint32_t index)
{
	return (index + 1) * 0x9e3779b97f4a7c15ull;
}

static inline uint64_t test_divisor(uint32_t index)
{
	return test_dividend(~index) >> (index & 63) | 1;
}

/* What literal() leaves when it runs once on 0. */
#define LITERAL_RESULT \
	(((7 * 0xff51afd7ed558ccdull + 0x9e3779b97f4a7c15ull) ^ 0xc4ceb9fe1a85ec53ull) * 24 - 6148914691236517205ull)

#define PROBE_COUNT(name, counter, ids) \
	PROBE(name, \
	"\tld.param.b32 %r1, [" name "_3];\n" \
	"\tcvt.u64.u32 %rd2, %r1;\n" \
	"\tred.global.add.u64 [%rd1+" #counter "], 1;\n" \
	"\tred.global.add.u64 [%rd1+" #ids "], %rd2;\n")

#define GLOBAL_INDEX(reg) \
	"\tmov.u32 %r40, %tid.x; mov.u32 %r41, %ntid.x; mov.u32 %r42, %ctaid.x;\n" \
	"\tmad.lo.u32 " reg ", %r42, %r41, %r40;\n"

/* Branches, a loop that depends on the thread, a local array, many registers, atomics that return. */
#define PROBE_BIG(name, counter, trips) \
	PROBE(name, \
	"\t.local .align 8 .b8 " name "_stack[512];\n" \
	"\tred.global.add.u64 [%rd1+" #counter "], 1;\n" \
	GLOBAL_INDEX("%r4") \
	"\tand.b32 %r5, %r40, 7;\n" \
	"\tmov.u32 %r6, 0; mov.u64 %rd2, " name "_stack; mov.u32 %r7, %r4;\n" \
	name "_fill: mad.lo.u32 %r7, %r7, 1664525, 1013904223;\n" \
	"\tmul.wide.u32 %rd3, %r6, 4; add.s64 %rd4, %rd2, %rd3; st.local.u32 [%rd4], %r7;\n" \
	"\tadd.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, 128; @%p1 bra " name "_fill;\n" \
	"\tmov.u32 %r8, 0; mov.u32 %r9, 0; mov.u64 %rd13, 0;\n" \
	name "_loop: setp.ge.u32 %p2, %r8, %r5; @%p2 bra " name "_out;\n" \
	"\txor.b32 %r10, %r8, %r4; and.b32 %r10, %r10, 127; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd2, %rd5;\n" \
	"\tld.local.u32 %r11, [%rd6]; add.u32 %r9, %r9, %r11; add.u32 %r8, %r8, 1;\n" \
	"\tatom.global.add.u64 %rd12, [%rd1+" #trips "], 1; xor.b64 %rd13, %rd13, %rd12;\n" \
	"\tbra " name "_loop;\n" \
	name "_out: and.b32 %r12, %r4, 65535; mul.wide.u32 %rd7, %r12, 8; add.s64 %rd8, %rd1, %rd7;\n" \
	"\tcvt.u64.u32 %rd9, %r9; mov.u64 %rd10, %clock64; xor.b64 %rd9, %rd9, %rd10; xor.b64 %rd9, %rd9, %rd13;\n" \
	"\tld.global.u64 %rd14, [%rd8+4194304]; add.s64 %rd14, %rd14, %rd9; st.global.u64 [%rd8+4194304], %rd14;\n")

/* The multiprocessor's number, which compilers keep in a uniform register: read before threads part, used after. */
#define PROBE_UNIFORM(name, counter) \
	PROBE(name, \
	"\tmov.u32 %r1, %smid; mov.u32 %r2, %tid.x; and.b32 %r3, %r2, 7; mov.u32 %r4, 1;\n" \
	name "_loop: .pragma \"nounroll\";\n" \
	"\tmad.lo.u32 %r4, %r4, 1664525, %r2; add.u32 %r3, %r3, -1; setp.gt.s32 %p1, %r3, 0; @%p1 bra " name "_loop;\n" \
	"\tmad.wide.u32 %rd2, %r4, %r1, 1; red.global.add.u64 [%rd1+" #counter "], %rd2;\n")

/* Four counters for accesses of one kind. */
#define PROBE_TOLD(name, count, bytes, addresses, spaces) \
	PROBE(name, \
	"\tld.param.b64 %rd2, [" name "_5]; ld.param.b32 %r1, [" name "_6]; ld.param.b32 %r2, [" name "_7];\n" \
	"\tcvt.u64.u32 %rd3, %r1; cvt.u64.u32 %rd4, %r2;\n" \
	"\tred.global.add.u64 [%rd1+" #count "], 1; red.global.add.u64 [%rd1+" #bytes "], %rd3;\n" \
	"\tred.global.add.u64 [%rd1+" #addresses "], %rd2; red.global.add.u64 [%rd1+" #spaces "], %rd4;\n")

static const char test_probes[] =
	PROBE("entry",
	"\tld.param.b32 %r1, [entry_3]; ld.param.b64 %rd3, [entry_0];\n"
	"\tcvt.u64.u32 %rd2, %r1; and.b64 %rd3, %rd3, 0xffffffffffff;\n"
	"\tred.global.add.u64 [%rd1], 1;\n"
	"\tred.global.add.u64 [%rd1+8], %rd2;\n"
	"\tred.global.add.u64 [%rd1+16], %rd3;\n")
	PROBE_COUNT("leave", 24, 32)
	PROBE("group",
	"\tld.param.b32 %r1, [group_6];\n"
	"\tcvt.u64.u32 %rd2, %r1;\n"
	"\tred.global.add.u64 [%rd1+40], %rd2;\n")
	PROBE("params",
	"\tld.param.b64 %rd2, [params_4]; and.b64 %rd2, %rd2, 0xffffffffffff;\n"
	"\tld.u32 %r1, [%rd2]; cvt.u64.u32 %rd3, %r1;\n"
	"\tred.global.add.u64 [%rd1+48], %rd3;\n")
	PROBE_BIG("big_entry", 56, 64)
	PROBE_BIG("big_exit", 72, 80)
	/* The lowest active lane takes a slot for each active lane and tells the others where. */
	PROBE("ring",
	"\tactivemask.b32 %r1;\n"
	"\tmov.u32 %r2, %laneid; mov.u32 %r3, %lanemask_lt;\n"
	"\tbrev.b32 %r4, %r1; clz.b32 %r4, %r4;\n"	/* the leader */
	"\tpopc.b32 %r5, %r1; and.b32 %r6, %r1, %r3; popc.b32 %r6, %r6;\n"
	"\tmov.u64 %rd4, 0; setp.ne.u32 %p1, %r2, %r4;\n"
	"\t@%p1 bra ring_wait;\n"
	"\tcvt.u64.u32 %rd3, %r5; atom.global.add.u64 %rd4, [%rd1+88], %rd3;\n"
	"ring_wait: cvt.u32.u64 %r7, %rd4;\n"
	"\tshfl.sync.idx.b32 %r8, %r7, %r4, 31, %r1;\n"
	"\tadd.u32 %r8, %r8, %r6;\n"
	GLOBAL_INDEX("%r9")
	"\tadd.u32 %r9, %r9, 1; and.b32 %r8, %r8, 262143;\n"
	"\tmul.wide.u32 %rd5, %r8, 8; add.s64 %rd6, %rd1, %rd5; cvt.u64.u32 %rd7, %r9;\n"
	"\tst.global.u64 [%rd6+256], %rd7;\n")
	/* As additions to a map are compiled: one for all the threads that are there, if they mean the same address. */
	PROBE("aggregate",
	"\tactivemask.b32 %r2;\n"
	"\tadd.s32 %r3, %r2, -1; not.b32 %r4, %r2; and.b32 %r5, %r4, %r3; popc.b32 %r6, %r5;\n"
	"\tcvt.u32.u64 %r7, %rd1;\n"
	"\tshfl.sync.idx.b32 %r8, %r7, %r6, 31, %r2;\n"
	"\tsetp.eq.s32 %p2, %r8, %r7;\n"
	"\tvote.sync.all.pred %p3, %p2, %r2;\n"
	"\tmov.u32 %r9, %laneid; setp.eq.s32 %p4, %r9, %r6; popc.b32 %r10, %r2;\n"
	"\tselp.b32 %r11, %r10, 0, %p4; selp.b32 %r12, %r11, 1, %p3; setp.ne.s32 %p5, %r12, 0;\n"
	"\t@!%p5 bra aggregate_out;\n"
	"\tcvt.u64.u32 %rd2, %r12; red.global.add.u64 [%rd1+96], %rd2;\n"
	"aggregate_out:\n")
	/* Numbers that older architectures keep in memory of the kernel's own. */
	PROBE("literal",
	"\tld.volatile.global.u64 %rd2, [%rd1+104]; add.u64 %rd2, %rd2, 7;\n"
	"\tmad.lo.u64 %rd2, %rd2, 0xff51afd7ed558ccd, 0x9e3779b97f4a7c15;\n"
	"\txor.b64 %rd3, %rd2, 0xc4ceb9fe1a85ec53; mul.lo.u64 %rd3, %rd3, 24; add.s64 %rd2, %rd3, -6148914691236517205;\n"
	"\tst.volatile.global.u64 [%rd1+104], %rd2;\n")
	PROBE_UNIFORM("uniform_entry", 120)
	PROBE_UNIFORM("uniform_exit", 128)
	PROBE("divide",
	GLOBAL_INDEX("%r1")
	"\tadd.u32 %r2, %r1, 1; cvt.u64.u32 %rd2, %r2; mul.lo.u64 %rd2, %rd2, 0x9e3779b97f4a7c15;\n"
	"\tnot.b32 %r3, %r1; add.u32 %r3, %r3, 1; cvt.u64.u32 %rd3, %r3; mul.lo.u64 %rd3, %rd3, 0x9e3779b97f4a7c15;\n"
	"\tand.b32 %r4, %r1, 63; shr.u64 %rd3, %rd3, %r4; or.b64 %rd3, %rd3, 1;\n"
	"\tdiv.u64 %rd4, %rd2, %rd3;\n\trem.u64 %rd5, %rd2, %rd3;\n"
	"\tred.global.add.u64 [%rd1+136], %rd4; red.global.add.u64 [%rd1+144], %rd5;\n")
	/* A place on the stack that compilers cannot tell from one in global memory. */
	PROBE("generic",
	"\t.local .align 8 .b8 generic_stack[16];\n"
	"\tmov.u64 %rd2, generic_stack; cvta.local.u64 %rd2, %rd2; add.u64 %rd3, %rd1, 256;\n"
	"\tmov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 123456789; selp.b64 %rd4, %rd3, %rd2, %p1;\n"
	"\tmov.u64 %rd5, 5; st.volatile.u64 [%rd4+8], %rd5; ld.volatile.u64 %rd6, [%rd4+8];\n"
	"\tred.global.add.u64 [%rd1+152], %rd6;\n")
	PROBE_TOLD("told_load", 160, 168, 176, 184)
	PROBE_TOLD("told_store", 192, 200, 208, 216)
	PROBE_TOLD("told_atomic", 224, 232, 240, 248)
	PROBE("first", "\tld.volatile.global.u64 %rd2, [%rd1+112]; shl.b64 %rd2, %rd2, 1; or.b64 %rd2, %rd2, 1; st.volatile.global.u64 [%rd1+112], %rd2;\n")
	PROBE("second", "\tld.volatile.global.u64 %rd2, [%rd1+112]; shl.b64 %rd2, %rd2, 2; or.b64 %rd2, %rd2, 2; st.volatile.global.u64 [%rd1+112], %rd2;\n");

#endif
