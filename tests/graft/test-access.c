/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs at memory accesses of machine code: which instructions are found, with which addresses, in kernels
 * whose accesses one can count in data/accesses.cu and in a disassembly; what becomes of them; and that the last check
 * sees whatever is not as it must be.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/writer.h"
#include "lib/agent/instrument/instrument.h"
#include "tests/graft/common.h"
#include "tests/suite.h"

#define LOADS (1u << GT_POINT_LOAD)
#define STORES (1u << GT_POINT_STORE)
#define ATOMICS (1u << GT_POINT_ATOMIC)
#define ALL (LOADS | STORES | ATOMICS)

/* ---- single instructions, beside what a disassembler says of them ---- */

static gt_word make(uint64_t high, uint64_t low)
{
	return (gt_word)high << 64 | low;
}

START_TEST(instructions)
{
	static const struct {
		uint64_t high, low;
		enum gt_access_kind kind;
		uint32_t point, space;
		unsigned bytes, address;
		int32_t offset;
	} cases[] = {
		/* LDG.E.64.STRONG.SYS R2, desc[UR4][R4.64+0x8] */
		{ 0x000ea2000c1f5b00, 0x0000080404027981, GT_ACCESS_KNOWN, GT_POINT_LOAD, GT_SPACE_GLOBAL, 8, 4, 8 },
		/* LDG.E R23, desc[UR4][R2.64+-0x10] */
		{ 0x000ea2000c1e1900, 0xfffff00402177981, GT_ACCESS_KNOWN, GT_POINT_LOAD, GT_SPACE_GLOBAL, 4, 2, -16 },
		/* LD.E.U16 R44, [R44+0x10]: an offset of 32 bits */
		{ 0x000ea20000101500, 0x000000102c2c7980, GT_ACCESS_KNOWN, GT_POINT_LOAD, GT_SPACE_GENERIC, 2, 44, 16 },
		/* LDG.E.128 R144, [R136+0x100] */
		{ 0x000ea200001e0d20, 0x0001000088907381, GT_ACCESS_KNOWN, GT_POINT_LOAD, GT_SPACE_GLOBAL, 16, 136, 256 },
		/* LDG.E R43, desc[UR4][R2.64], !PT: on a second condition */
		{ 0x000ea2000c1e1908, 0x00000004022b7981, GT_ACCESS_OTHER, GT_POINT_LOAD, 0, 0, 0, 0 },
		/* LDG.E R218, [R2.64+UR6] */
		{ 0x000ea2000c1e0900, 0x0000000602da7981, GT_ACCESS_OTHER, GT_POINT_LOAD, 0, 0, 0, 0 },
		/* LDG.E R2, [RZ.U32+UR6] */
		{ 0x000ea200081e0900, 0x00000006ff027981, GT_ACCESS_OTHER, GT_POINT_LOAD, 0, 0, 0, 0 },
		/* LDG R24, [R24]: an address of 32 bits */
		{ 0x000ea200001e0a00, 0x0000000018187381, GT_ACCESS_OTHER, GT_POINT_LOAD, 0, 0, 0, 0 },
		/* ST.E.64 [R134], R150 */
		{ 0x000fe20000100b96, 0x0000000086007385, GT_ACCESS_KNOWN, GT_POINT_STORE, GT_SPACE_GENERIC, 8, 134, 0 },
		/* STG.E.U8 desc[UR4][R6.64+0x1], R9 */
		{ 0x000fe2000c101104, 0x0000010906007986, GT_ACCESS_KNOWN, GT_POINT_STORE, GT_SPACE_GLOBAL, 1, 6, 1 },
		/* REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR4][R4.64], R21 */
		{ 0x000fe2000c10f384, 0x00000015040079a6, GT_ACCESS_KNOWN, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 4, 4, 0 },
		/* REDG.E.ADD.64.STRONG.GPU desc[UR4][R8.64+0x8], R10 */
		{ 0x000fe2000c10e584, 0x0000080a0800798e, GT_ACCESS_KNOWN, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 8, 8, 8 },
		/* ATOMG.E.CAS.64.STRONG.GPU PT, R6, [R16], R4, R6 */
		{ 0x000ea200001ee506, 0x00000004100673a9, GT_ACCESS_KNOWN, GT_POINT_ATOMIC, GT_SPACE_GLOBAL, 8, 16, 0 },
		/* ATOM.E.ADD.F16x2.RN.STRONG.GPU P4, RZ, desc[UR4][R2.64], R11 */
		{ 0x000ea2000818e1c4, 0x0000000b02ff79a2, GT_ACCESS_KNOWN, GT_POINT_ATOMIC, GT_SPACE_GENERIC, 4, 2, 0 },
		/* LDS R3, [R18+UR6]; STL [R1+0x40], R4; LDGSTS.E.LTC128B [R0], desc[UR4][R132.64], P0 */
		{ 0x000e220008000800, 0x0000000612037984, GT_ACCESS_SHARED, GT_POINT_LOAD, 0, 0, 0, 0 },
		{ 0x000fe20000100800, 0x0000400401007387, GT_ACCESS_LOCAL, GT_POINT_STORE, 0, 0, 0, 0 },
		{ 0x000fe20008121944, 0x0000000084007fae, GT_ACCESS_OTHER, GT_POINT_LOAD, 0, 0, 0, 0 },
		/* UBLKCP.S.G [UR4], [UR8], UR6; UBLKCP.G.S [UR8], [UR4], UR6 */
		{ 0x0001d80008000206, 0x00000004080073ba, GT_ACCESS_OTHER, GT_POINT_LOAD, 0, 0, 0, 0 },
		{ 0x0001e40008000406, 0x00000008040073ba, GT_ACCESS_OTHER, GT_POINT_STORE, 0, 0, 0, 0 },
		/* LDC R1, c[0x0][0x28] */
		{ 0x000e220000000800, 0x00000a00ff017b82, GT_ACCESS_NONE, 0, 0, 0, 0, 0 },
	};
	struct gt_insn_access access = gt_insn_access(make(cases[_i].high, cases[_i].low));

	ck_assert_int_eq(access.kind, cases[_i].kind);
	ck_assert_uint_eq(access.point, cases[_i].point);
	if (access.kind != GT_ACCESS_KNOWN)
		return;
	ck_assert_uint_eq(access.space, cases[_i].space);
	ck_assert_uint_eq(access.bytes, cases[_i].bytes);
	ck_assert_uint_eq(access.address, cases[_i].address);
	ck_assert_int_eq(access.offset, cases[_i].offset);
}
END_TEST
#define INSTRUCTIONS 20

