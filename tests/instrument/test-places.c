/* SPDX-License-Identifier: Apache-2.0 */
/* Where probes land, and what they are told of an access. */
#include <errno.h>

#include "tests/instrument/common.h"

#define PLACES 12

static const struct {
	uint32_t point;
	const char *opcode;
	const char *text;
	const char *follow[PLACES];	/* what each place is followed by */
} places[] = {
	{ GT_POINT_ENTRY, NULL, KERNEL("L: mov.u32 %r1, 1; @%p bra L; ret;"), { ".reg .pred" } },
	{ GT_POINT_EXIT, NULL, KERNEL("ret;"), { "ret;" } },
	{ GT_POINT_EXIT, NULL, KERNEL("@%p ret; @!%q exit; ret.uni;"), { "@%p ret;", "@!%q exit;", "ret.uni;" } },
	{ GT_POINT_EXIT, NULL, KERNEL("mov.u32 %r1, 1;"), { "}\n" } },
	{ GT_POINT_EXIT, NULL, KERNEL("bra E; ret; E: "), { "ret; E:", "}\n" } },
	{ GT_POINT_EXIT, NULL, KERNEL("{ .reg .b32 %t; @%p ret; } L: bra L;"), { "@%p ret; }" } },
	{ GT_POINT_EXIT, NULL, KERNEL("\n\t.loc 1 2 3\n\tret; /* ret; */ // exit;\n"), { "ret; /*" } },
	{ GT_POINT_EXIT, NULL, KERNEL("$L__tmp1: ret;"), { "ret;" } },
	{ GT_POINT_LOAD, NULL, KERNEL(
		"ld.param.u64 %rd1, [x]; ld.global.u32 %r1, [%rd1]; ld.u8 %r1, [%rd1+4];"
		"ld.shared.v2.u32 {%r1, %r2}, [sh+8]; ld.volatile.global.s8 %r1, [%rd1]; ld.const.b32 %r1, [%rd1];"
		"@!%p ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%r1,%r2,%r3,%r4}, [%rd1+-16]; st.global.u32 [%rd1], %r1;"
		"atom.global.add.u32 %r1, [%rd1], 1; ldu.global.b32 %r1, [%rd1]; prefetch.global.L2 [%rd1]; ret;"),
	  { "ld.global.u32", "ld.u8", "ld.shared.v2", "ld.volatile", "@!%p ld.global.nc", "ldu" } },
	{ GT_POINT_STORE, NULL, KERNEL(
		"st.global.u32 [%rd1], %r1; st [%rd1], %r1; st.shared.u32 [%r1], 4; st.local.b32 [16], 1; ld.u32 %r1, [%rd1]; ret;") ,
	  { NULL } },		/* see unreadable_operands */
	{ GT_POINT_STORE, NULL, KERNEL(
		"st.global.u32 [%rd1], %r1; st.v4.b32 [%rd1], {%r1,%r2,%r3,%r4}; st.shared.u32 [%r1], 4; st.local.b32 [16], 1;"
		"st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r1], %r2, [%r3]; st.bulk.weak.shared::cta [%r1], 64, 0; ret;"),
	  { "st.global.u32", "st.v4", "st.shared.u32", "st.local", "st.async", "st.bulk" } },
	{ GT_POINT_ATOMIC, NULL, KERNEL(
		"atom.global.add.u32 %r1, [%rd1], 1; red.relaxed.gpu.global.add.f16x2 [%rd1], %r1; atom.cas.b64 %rd1, [%rd2], %rd3, %rd4;"
		"@%p atom.shared::cta.exch.b32 %r1, [%r2], 5; multimem.red.global.add.u32 [%rd1], %r1; ret;"),
	  { "atom.global", "red.relaxed", "atom.cas", "@%p atom.shared", "multimem.red" } },
	{ GT_POINT_LOAD, NULL, KERNEL(
		"cp.async.ca.shared.global [%r1], [%rd1], 4; cp.async.cg.shared.global [sh], [%rd1+16], 16, %r1;"
		"cp.async.commit_group; cp.async.wait_group 0; cp.async.mbarrier.arrive.shared.b64 [%r1];"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];"
		"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 32; cp.async.bulk.prefetch.L2.global [%rd1], 32;"
		"cp.async.bulk.commit_group;"
		"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4]; ret;"),
	  { "cp.async.ca", "cp.async.cg", "cp.async.bulk.shared", "cp.async.bulk.tensor" } },
	{ GT_POINT_STORE, NULL, KERNEL(
		"cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 32;"
		"cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r1], [%r2], 32, [%r3];"
		"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2}], [%r1];"
		"cp.async.ca.shared.global [%r1], [%rd1], 4; ret;"),
	  { "cp.async.bulk.global", "cp.async.bulk.shared", "cp.async.bulk.tensor" } },
	{ GT_POINT_ATOMIC, NULL, KERNEL(
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r1], 32; ret;"),
	  { "cp.reduce.async.bulk" } },
	{ GT_POINT_INST, "mad*", KERNEL("mad.lo.s32 %r1,%r2,%r3,%r4; mul.lo.s32 %r1,%r2,%r3; @%p mad.wide.u32 %rd1,%r1,%r2,%rd3; ret;"),
	  { "mad.lo", "@%p mad.wide" } },
	{ GT_POINT_INST, "bar", KERNEL("bar.sync 0; barrier.sync 0; bar.warp.sync -1; ret;"),
	  { "bar.sync", "bar.warp.sync" } },
	{ GT_POINT_INST, "*.f32", KERNEL("ld .global /* c */ .f32 %r1, [%rd1]; ret;"), { "ld .global" } },
	{ GT_POINT_INST, "[ls][dt].*", KERNEL("ld.global.u32 %r1, [%rd1]; ldu.global.u32 %r1, [%rd1]; st.shared.u32 [%r1], 4;"
		"atom.global.add.u32 %r1, [%rd1], 1; ret;"), { "ld.global", "st.shared" } },
	{ GT_POINT_INST, "?et", KERNEL("ret;"), { "ret;" } },
	{ GT_POINT_BLOCK, NULL, KERNEL("mov.u32 %r1, 1; @%p bra B; mov.u32 %r2, 1; A: B: mov.u32 %r3, 1; @%q bra A; ret;"),
	  { "mov.u32 %r1", "mov.u32 %r2", "mov.u32 %r3", "ret;" } },
	{ GT_POINT_BLOCK, NULL, KERNEL("bra E; E: "), { "bra E", "}\n" } },
	{ GT_POINT_BLOCK, NULL, KERNEL("T: .branchtargets A, B; mov.u32 %r1, 0; brx.idx %r1, T; A: ret; B: @%p ret; exit;"),
	  { "mov.u32", "ret; B:", "@%p ret", "exit" } },
};