/* What compilers leave to the next of its kind, or to nobody, is announced by barrier 5; all else stays as it is. */
START_TEST(announced)
{
	static const struct {
		uint64_t high, low;
		unsigned write, read;
	} cases[] = {
		{ 0x000fe20000000800, 0x0000000018157984, 5, 7 },	/* LDS R21, [R24] */
		{ 0x000e620000000800, 0x0000000018157984, 1, 7 },	/* with a barrier */
		{ 0x000fe20000001000, 0x0000000600057308, 5, 7 },	/* MUFU.RCP R5, R6 */
		{ 0x000fe200000e0000, 0x0c001f0006077f89, 5, 7 },	/* SHFL.BFLY PT, R7, R6, 0x1, 0x1f */
		{ 0x000ff00000000800, 0x00000a00ff017b82, 5, 7 },	/* LDC R1, c[0x0][0x28] */
		{ 0x000fe20000000800, 0x0000000d05007388, 7, 5 },	/* STS [R5], R13 */
		{ 0x0001e20000000800, 0x0000000d05007388, 7, 0 },
		{ 0x000fe2000c101904, 0x0000000d04007986, 7, 5 },	/* STG.E desc[UR4][R4.64], R13 */
		{ 0x000fe20000000200, 0x000000548c007844, 7, 5 },	/* STSM.16.M88.4 [R140], R84 */
		{ 0x000fe200078e0204, 0x0000000400047825, 7, 7 },	/* IMAD.WIDE R4, R0, 0x4, R4 */
		{ 0x000fea0003800000, 0x0000000000007941, 7, 7 },	/* BSYNC B0 */
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		gt_word old = make(cases[i].high, cases[i].low), new = gt_settled(old);

		ck_assert_msg(gt_write_barrier(new) == cases[i].write && gt_read_barrier(new) == cases[i].read, "case %u: %u, %u",
			      i, gt_write_barrier(new), gt_read_barrier(new));
		ck_assert(gt_with(new, 110, 6, 0) == gt_with(old, 110, 6, 0));
	}
}
END_TEST