START_TEST(where)
{
	struct gt_probe probe = probe_at(places[_i].point);
	struct gt_ptx_error error;
	struct gt_ptx_plan plan;
	static const unsigned which[] = { 0 };
	struct gt_ptx *ptx;
	size_t length;
	char *out;

	probe.opcode = places[_i].opcode;
	if (!places[_i].follow[0]) {
		ptx = parse(places[_i].text);
		plan = (struct gt_ptx_plan){ .kernel_id = 1, .probes = which, .probe_count = 1 };
		ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, &plan, &out, &length, &error),
				 -EINVAL);
		gt_ptx_free(ptx);
		return;
	}
	out = instrument(places[_i].text, &probe, 1);
	check_sites(out, places[_i].follow);
	free(out);
}
END_TEST

/* The lines that compute address and size, and the space, of one access. */
static const struct {
	const char *instruction;
	const char *address, *size;
	unsigned space;
} accesses[] = {
	{ "ld.global.u32 %r1, [%rd1];", "mov.u64 %__gt_a, %rd1;", "4", GT_SPACE_GLOBAL },
	{ "ld.f64 %rd1, [%rd2+8];", "mov.u64 %__gt_a, %rd2;\n\tadd.s64 %__gt_a, %__gt_a, 8;", "8", GT_SPACE_GENERIC },
	{ "ld.global.v4.b32 {%r1,%r1,%r1,%r1}, [ %rd1 + -16 ];", "add.s64 %__gt_a, %__gt_a, -16;", "16", GT_SPACE_GLOBAL },
	{ "ld.global.v2.u8 {%r1,%r1}, [%rd1+(4*2)];", "add.s64 %__gt_a, %__gt_a, (4*2);", "2", GT_SPACE_GLOBAL },
	{ "ld.shared.u16 %r1, [%r2];", "mov.u32 %__gt_u, %r2;\n\tcvt.u64.u32 %__gt_a, %__gt_u;\n\tcvta.shared.u64 %__gt_a, %__gt_a;", "2", GT_SPACE_SHARED },
	{ "ld.shared.u16 %r1, [%r2+6];", "add.s32 %__gt_u, %r2, 6;\n\tcvt.u64.u32 %__gt_a, %__gt_u;\n\tcvta.shared.u64 %__gt_a, %__gt_a;", "2", GT_SPACE_SHARED },
	{ "ld.shared.b32 %r1, [sh+8];", "mov.u64 %__gt_a, sh;\n\tadd.s64 %__gt_a, %__gt_a, 8;\n\tcvta.shared.u64 %__gt_a, %__gt_a;", "4", GT_SPACE_SHARED },
	{ "ld.shared::cluster.b32 %r1, [%r2];", "cvta.shared::cluster.u64 %__gt_a, %__gt_a;", "4", GT_SPACE_SHARED },
	{ "ld.b32 %r1, [sh];", "mov.u64 %__gt_a, sh;", "4", GT_SPACE_SHARED },
	{ "ld.b32 %r1, [gl];", "mov.u64 %__gt_a, gl;", "4", GT_SPACE_GLOBAL },
	{ "ld.local.b8 %r1, [16];", "mov.u64 %__gt_a, 16;\n\tcvta.local.u64 %__gt_a, %__gt_a;", "1", GT_SPACE_LOCAL },
	{ "ld.global.b32 %r1, [%rd1 /* here */ + // there\n 4];", "add.s64 %__gt_a, %__gt_a, 4;", "4", GT_SPACE_GLOBAL },
	{ "{ .reg .b32 %rd1; ld.shared.b32 %r1, [%rd1]; }", "mov.u32 %__gt_u, %rd1;", "4", GT_SPACE_SHARED },
	{ "{ .reg .b32 gl; ld.shared.b32 %r1, [gl]; }", "mov.u32 %__gt_u, gl;", "4", GT_SPACE_SHARED },
	{ "{ .reg .b64 %t1<3>; ld.shared.b32 %r1, [%t12]; }", "mov.u64 %__gt_a, %t12;", "4", GT_SPACE_SHARED },
	{ "cp.async.cg.shared.global [%r1], [%rd1+16], 16;", "add.s64 %__gt_a, %__gt_a, 16;", "16", GT_SPACE_GLOBAL },
	{ "cp.async.cg.shared.global [%r1], [%rd1], 16, 8;", "mov.u64 %__gt_a, %rd1;", "8", GT_SPACE_GLOBAL },
	{ "cp.async.cg.shared.global [%r1], [%rd1], 16, %r3;", "mov.u64 %__gt_a, %rd1;", "%r3", GT_SPACE_GLOBAL },
	{ "cp.async.ca.shared.global [%r1], [%rd1], 4, %q;", "mov.u64 %__gt_a, %rd1;",
	  "4;\n\tselp.b32 %__gt_s, 0, %__gt_s, %q", GT_SPACE_GLOBAL },
	{ "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
	  "mov.u64 %__gt_a, %rd1;", "%r2", GT_SPACE_GLOBAL },
	{ "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r3];",
	  "mov.u64 %__gt_a, 0;", "0", GT_SPACE_GLOBAL },
};