/* ---- what is found in a kernel ---- */

static void find(const char *kernel, uint32_t points, struct gt_sites *sites)
{
	struct bytes bytes = load("accesses", 90);
	struct view view;

	look(&view, bytes, kernel);
	/* All the room that any of them makes on its stack. */
	ck_assert_int_eq(gt_find_sites(&view.elf, &view.kernel, points, 128, sites), 0);
	gt_elf_close(&view.elf);
	free(bytes.data);
}

START_TEST(counts)
{
	static const struct {
		const char *kernel;
		uint32_t points;
		unsigned found, shared, local;
	} cases[] = {
		{ "copy", LOADS, 1, 0, 0 }, { "copy", STORES, 1, 0, 0 }, { "copy", ATOMICS, 0, 0, 0 }, { "copy", ALL, 2, 0, 0 },
		{ "sizes", LOADS, 5, 0, 0 }, { "sizes", STORES, 5, 0, 0 },
		/* Its array is stored by 16 bytes at a time. */
		{ "places", LOADS, 32, 0, 1 }, { "places", STORES, 2, 0, 8 },
		{ "atomics", LOADS, 0, 0, 0 }, { "atomics", STORES, 2, 0, 0 }, { "atomics", ATOMICS, 4, 0, 0 },
		{ "shared", LOADS, 1, 1, 0 }, { "shared", STORES, 1, 1, 0 },
		{ "only_shared", ALL, 0, 2, 0 }, { "none", ALL, 0, 0, 0 },
		{ "calls", LOADS, 16, 0, 1 }, { "calls", STORES, 1, 0, 8 },
	};
	struct gt_sites sites;

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		find(cases[i].kernel, cases[i].points, &sites);
		ck_assert_msg(!sites.refusal, "%s: %s", cases[i].kernel, sites.refusal);
		ck_assert_msg(sites.count == cases[i].found && sites.left[GT_ACCESS_SHARED] == cases[i].shared &&
			      sites.left[GT_ACCESS_LOCAL] == cases[i].local && !sites.left[GT_ACCESS_OTHER],
			      "%s %x: %u, shared %u, local %u", cases[i].kernel, cases[i].points, sites.count,
			      sites.left[GT_ACCESS_SHARED], sites.left[GT_ACCESS_LOCAL]);
		gt_sites_free(&sites);
	}
}
END_TEST

START_TEST(addresses)
{
	static const unsigned offsets[5] = { 1, 2, 4, 8, 16 };
	struct gt_sites sites;

	find("sizes", ALL, &sites);
	ck_assert_uint_eq(sites.count, 10);
	for (unsigned i = 0; i < 10; i++) {
		const struct gt_insn_access *access = &sites.list[i].access;

		ck_assert_uint_eq(access->point, i % 2 ? GT_POINT_STORE : GT_POINT_LOAD);
		ck_assert_uint_eq(access->address, i % 2 ? 6 : 4);
		ck_assert_uint_eq(access->bytes, offsets[i / 2]);
		ck_assert_int_eq(access->offset, (int)offsets[i / 2]);
		ck_assert_uint_eq(access->space, GT_SPACE_GLOBAL);
	}
	gt_sites_free(&sites);
	find("places", STORES, &sites);
	ck_assert_uint_eq(sites.list[0].access.space, GT_SPACE_GENERIC);
	ck_assert_uint_eq(sites.list[1].access.space, GT_SPACE_GLOBAL);
	ck_assert_int_eq(sites.list[1].access.offset, -8);
	gt_sites_free(&sites);
}
END_TEST

/* ---- kernels in which programs cannot run at accesses ---- */

/* The kernel `copy` with `word` in place of the instruction at `at`, such that it can only be told from that. */
static void expect_refusal(uint64_t at, gt_word word, uint32_t stack, const char *expected)
{
	struct bytes bytes = load("accesses", 90);
	struct gt_sites sites;
	struct view view;

	look(&view, bytes, "copy");
	gt_word_write((uint8_t *)(uintptr_t)view.text + at, word);
	ck_assert_int_eq(gt_find_sites(&view.elf, &view.kernel, ALL, stack, &sites), 0);
	ck_assert_msg(expected ? sites.refusal && strstr(sites.refusal, expected) : !sites.refusal, "%s: %s", expected,
		      sites.refusal);
	gt_sites_free(&sites);
	gt_elf_close(&view.elf);
	free(bytes.data);
}

START_TEST(refused)
{
	static const struct {
		uint64_t at, high, low;
		uint32_t stack;
		const char *why;
	} cases[] = {
		{ 16, 0x000fc00000000000, 0x0000000000007918, 0, NULL },			/* NOP */
		{ 0, 0x000fc00000000000, 0x0000000000007918, 0, "begin with its stack pointer" },
		{ 16, 0x000fe20007ffe0ff, 0xffffffd001017810, 48, NULL },			/* IADD3 R1, R1, -0x30, RZ */
		{ 16, 0x000fe20007ffe0ff, 0xffffffd001017810, 32, "how deep" },
		{ 16, 0x000fca0000000000, 0xffffffc001017836, 0, "how deep" },			/* VIADD R1, R1, -0x40 */
		{ 16, 0x000fe20000000f00, 0x0000000300017202, 0, "stack in an unknown way" },	/* MOV R1, R3 */
		{ 16, 0x000fca00078e0200, 0x0000000402007825, 0, "stack in an unknown way" },	/* IMAD.WIDE R0, R2, 0x4, R0 */
		{ 16, 0x000fe20000100800, 0xfffff80401007387, 0, "stack in an unknown way" },	/* STL [R1+-0x8], R4 */
		{ 16, 0x000fe20003800000, 0x00000010000f7945, 0, "convergence barrier that" },	/* BSSY B15, 0x60 */
		{ 16, 0x000fe20003800000, 0x00000010000e7945, 0, NULL },			/* BSSY B14, 0x60 */
		{ 16, 0x001e2a0000100000, 0x0000000006117355, 0, "barriers in registers" },	/* BMOV.32.CLEAR R17, B6 */
		{ 16, 0x000fe20008000000, 0x00600000081879f0, 0, "matrix instructions" },	/* HGMMA */
		{ 16, 0x001fea0003c00000, 0x0000000004007343, 0, "which functions it calls" },	/* CALL.ABS.NOINC R4 */
		{ 16, 0x008fe80000800100, 0x000000000600798f, 0, "fetches memory ahead" },	/* CCTL.E.PF2 [R6] */
		{ 16, 0x03ffe20002000000, 0x00000000ff00798f, 0, NULL },			/* CCTL.IVALL */
		{ 16, 0x000fe2000810ab00, 0x7000040402007f9d, 0, "textures or surfaces" },	/* SUST.D.BA.2D.64 [R2], R4, UR4 */
	};

	expect_refusal(cases[_i].at, make(cases[_i].high, cases[_i].low), cases[_i].stack, cases[_i].why);
}
END_TEST
#define REFUSALS 16

/* ---- what they become ---- */