START_TEST(what_loads_are_told)
{
	struct gt_probe probe = probe_at(GT_POINT_LOAD);
	char text[2048], *out;

	snprintf(text, sizeof(text), "%s%s}\n",
		 HEADER ".shared .align 4 .b32 sh[8];\n.global .align 4 .b32 gl[8];\n"
		 ".visible .entry k(.param .u64 x)\n{.reg .pred %p, %q; .reg .b32 %r<5>; .reg .b64 %rd<5>;",
		 accesses[_i].instruction);
	out = instrument(text, &probe, 1);
	ck_assert_uint_eq(count_of(out, "call probe,"), 1);
	ck_assert_msg(count_of(out, accesses[_i].address) == 1, "%s\n%s", accesses[_i].address, out);
	snprintf(text, sizeof(text), "\tmov.b32 %%__gt_s, %s;\n", accesses[_i].size);
	ck_assert_msg(count_of(out, text) == 1, "%s\n%s", text, out);
	snprintf(text, sizeof(text), "st.param.b32 [__gt_7], %u;\n", accesses[_i].space);
	ck_assert_msg(count_of(out, text) == 1, "%s\n%s", text, out);
	free(out);
}
END_TEST

/* What cannot be read is an error at its line, never a wrong address. */
static const char *const unreadable[] = {
	KERNEL("\nld.shared.b32 %r1, sh[2];"),
	KERNEL("\nld.global.b32 %r1, [unknown];"),
	KERNEL("\nld.global.b32 %r1, [%p];"),
	KERNEL("\nld.global %r1, [%rd1];"),
	KERNEL("\nld.global.b32 %r1, %rd1;"),
	KERNEL("\nld.global.b32 %r1, [];"),
	KERNEL("\nld.global.b32 %r1, [%rd1-4];"),
	KERNEL("\ncp.async.ca.shared.global [%r1], [%rd1], %rd2;"),
};

START_TEST(unreadable_operands)
{
	struct gt_probe probe = probe_at(GT_POINT_LOAD);
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plan = { .kernel_id = 1, .probes = which, .probe_count = 1 };
	struct gt_ptx *ptx = parse(unreadable[_i]);
	struct gt_ptx_error error;
	size_t length;
	char *out = NULL;

	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, &plan, &out, &length, &error), -EINVAL);
	ck_assert_uint_eq(error.line, 8);
	ck_assert_int_eq(error.kernel, 0);
	/* Probes at other points do not mind. */
	probe.point = GT_POINT_EXIT;
	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, &plan, &out, &length, &error), 0);
	free(out);
	gt_ptx_free(ptx);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("places");

	LOOP(where, places);
	LOOP(what_loads_are_told, accesses);
	LOOP(unreadable_operands, unreadable);
	return run_case("places", tcase);
}