#define GRAFTED 9
static const char *const names[GRAFTED] = {
	"copy", "sizes", "places", "atomics", "shared", "only_shared", "none", "calls", "recursive",
};

struct accessed {
	struct bytes before, after;
	struct gt_graft_stub *stubs[GT_GRAFT_POINTS];
	struct gt_graft_plan plans[GRAFTED];
	struct gt_graft_result results[GRAFTED];
	char why[GT_GRAFT_WHY];
};

/* load: the stub at loads; ends: those at entry and exit as well. */
static int graft_accesses(struct accessed *a, const char *load_stub, bool ends)
{
	memset(a, 0, sizeof(*a));
	a->before = load("accesses", 90);
	a->stubs[GT_POINT_ENTRY] = ends ? open_at("entry", 90, GT_POINT_ENTRY) : NULL;
	a->stubs[GT_POINT_EXIT] = ends ? open_at("exit", 90, GT_POINT_EXIT) : NULL;
	a->stubs[GT_POINT_LOAD] = open_at(load_stub, 90, GT_POINT_LOAD);
	a->stubs[GT_POINT_STORE] = open_at("store", 90, GT_POINT_STORE);
	a->stubs[GT_POINT_ATOMIC] = open_at("atomic", 90, GT_POINT_ATOMIC);
	for (unsigned i = 0; i < GRAFTED; i++)
		a->plans[i] = (struct gt_graft_plan){
			.name = names[i], .kernel_id = 7 + i, .entry = a->stubs[GT_POINT_ENTRY], .exit = a->stubs[GT_POINT_EXIT],
			.access = { a->stubs[GT_POINT_LOAD], a->stubs[GT_POINT_STORE], a->stubs[GT_POINT_ATOMIC] },
		};
	return gt_graft(a->before.data, a->before.size, 0, a->plans, GRAFTED, (void **)&a->after.data, &a->after.size,
			a->results, a->why);
}

static void drop(struct accessed *a)
{
	for (unsigned i = 0; i < GT_GRAFT_POINTS; i++)
		gt_graft_stub_free(a->stubs[i]);
	free(a->before.data);
	free(a->after.data);
}

static int check(const struct accessed *a)
{
	char why[GT_GRAFT_WHY];

	return gt_graft_check(a->before.data, a->before.size, a->after.data, a->after.size, a->plans, GRAFTED, a->results, why);
}

START_TEST(grafted)
{
	static const unsigned accesses[GRAFTED] = { 2, 10, 34, 6, 2, 0, 0, 17, 0 };
	static const unsigned left[GRAFTED] = { 0, 0, 9, 0, 2, 2, 0, 9, 10 };
	struct accessed a;

	ck_assert_msg(!graft_accesses(&a, "load", _i), "%s", a.why);
	for (unsigned i = 0; i < GRAFTED; i++) {
		const struct gt_graft_result *result = &a.results[i];
		bool recursive = i == GRAFTED - 1;

		ck_assert_msg(result->done != recursive, "%s: %s", names[i], result->why);
		if (recursive)
			ck_assert_str_eq(result->why, "programs cannot run at this kernel's memory accesses: it uses its stack in an unknown way");
		else
			ck_assert_uint_eq(gt_graft_result_left(result), left[i]);
		ck_assert_uint_eq(gt_graft_result_accesses(result), accesses[i]);
		ck_assert_int_eq(result->detours != 0, accesses[i] != 0);
	}
	drop(&a);
}
END_TEST

/* From the load of `copy`: a branch to where the load now is, behind it one back, and nothing else leads there. */
START_TEST(the_access_is_moved)
{
	const uint64_t at = 0xc0;
	struct view before, after;
	struct accessed a;
	uint64_t detour, moved = 0, count = 0;

	ck_assert_int_eq(graft_accesses(&a, "load", false), 0);
	look(&before, a.before, "copy");
	look(&after, a.after, "copy");
	ck_assert_int_eq(gt_insn_access(word(&before, at)).point, GT_POINT_LOAD);
	detour = (uint64_t)gt_target(word(&after, at), 90, (int64_t)at);
	ck_assert(word(&after, at) == gt_make_branch(90, (int64_t)at, (int64_t)detour));
	ck_assert_uint_gt(detour, before.size);
	for (uint64_t i = before.size; i < after.size; i += GT_WORD)
		if (word(&after, i) == gt_with(word(&before, at), 122, 4, 0)) {
			moved = i;
			count++;
		}
	ck_assert_uint_eq(count, 1);
	ck_assert_uint_gt(moved, detour);
	ck_assert(word(&after, moved + GT_WORD) == gt_make_branch(90, (int64_t)(moved + GT_WORD), (int64_t)(at + GT_WORD)));
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	drop(&a);
}
END_TEST

/* The value of a record of .nv.info for this kernel; 0: it has none. */
static uint32_t limit(const struct view *view, uint8_t attribute)
{
	struct gt_note_walk walk = gt_note_begin(&view->elf, view->elf.info);
	struct gt_note_record record;

	while (gt_note_next(&walk, &record))
		if (record.attribute == attribute && record.value == 8 && gt_read32(record.payload) == view->kernel.symbol)
			return gt_read32(record.payload + 4);
	return 0;
}

/*
 * 48 bytes and 4 for each register but the two that are not named, in multiples of 16; below these 512 that the big
 * program has on its stack, as the PTX says.  All that comes on top of the kernel's own.
 */
START_TEST(limits)
{
	static const struct {
		const char *load, *kernel;
		uint32_t own_stack, program_stack;
	} cases[] = {
		{ "load", "copy", 0, 0 }, { "load", "calls", 64, 0 }, { "load-big", "copy", 0, 512 }, { "load-big", "places", 128, 512 },
	};
	struct view before, after, stub;
	struct bytes stub_bytes = load(cases[_i].load, 90);
	uint32_t registers, below;
	struct accessed a;

	ck_assert_msg(!graft_accesses(&a, cases[_i].load, false), "%s", a.why);
	look(&before, a.before, cases[_i].kernel);
	look(&after, a.after, cases[_i].kernel);
	look(&stub, stub_bytes, "__gt_stub");
	registers = limit(&stub, GT_ATTR_REGCOUNT);
	ck_assert_uint_ge(registers, 10);
	below = (48 + 4 * (registers - 2) + 15) / 16 * 16 + cases[_i].program_stack;
	ck_assert_uint_eq(limit(&before, GT_ATTR_MIN_STACK), cases[_i].own_stack);
	ck_assert_uint_eq(limit(&after, GT_ATTR_MIN_STACK), cases[_i].own_stack + below);
	ck_assert_uint_eq(limit(&after, GT_ATTR_FRAME_SIZE), cases[_i].own_stack + below);
	ck_assert_uint_ge(limit(&after, GT_ATTR_REGCOUNT), registers);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	gt_elf_close(&stub.elf);
	free(stub_bytes.data);
	drop(&a);
}
END_TEST

/* ---- the last check ---- */

/* From where on the probes' own instructions are, and up to where: these may be any. */
static bool in_probes(const struct view *after, uint64_t at)
{
	bool inside = false;

	for (uint64_t i = 0; i <= at; i += GT_WORD) {
		gt_word here = word(after, i);

		/* They begin and end by moving the stack pointer. */
		if ((gt_op(here) == GT_OP_IADD3_IMM) && gt_bits(here, 16, 8) == 1 && gt_bits(here, 24, 8) == 1)
			inside = gt_bits(here, 63, 1);
		if (i == at && inside && gt_op(here) == GT_OP_IADD3_IMM && gt_bits(here, 16, 8) == 1)
			return false;
	}
	return inside;
}

START_TEST(the_check_sees_every_bit)
{
	static const char *const kernels[] = { "copy", "atomics", "calls" };
	unsigned seed = 4711, tried = 0;
	struct view after;
	struct accessed a;
	uint64_t begin;

	ck_assert_int_eq(graft_accesses(&a, "load", false), 0);
	ck_assert_int_eq(check(&a), 0);
	look(&after, a.after, kernels[_i]);
	begin = (uint64_t)(after.text - a.after.data);
	while (tried < 2000) {
		uint64_t at;
		uint8_t bit;

		seed = seed * 1664525u + 1013904223u;
		at = (seed >> 3) % after.size;
		bit = (uint8_t)(1u << (seed & 7));
		/* Of what is never reached only that is looked at. */
		if (in_probes(&after, at - at % GT_WORD) || word(&after, at - at % GT_WORD) == gt_make_nop(0))
			continue;
		tried++;
		a.after.data[begin + at] ^= bit;
		ck_assert_msg(check(&a) == -EINVAL, "bit %#x at %#lx", bit, (unsigned long)at);
		a.after.data[begin + at] ^= bit;
	}
	ck_assert_int_eq(check(&a), 0);
	gt_elf_close(&after.elf);
	drop(&a);
}
END_TEST

/* An access that the result claims has no program; a register of the kernel's that the probes change. */
START_TEST(the_check_sees_wrong_code)
{
	struct view before, after;
	struct accessed a;
	uint8_t *text;
	gt_word old;

	ck_assert_int_eq(graft_accesses(&a, "load", false), 0);
	look(&before, a.before, "copy");
	look(&after, a.after, "copy");
	text = (uint8_t *)(uintptr_t)after.text;
	old = word(&after, 0xc0);
	gt_word_write(text + 0xc0, word(&before, 0xc0));
	ck_assert_int_eq(check(&a), -EINVAL);
	gt_word_write(text + 0xc0, old);
	ck_assert_int_eq(check(&a), 0);
	for (uint64_t at = before.size; at < after.size; at += GT_WORD) {
		static const uint64_t wrong[][2] = {
			{ 0x000fe20000000f00, 0x0000000300c87202 },	/* MOV R200, R3 */
			{ 0x000fe20000000f00, 0x0000000300017202 },	/* MOV R1, R3 */
			{ 0x000fea0003800000, 0x000000000000794d },	/* EXIT */
			{ 0x000fe20003800000, 0x0000000000007945 },	/* BSSY B0 */
			{ 0x000fe20000000000, 0x0000000000047882 },	/* UMOV UR4, 0x0, which the kernel names */
			{ 0x000e620000003b00, 0x0000000000047919 },	/* S2R R4, SR_GTMASK */
			{ 0x000e620000003a00, 0x0000000000047919 },	/* S2R R4, SR_LEMASK */
		};

		if (!in_probes(&after, at))
			continue;
		old = word(&after, at);
		for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
			gt_word_write(text + at, make(wrong[i][0], wrong[i][1]));
			ck_assert_msg(check(&a) == -EINVAL, "wrong instruction %u at %#lx", i, (unsigned long)at);
		}
		gt_word_write(text + at, old);
	}
	ck_assert_int_eq(check(&a), 0);
	gt_elf_close(&before.elf);
	gt_elf_close(&after.elf);
	drop(&a);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("access");

	tcase_set_timeout(tcase, 600);
	tcase_add_loop_test(tcase, instructions, 0, INSTRUCTIONS);
	tcase_add_test(tcase, announced);
	tcase_add_test(tcase, counts);
	tcase_add_test(tcase, addresses);
	tcase_add_loop_test(tcase, refused, 0, REFUSALS);
	tcase_add_loop_test(tcase, grafted, 0, 2);
	tcase_add_test(tcase, the_access_is_moved);
	tcase_add_loop_test(tcase, limits, 0, 4);
	tcase_add_loop_test(tcase, the_check_sees_every_bit, 0, 3);
	tcase_add_test(tcase, the_check_sees_wrong_code);
	return run_case("access", tcase);
}
