/* SPDX-License-Identifier: Apache-2.0 */
/* Where probes land and what they are told. */
#include <errno.h>

#include "tests/instrument/common.h"

#define KERNEL(body) \
	HEADER ".shared .align 4 .b32 sh[8];\n.global .align 4 .b32 gl[8];\n" \
	".visible .entry k(.param .u64 x)\n{.reg .pred %p, %q; .reg .b32 %r<5>; .reg .b64 %rd<5>;" body "}\n"

static const struct gt_probe templ = { .function = "probe", .kernel = "*", .opcode = "*" };

static struct gt_probe probe_at(uint32_t point)
{
	struct gt_probe probe = templ;

	probe.point = point;
	return probe;
}

/*
 * The program's text from the `index`th place of probes on: what a site is
 * followed by.  NULL: there is none.
 */
static const char *after_site(const char *text, unsigned index)
{
	static const char end[] = "__gt_off:\n\t}\n\t";

	for (; (text = strstr(text, end)); index--) {
		text += strlen(end);
		if (!index)
			return text;
	}
	return NULL;
}

static void check_sites(const char *out, const char *const *follow)
{
	const char *at;
	unsigned i;

	for (i = 0; follow[i]; i++) {
		at = after_site(out, i);
		ck_assert_msg(at != NULL, "place %u: %s\n%s", i, follow[i], out);
		ck_assert_msg(!strncmp(at, follow[i], strlen(follow[i])), "place %u: %s, not %.40s", i,
			      follow[i], at);
	}
	ck_assert_msg(!after_site(out, i), "more than %u places\n%s", i, out);
	ck_assert_uint_eq(count_of(out, "call probe,"), i);
}

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

START_TEST(whole_output)	/* the smallest kernel, byte by byte */
{
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out;

	probe.link = 3;
	out = instrument(".version 6.0\n.target sm_75\n.address_size 64\n.entry k { ret; }\n", &probe, 1);
	ck_assert_str_eq(out,
		".version 6.3\n.target sm_75\n.address_size 64\n\n" PROBE("probe") "\n\n"
		".entry k(\n\t.param .align 8 .b8 __gt_launch[24]\n) {{\n"
		"\t.reg .pred %__gt_p;\n"
		"\t.reg .b32 %__gt_w, %__gt_t, %__gt_u, %__gt_s, %__gt_k;\n"
		"\t.reg .b64 %__gt_l, %__gt_d, %__gt_h, %__gt_q, %__gt_a;\n"
		"\tld.param.b32 %__gt_w, [__gt_launch+4];\n"
		"\tand.b32 %__gt_t, %__gt_w, 524288;\n"		/* bit 48 + 3 of the launch word */
		"\tsetp.eq.u32 %__gt_p, %__gt_t, 0;\n"
		"\t{\n"
		"\t@%__gt_p bra __gt_next;\n"
		"\t{\n"
		"\t.param .b64 __gt_0; .param .b64 __gt_1; .param .b64 __gt_2; .param .b32 __gt_3;\n"
		"\t.param .b64 __gt_4; .param .b64 __gt_5; .param .b32 __gt_6; .param .b32 __gt_7;\n"
		"\tld.param.b64 %__gt_l, [__gt_launch+0];\n"
		"\tst.param.b64 [__gt_0], %__gt_l;\n"
		"\tld.param.b64 %__gt_l, [__gt_launch+8];\n"
		"\tst.param.b64 [__gt_1], %__gt_l;\n"
		"\tld.param.b64 %__gt_l, [__gt_launch+16];\n"
		"\tst.param.b64 [__gt_2], %__gt_l;\n"
		"\tst.param.b32 [__gt_3], 70;\n"
		"\tst.param.b64 [__gt_4], 0;\n"
		"\tst.param.b64 [__gt_5], 0;\n"
		"\tst.param.b32 [__gt_6], 0;\n"
		"\tst.param.b32 [__gt_7], 0;\n"
		"\tcall probe, (__gt_0, __gt_1, __gt_2, __gt_3, __gt_4, __gt_5, __gt_6, __gt_7);\n"
		"\t}\n__gt_next:\n\t}\n__gt_off:\n\t}\n\t"
		" ret; }\n");
	free(out);
}
END_TEST

START_TEST(predicates_guard)
{
	struct gt_probe probe = probe_at(GT_POINT_EXIT);
	char *out = instrument(KERNEL("@%p ret; @!%q ret; ret;"), &probe, 1);

	ck_assert_uint_eq(count_of(out, "setp.eq.or.u32 %__gt_p, %__gt_t, 0, !%p;"), 1);
	ck_assert_uint_eq(count_of(out, "setp.eq.or.u32 %__gt_p, %__gt_t, 0, %q;"), 1);
	ck_assert_uint_eq(count_of(out, "setp.eq.u32 %__gt_p, %__gt_t, 0;"), 1);
	free(out);
}
END_TEST

static const struct {
	uint32_t granularity;
	const char *text;
} elections[] = {
	{ GT_PER_WARP, "mov.u32 %__gt_t, %laneid;\n\tsetp.ne.or.u32 %__gt_p, %__gt_t, 0, %__gt_p;\n"
		       "\t@%__gt_p bra __gt_next;\n" },
	{ GT_PER_BLOCK, "mov.u32 %__gt_t, %tid.x;\n" },
	{ GT_PER_GROUP, "activemask.b32 %__gt_t;\n\tpopc.b32 %__gt_s, %__gt_t;\n\tmov.u32 %__gt_u, %lanemask_lt;\n"
			"\tand.b32 %__gt_t, %__gt_t, %__gt_u;\n"
			"\tsetp.ne.or.u32 %__gt_p, %__gt_t, 0, %__gt_p;\n" },
};

START_TEST(granularity)
{
	struct gt_probe probe = probe_at(GT_POINT_EXIT);
	char *out;

	probe.granularity = elections[_i].granularity;
	out = instrument(KERNEL("ret;"), &probe, 1);
	ck_assert_msg(count_of(out, elections[_i].text) == 1, "%s", out);
	ck_assert_uint_eq(count_of(out, "st.param.b32 [__gt_6], %__gt_s;"), elections[_i].granularity == GT_PER_GROUP);
	free(out);
}
END_TEST

START_TEST(several_at_one_point)
{
	struct gt_probe probes[3] = { probe_at(GT_POINT_LOAD), probe_at(GT_POINT_INST), probe_at(GT_POINT_LOAD) };
	char *out, *a, *b, *c;

	probes[0].link = 2;
	probes[0].function = "probe_a";
	probes[1].link = 0;
	probes[1].function = "probe_b";
	probes[1].opcode = "ld.global*";
	probes[2].link = 1;
	probes[2].function = "probe_c";
	out = instrument(KERNEL("ld.global.b32 %r1, [%rd1]; ret;"), probes, 3);
	/* One test of all three bits, then one of each, in order. */
	ck_assert_uint_eq(count_of(out, "bra __gt_off;"), 1);
	ck_assert_uint_eq(count_of(out, "and.b32 %__gt_t, %__gt_w, 458752;"), 1);	/* 7 << 16 */
	ck_assert_uint_eq(count_of(out, "and.b32 %__gt_t, %__gt_w, 262144;"), 1);
	ck_assert_uint_eq(count_of(out, "and.b32 %__gt_t, %__gt_w, 65536;"), 1);
	ck_assert_uint_eq(count_of(out, "and.b32 %__gt_t, %__gt_w, 131072;"), 1);
	a = strstr(out, "call probe_a,");
	b = strstr(out, "call probe_b,");
	c = strstr(out, "call probe_c,");
	ck_assert(a && b && c && a < b && b < c);
	/* The instruction probe gets no address. */
	ck_assert_uint_eq(count_of(out, "st.param.b64 [__gt_5], %__gt_a;"), 2);
	ck_assert_uint_eq(count_of(out, "st.param.b64 [__gt_5], 0;"), 1);
	free(out);
}
END_TEST

START_TEST(call_sequences_stay_whole)
{
	static const char *const follow[] = { "st.param.b64 [a], %rd1;", NULL };
	struct gt_probe probe = probe_at(GT_POINT_INST);
	static const char text[] = HEADER
		".func (.param .b32 r) f(.param .b64 a, .param .b64 b) { ret; }\n"
		".visible .entry k() { .reg .b64 %rd<3>; .reg .b32 %r1; mov.u64 %rd1, 1;\n"
		"{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;"
		" call.uni (r), f, (a, b); ld.param.b32 %r1, [r]; } add.s64 %rd1, %rd1, 1; ret; }\n";
	const char *patterns[] = { "call*", "ld.param*", "st.param.b64" };
	unsigned i;
	char *out;

	for (i = 0; i < 3; i++) {
		probe.opcode = patterns[i];
		out = instrument(text, &probe, 1);
		ck_assert_uint_eq(count_of(out, "call probe,"), i == 2 ? 2 : 1);
		if (i < 2)
			check_sites(out, follow);
		/* Nothing came between. */
		ck_assert_ptr_nonnull(strstr(out, "st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;"
						  " call.uni (r), f, (a, b); ld.param.b32 %r1, [r]; }"));
		free(out);
	}
}
END_TEST

START_TEST(parameter_lists)
{
	static const char *const lists[][2] = {
		{ ".entry k { ret; }", ".entry k(\n\t.param .align 8 .b8 __gt_launch[24]\n) {" },
		{ ".entry k() { ret; }", ".entry k(\n\t.param .align 8 .b8 __gt_launch[24]\n) {" },
		{ ".entry k(.param .u32 a) { ret; }", "(.param .u32 a,\n\t.param .align 8 .b8 __gt_launch[24]\n) {" },
		{ ".entry k .maxntid 32 { ret; }", "k(\n\t.param .align 8 .b8 __gt_launch[24]\n) .maxntid 32 {" },
	};
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char text[512], *out;
	unsigned i;

	for (i = 0; i < 4; i++) {
		snprintf(text, sizeof(text), HEADER "%s", lists[i][0]);
		out = instrument(text, &probe, 1);
		ck_assert_msg(count_of(out, lists[i][1]) == 1, "%s", out);
		free(out);
	}
	/* A prototype changes with its kernel. */
	out = instrument(HEADER ".entry k(.param .u32 a);\n.entry k(.param .u32 a) { ret; }", &probe, 1);
	ck_assert_uint_eq(count_of(out, ".param .align 8 .b8 __gt_launch[24]"), 2);
	free(out);
}
END_TEST

START_TEST(parameters_address)
{
	struct gt_probe probe = probe_at(GT_POINT_EXIT);
	char *out;

	probe.flags = GT_PROBE_WANTS_PARAMS;
	out = instrument(KERNEL("ret;"), &probe, 1);
	ck_assert_uint_eq(count_of(out, "mov.b64 %__gt_q, x;\n\tcvta.param.u64 %__gt_q, %__gt_q;"), 1);
	free(out);
	/* Before PTX 7.7 a copy is made at entry, piece by piece. */
	out = instrument(".version 7.0\n.target sm_75\n.entry k(.param .u32 a, .param .align 4 .b8 s[15], .param .u64 c)"
			 " { ret; }", &probe, 1);
	ck_assert_uint_eq(count_of(out, "cvta.param"), 0);
	ck_assert_uint_eq(count_of(out, ".local .align 8 .b8 __gt_params[40];"), 1);
	ck_assert_uint_eq(count_of(out, "ld.param.b32 %__gt_t, [a+0];\n\tst.local.b32 [__gt_params+0], %__gt_t;"), 1);
	ck_assert_uint_eq(count_of(out, "ld.param.b32 %__gt_t, [s+0];\n\tst.local.b32 [__gt_params+4], %__gt_t;"), 1);
	ck_assert_uint_eq(count_of(out, "ld.param.b64 %__gt_a, [s+4];\n\tst.local.b64 [__gt_params+8], %__gt_a;"), 1);
	ck_assert_uint_eq(count_of(out, "ld.param.b16 %__gt_t, [s+12];\n\tst.local.b16 [__gt_params+16], %__gt_t;"), 1);
	ck_assert_uint_eq(count_of(out, "ld.param.b8 %__gt_t, [s+14];\n\tst.local.b8 [__gt_params+18], %__gt_t;"), 1);
	ck_assert_uint_eq(count_of(out, "ld.param.b64 %__gt_a, [c+0];\n\tst.local.b64 [__gt_params+24], %__gt_a;"), 1);
	free(out);
}
END_TEST

/* ---- functions ---- */

#define FUNCTIONS HEADER \
	".func leaf() { @%p exit; ret; }\n" \
	".func middle(.param .b64 a) { .reg .pred %p; .reg .b64 %rd1; call leaf; st.global.u32 [%rd1], 1; ret; }\n" \
	".func unused() { exit; }\n" \
	".visible .entry caller() { .param .b64 a; call middle, (a); ret; }\n" \
	".visible .entry plain() { ret; }\n"

static char *weave_with(const char *text, const struct gt_probe *probes, unsigned probe_count,
			const struct gt_ptx_plan *plans, int expected, struct gt_ptx_error *error)
{
	struct gt_ptx *ptx = parse(text);
	size_t length;
	char *out = NULL;

	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), probes, probe_count, plans, &out, &length, error),
			 expected);
	gt_ptx_free(ptx);
	return out;
}

START_TEST(exit_in_a_function)
{
	struct gt_probe probe = probe_at(GT_POINT_EXIT);
	char *out = instrument(FUNCTIONS, &probe, 1);

	/* leaf's exit, caller's and plain's ret; a function's ret is none, and nobody calls `unused`. */
	ck_assert_uint_eq(count_of(out, "call probe,"), 3);
	ck_assert_uint_eq(count_of(out, ".shared .align 16 .b8 __gt_shared[40];"), 1);
	ck_assert_ptr_nonnull(strstr(after_site(out, 0), "@%p exit; ret; }\n.func middle"));
	ck_assert_uint_eq(count_of(out, "ld.shared.b32 %__gt_w, [__gt_shared+4];"), 1);
	/* Only `caller` fills in what the function needs, with its own kernel id. */
	ck_assert_uint_eq(count_of(out, "st.shared.b64 [__gt_shared], %__gt_l;"), 1);
	ck_assert_uint_eq(count_of(out, "st.shared.b32 [__gt_shared+32], 70;"), 1);
	free(out);
}
END_TEST

START_TEST(no_shared_memory_without_need)
{
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out = instrument(FUNCTIONS, &probe, 1);

	ck_assert_uint_eq(count_of(out, "__gt_shared"), 0);
	ck_assert_uint_eq(count_of(out, "call probe,"), 2);
	free(out);
	probe.point = GT_POINT_LOAD;	/* no function loads */
	out = instrument(FUNCTIONS, &probe, 1);
	ck_assert_uint_eq(count_of(out, "__gt_shared"), 0);
	free(out);
}
END_TEST

START_TEST(a_kernel_without_probes_switches_them_off)
{
	static const char text[] = HEADER
		".func f() { .reg .b64 %rd1; st.global.u32 [%rd1], 1; ret; }\n"
		".visible .entry probed() { call f; ret; }\n"
		".visible .entry bare(.param .u32 n) { call f; ret; }\n";
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plans[] = {
		{ .kernel_id = 5, .probes = which, .probe_count = 1 },
		{ .kernel_id = 6, .probes = which, .probe_count = 0 },
	};
	struct gt_probe probe = probe_at(GT_POINT_STORE);
	char *out = weave_with(text, &probe, 1, plans, 0, NULL);

	ck_assert_uint_eq(count_of(out, "call probe,"), 1);
	ck_assert_ptr_nonnull(strstr(out, ".visible .entry bare(.param .u32 n) {\n\tst.shared.b64 [__gt_shared], 0;\n\t call f; ret; }"));
	ck_assert_uint_eq(count_of(out, "st.shared.b32 [__gt_shared+32], 5;"), 1);
	free(out);
}
END_TEST

START_TEST(links_keep_kernels_apart)
{
	static const char text[] = HEADER
		".func f() { .reg .b64 %rd1; st.global.u32 [%rd1], 1; ret; }\n"
		".visible .entry one() { call f; ret; }\n.visible .entry two() { call f; ret; }\n";
	static const unsigned first[] = { 0 }, second[] = { 1 };
	const struct gt_ptx_plan plans[] = {
		{ .kernel_id = 5, .probes = first, .probe_count = 1 },
		{ .kernel_id = 6, .probes = second, .probe_count = 1 },
	};
	struct gt_probe probes[2] = { probe_at(GT_POINT_STORE), probe_at(GT_POINT_STORE) };
	struct gt_ptx_error error;
	char *out;

	probes[0].link = 4;
	probes[1].link = 9;
	out = weave_with(text, probes, 2, plans, 0, NULL);
	ck_assert_uint_eq(count_of(out, "call probe,"), 2);
	/* Each kernel lets through its own link alone: bits 48 + 4, 48 + 9. */
	ck_assert_uint_eq(count_of(out, "and.b64 %__gt_l, %__gt_l, 0x10ffffffffffff;"), 1);
	ck_assert_uint_eq(count_of(out, "and.b64 %__gt_l, %__gt_l, 0x200ffffffffffff;"), 1);
	free(out);
	probes[1].link = 4;
	out = weave_with(text, probes, 2, plans, -EINVAL, &error);
	ck_assert_ptr_null(out);
	ck_assert_ptr_nonnull(strstr(error.text, "same link"));
}
END_TEST

START_TEST(indirect_calls_reach_every_function)
{
	static const char text[] = HEADER
		".func f() { .reg .b64 %rd1; st.global.u32 [%rd1], 1; ret; }\n"
		".global .u64 table[1] = {f};\n"
		".visible .entry k() { .reg .b64 %rd1; P: .callprototype _ (); call %rd1, (), P; ret; }\n";
	static const char aliased[] = HEADER
		".func f() { .reg .b64 %rd1; st.global.u32 [%rd1], 1; ret; }\n.func other();\n.alias other, f;\n"
		".visible .entry k() { call other; ret; }\n";
	struct gt_probe probe = probe_at(GT_POINT_STORE);
	char *out = instrument(text, &probe, 1);

	ck_assert_uint_eq(count_of(out, "call probe,"), 1);
	free(out);
	out = instrument(aliased, &probe, 1);
	ck_assert_uint_eq(count_of(out, "call probe,"), 1);
	free(out);
}
END_TEST

/* ---- written out instead of called ---- */

#define PARAMS(name) \
	"(.param .b64 " name "0, .param .b64 " name "1, .param .b64 " name "2, .param .b32 " name "3,\n" \
	" .param .b64 " name "4, .param .b64 " name "5, .param .b32 " name "6, .param .b32 " name "7)"

static char *weave_probe(const char *probe_text, uint32_t point, const char *kernel)
{
	struct gt_probe probe = probe_at(point);
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plan = { .kernel_id = 9, .probes = which, .probe_count = 1 };
	struct gt_ptx_error error = { .text = "" };
	struct gt_ptx *ptx = parse(kernel);
	size_t length;
	char *out = NULL;

	ck_assert_msg(!gt_ptx_instrument(ptx, probe_text, &probe, 1, &plan, &out, &length, &error), "%s", error.text);
	gt_ptx_free(ptx);
	return out;
}

START_TEST(short_probes_are_written_out)
{
	static const char text[] =
		"// before\n.visible .func probe" PARAMS("p") "\n{\n\t.reg .b64 %a<3>; .reg .b32 %r1; .reg .pred %p1;\n"
		"\tld.param.u64 %a1, [p5]; /* ret; */ ld.param.u32 %r1, [p7]; setp.eq.u32 %p1, %r1, 0;\n"
		"\t@%p1 ret; ld.param.b64 %a2, [p1];\n$L: red.global.add.u64 [%a2], %a1;\n\tret;\n}\n// after\n";
	char *out = weave_probe(text, GT_POINT_LOAD, KERNEL("ld.global.u32 %r1, [%rd1+8]; $L: ret;"));

	ck_assert_msg(strstr(out,
		"\tmov.u64 %__gt_a, %rd1;\n\tadd.s64 %__gt_a, %__gt_a, 8;\n"
		"\t{\n\t.reg .b64 %a<3>; .reg .b32 %r1; .reg .pred %p1;\n"
		"\tmov.b64 %a1, %__gt_a; /* ret; */ cvt.u32.u32 %r1, 1; setp.eq.u32 %p1, %r1, 0;\n"
		"\t@%p1 bra __gt_return; ld.param.b64 %a2, [__gt_launch+8];\n$L: red.global.add.u64 [%a2], %a1;\n"
		"\tbra __gt_return;\n\n__gt_return:\n\t}\n") != NULL, "%s", out);
	/* The function itself is gone, its surroundings are not; what it does not ask for is not worked out. */
	ck_assert_uint_eq(count_of(out, "probe"), 0);
	ck_assert_uint_eq(count_of(out, "// before\n\n// after\n"), 1);
	ck_assert_uint_eq(count_of(out, "%__gt_s,"), 1);	/* its declaration */
	free(out);
}
END_TEST

static const char *const kept[] = {
	/* a variable, a call, an exit, part of an argument, an argument's address, a guarded load */
	".func probe" PARAMS("p") " { .local .b32 x; ret; }",
	".func other() { ret; } .func probe" PARAMS("p") " { call other; ret; }",
	".func probe" PARAMS("p") " { exit; }",
	".func probe" PARAMS("p") " { .reg .b32 %r; ld.param.u32 %r, [p1]; ret; }",
	".func probe" PARAMS("p") " { .reg .b32 %r; ld.param.u32 %r, [p1+4]; ret; }",
	".func probe" PARAMS("p") " { .reg .b64 %r; mov.u64 %r, p1; ret; }",
	".func probe" PARAMS("p") " { .reg .pred %p; .reg .b64 %r; @%p ld.param.u64 %r, [p1]; ret; }",
	/* not a function of this kind, or not there at all */
	".func probe(.param .b64 a) { ret; }",
	".extern .func probe" PARAMS("p") ";",
	"",
	"not PTX",
};

START_TEST(other_probes_are_called)
{
	char *out = weave_probe(kept[_i], GT_POINT_ENTRY, KERNEL("ret;"));

	ck_assert_uint_eq(count_of(out, "call probe,"), 1);
	ck_assert_ptr_nonnull(strstr(out, kept[_i]));
	free(out);
}
END_TEST

START_TEST(long_probes_are_called_where_there_are_many_places)
{
	static const unsigned lengths[] = { 20, 24, 25, 60, 192, 193, 220 };
	char text[8192], *out;
	unsigned instructions, i, length;

	for (length = 0; length < sizeof(lengths) / sizeof(lengths[0]); length++) {
		instructions = lengths[length];
		strcpy(text, ".func probe" PARAMS("p") " { .reg .b32 %r;");
		for (i = 1; i < instructions; i++)
			strcat(text, " mov.b32 %r, 1;");
		strcat(text, " ret; }");
		out = weave_probe(text, GT_POINT_EXIT, KERNEL("ret;"));
		ck_assert_uint_eq(count_of(out, "call probe,"), instructions > 192);
		free(out);
		out = weave_probe(text, GT_POINT_STORE, KERNEL("st.u32 [%rd1], 1; ret;"));
		ck_assert_uint_eq(count_of(out, "call probe,"), instructions > 24);
		ck_assert_uint_eq(count_of(out, ".func probe"), instructions > 24);
		free(out);
	}
}
END_TEST

/* A thread's number in the grid, of one dimension, in eight instructions but for FIRST. */
#define PLACE(first) \
	".func probe" PARAMS("p") " { .reg .b32 %r<9>; .reg .b64 %a<3>;\n" first \
	" mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.s32 %r4, %r1, %r2, %r3; shl.b32 %r5, %r4, 1;\n" \
	" add.s32 %r6, %r5, -4; and.b32 %r7, %r6, 0xff; mul.lo.s32 %r8, %r7, 8;\n" \
	" ld.param.b64 %a1, [p1]; mul.wide.u32 %a2, %r8, 1; add.s64 %a1, %a1, %a2; red.global.add.u64 [%a1], 1; ret; }"

/* What is the same at all places is done at the kernel's entry, and all there is of it at the places is one register. */
START_TEST(numbers_are_worked_out_once)
{
	char *out = weave_probe(PLACE("mov.u32 %r1, %ctaid.x;"), GT_POINT_LOAD,
				KERNEL("ld.u32 %r1, [%rd1]; ld.u32 %r2, [%rd1+4]; ret;"));

	ck_assert_msg(strstr(out, "\n\t.reg .b32 %__gt_h0_0;\n\t{\n"
		"\t.reg .b32 %r1; mov.u32 %r1, %ctaid.x;\n\t.reg .b32 %r2; mov.u32 %r2, %ntid.x;\n") != NULL, "%s", out);
	ck_assert_msg(strstr(out, "\t.reg .b32 %r8; mul.lo.s32 %r8, %r7, 8;\n\tmov.b32 %__gt_h0_0, %r8;\n\t}\n") != NULL,
		      "%s", out);
	ck_assert_uint_eq(count_of(out, "mov.b32 %r8, %__gt_h0_0;"), 2);
	ck_assert_uint_eq(count_of(out, "mad.lo.s32"), 1);
	ck_assert_uint_eq(count_of(out, "%ctaid.x"), 1);
	free(out);
}
END_TEST

static const struct {
	const char *probe;
	uint32_t point;
} unmoved[] = {
	{ PLACE("mov.u32 %r1, %ctaid.x;"), GT_POINT_ENTRY },
	/* It may differ: from place to place, or as the thread moves. */
	{ PLACE("ld.param.u32 %r1, [p6];"), GT_POINT_LOAD },
	{ PLACE("mov.u32 %r1, %smid;"), GT_POINT_LOAD },
	{ PLACE("mov.u32 %r1, %ctaid.x; add.s32 %r1, %r1, 1;"), GT_POINT_LOAD },
	{ PLACE(".reg .pred %q; setp.eq.u32 %q, 1, 1; @%q mov.u32 %r1, %ctaid.x;"), GT_POINT_LOAD },
	{ PLACE("{ .reg .b32 %r8; } mov.u32 %r1, %ctaid.x;"), GT_POINT_LOAD },
	/* Too little for a register. */
	{ ".func probe" PARAMS("p") " { .reg .b32 %r1; .reg .b64 %a1; mov.u32 %r1, %tid.x; ld.param.b64 %a1, [p1];"
	  " st.global.u32 [%a1], %r1; ret; }", GT_POINT_LOAD },
};

START_TEST(the_rest_stays_at_its_places)
{
	char *out = weave_probe(unmoved[_i].probe, unmoved[_i].point, KERNEL("ld.u32 %r1, [%rd1]; ret;"));

	ck_assert_msg(!strstr(out, "__gt_h0"), "%s", out);
	ck_assert_uint_eq(count_of(out, "call probe"), 0);
	free(out);
}
END_TEST

/* A function does not see its kernel's registers. */
START_TEST(numbers_are_worked_out_in_functions)
{
	char *out = weave_probe(PLACE("mov.u32 %r1, %ctaid.x;"), GT_POINT_LOAD,
				HEADER ".func f(.param .b64 a) { .reg .b64 %rd; .reg .b32 %r; ld.param.b64 %rd, [a]; ld.u32 %r, [%rd]; ret; }\n"
				".entry k(.param .u64 x) { .reg .b64 %rd; ld.param.u64 %rd, [x];\n"
				"{ .param .b64 a; st.param.b64 [a], %rd; call f, (a); } ret; }\n");

	ck_assert_uint_eq(count_of(out, "mov.b32 %r8, %__gt_h0_0;"), 0);
	ck_assert_uint_eq(count_of(out, "mad.lo.s32"), 2);	/* where nobody needs it, and there */
	free(out);
}
END_TEST

/* Of the copy, and of the kernel beside it. */
START_TEST(registers_are_limited)
{
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plan = {
		.kernel_id = 1, .probes = which, .probe_count = 1, .copy = "k2", .max_registers = 40, .own_max_registers = 32,
	};
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out = weave_with(HEADER ".entry k() .maxntid 128 { ret; }", &probe, 1, &plan, 0, NULL);

	ck_assert_msg(strstr(out, ".entry k() .maxntid 128 .maxnreg 32\n{") != NULL, "%s", out);
	ck_assert_msg(strstr(strstr(out, ".entry k2"), " .maxntid 128 .maxnreg 40\n{") != NULL, "%s", out);
	free(out);
	out = weave_with(HEADER ".entry k() .maxnreg 64 { ret; }", &probe, 1, &plan, 0, NULL);
	ck_assert_uint_eq(count_of(out, ".maxnreg"), 2);	/* its own */
	free(out);
}
END_TEST

#define ADDS \
	".func probe" PARAMS("p") " { .reg .b64 %a<3>; .reg .pred %q; ld.param.b64 %a1, [p1]; ld.param.b64 %a2, [p5];\n" \
	" setp.ne.u64 %q, %a2, 0; @%q red.relaxed.gpu.global.add.u64 [%a1+8], %a2; atom.add.u64 %a2, [%a1], 1; ret; }"

/* An elected thread's atomic is at an address that differs from others' for all that is known. */
START_TEST(atomics_of_one_thread)
{
	struct gt_probe probe = probe_at(GT_POINT_LOAD);
	unsigned per;
	char *out;

	for (per = GT_PER_THREAD; per <= GT_PER_BLOCK; per++) {
		probe.granularity = per;
		out = instrument_with(KERNEL("ld.u32 %r1, [%rd1]; ret;"), ADDS, &probe, 1);
		ck_assert_msg((strstr(out, " add.s64 %__gt_l, %a1, %__gt_z0; @%q red.relaxed.gpu.global.add.u64 [%__gt_l+8], %a2;"
					   " atom.add.u64 %a2, [%a1], 1;") != NULL) == (per != GT_PER_THREAD), "%s", out);
		ck_assert_uint_eq(count_of(out, "\tcvt.u64.u32 %__gt_z0, %__gt_t;"), per != GT_PER_THREAD);
		free(out);
	}
	probe = probe_at(GT_POINT_EXIT);
	probe.granularity = GT_PER_WARP;
	out = instrument_with(KERNEL("ret;"), ADDS, &probe, 1);
	ck_assert_ptr_null(strstr(out, "__gt_z"));
	free(out);
}
END_TEST

/* ---- limits and malformed requests ---- */

START_TEST(parameter_limit)
{
	static const struct {
		const char *header;
		unsigned size;
		int result;
	} cases[] = {
		{ ".version 8.0\n.target sm_90", 4072, 0 },
		{ ".version 8.0\n.target sm_90", 4073, -E2BIG },
		{ ".version 8.1\n.target sm_60", 4073, -E2BIG },
		{ ".version 8.1\n.target sm_90", 4073, 0 },
		{ ".version 8.1\n.target sm_90", 32736, 0 },	/* 32,764 leaves 28 bytes, 4 of them by alignment */
		{ ".version 8.1\n.target sm_90", 32741, -E2BIG },
	};
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plan = { .kernel_id = 1, .probes = which, .probe_count = 1 };
	struct gt_ptx_error error;
	char text[256];
	unsigned i;

	for (i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), "%s\n.entry k(.param .b8 s[%u]) { ret; }", cases[i].header, cases[i].size);
		free(weave_with(text, &probe, 1, &plan, cases[i].result, &error));
	}
}
END_TEST

START_TEST(malformed_probes)
{
	static const unsigned which[] = { 0 }, beyond[] = { 1 };
	struct gt_ptx_plan plan = { .kernel_id = 1, .probes = which, .probe_count = 1 };
	struct gt_probe good = probe_at(GT_POINT_ENTRY), bad;
	struct gt_ptx_error error;

	bad = good;
	bad.link = 16;
	weave_with(KERNEL("ret;"), &bad, 1, &plan, -EINVAL, &error);
	bad = good;
	bad.point = 99;
	weave_with(KERNEL("ret;"), &bad, 1, &plan, -EINVAL, &error);
	bad = good;
	bad.function = "f; ret";
	weave_with(KERNEL("ret;"), &bad, 1, &plan, -EINVAL, &error);
	bad = good;
	bad.function = NULL;
	weave_with(KERNEL("ret;"), &bad, 1, &plan, -EINVAL, &error);
	plan.probes = beyond;
	weave_with(KERNEL("ret;"), &good, 1, &plan, -EINVAL, &error);
	ck_assert_int_eq(error.kernel, 0);
}
END_TEST

START_TEST(no_plan_changes_nothing)
{
	const struct gt_ptx_plan plan = { .kernel_id = 1, .probes = NULL, .probe_count = 0 };
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out = weave_with(KERNEL("@%p ret; /* */ ret;"), &probe, 1, &plan, 0, NULL);

	ck_assert_str_eq(out, KERNEL("@%p ret; /* */ ret;"));
	free(out);
}
END_TEST

/* Arrays in shared memory that fill whole 16 bytes, and those that the launch gives a size. */
static const struct {
	const char *said, *becomes;
} alignments[] = {
	{ ".shared .align 4 .b8 s[64];", ".shared .align 16 .b8 s[64];" },
	{ ".shared .align 4 .f32 s[2][2];", ".shared .align 16 .f32 s[2][2];" },
	{ ".shared .align 8 .v2 .f32 s[2];", ".shared .align 16 .v2 .f32 s[2];" },
	{ ".shared\t.align /* */ 0x2 .b8 s[0x10];", ".shared\t.align /* */ 16 .b8 s[0x10];" },
	{ ".shared .align 4 .b8 s[32], t[16];", ".shared .align 16 .b8 s[32], t[16];" },
	{ ".shared .align 4 .b32 s[2*8][4];", ".shared .align 16 .b32 s[2*8][4];" },
	{ ".shared .align 4 .b8 s[60];", NULL },
	{ ".shared .align 4 .b32 s;", NULL },
	{ ".shared .align 4 .b8 s[32], t[4];", NULL },
	{ ".shared .align 4 .b8 s[4*4];", NULL },	/* not worked out */
	{ ".shared .align 32 .b8 s[32];", NULL },
	{ ".shared .align 4 .v4 .b32 s[2];", NULL },	/* as it is of itself */
	{ ".shared .align 16 .b8 s[32];", NULL },
	{ ".shared .b8 s[32];", NULL },
	{ ".local .align 4 .b8 s[32];", NULL },
};

/* Within a kernel, and once more in its copy. */
START_TEST(shared_memory_is_aligned)
{
	const char *said = alignments[_i].said, *becomes = alignments[_i].becomes;
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char text[512], *out;

	snprintf(text, sizeof(text), HEADER ".entry k {%s ret; }", said);
	in_copies = 1;
	out = instrument(text, &probe, 1);
	in_copies = 0;
	ck_assert_msg(count_of(out, becomes ? becomes : said) == 2, "%s", out);
	free(out);
}
END_TEST

START_TEST(launched_shared_memory_is_aligned)
{
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char *out = instrument(HEADER ".extern .shared .align 4 .b8 d[];\n.global .align 4 .b8 g[16];\n.entry k { ret; }",
			       &probe, 1);

	ck_assert_ptr_nonnull(strstr(out, ".extern .shared .align 16 .b8 d[];\n.global .align 4 .b8 g[16];\n.entry k"));
	free(out);
}
END_TEST

START_TEST(target_and_features_are_kept)
{
	static const char header[] = "// x\n.version 8.5\n.target sm_90a, debug\n.address_size 64\n";
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	char text[256], *out;

	snprintf(text, sizeof(text), "%s.entry k { ret; }", header);
	out = instrument(text, &probe, 1);
	ck_assert_int_eq(strncmp(out, header, strlen(header)), 0);
	ck_assert_int_eq(strncmp(out + strlen(header) - 1, "\n\n.func probe", 13), 0);
	free(out);
}
END_TEST

#define LOOP(test, array) \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(array) / sizeof((array)[0])))

/* The kernel stays as it is, byte for byte; its copy has another name and all the rest. */
START_TEST(copies)
{
	static const char kernel[] = ".visible .entry k(.param .u32 a)\n.maxntid 64\n{ .reg .u32 %r; ld.param.u32 %r, [a]; L: ret; }";
	static const char header[] = ".version 8.0\n.target sm_75\n.address_size 64\n";
	struct gt_probe probe = probe_at(GT_POINT_ENTRY);
	static const unsigned which[] = { 0 };
	struct gt_ptx_plan plan = { .kernel_id = 1, .probes = which, .probe_count = 1, .copy = "k2" };
	struct gt_ptx_error error;
	struct gt_ptx *ptx;
	size_t length;
	char text[512], *out, *copy;

	snprintf(text, sizeof(text), "%s%s\n.global .u32 v;\n", header, kernel);
	ptx = parse(text);
	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, &plan, &out, &length, &error), 0);
	ck_assert_ptr_nonnull(strstr(out, kernel));
	copy = strstr(out, ".visible .entry k2(.param .u32 a,\n\t.param .align 8 .b8 __gt_launch[24]\n)\n.maxntid 64\n{");
	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(count_of(out, "ld.param.u32 %r, [a];"), 2);
	ck_assert_uint_eq(count_of(out, ".global .u32 v;"), 1);
	ck_assert_uint_eq(count_of(out, ".maxnreg"), 0);
	ck_assert(strstr(out, "call") > copy);
	free(out);
	/* Registers of the copy alone can be limited. */
	plan.max_registers = 40;
	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, &plan, &out, &length, &error), 0);
	ck_assert_ptr_nonnull(strstr(out, kernel));
	ck_assert_ptr_nonnull(strstr(out, "__gt_launch[24]\n)\n.maxntid 64\n.maxnreg 40\n{"));
	free(out);
	plan.probe_count = 0;
	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, &plan, &out, &length, &error), 0);
	ck_assert_ptr_null(strstr(out, "k2"));
	free(out);
	gt_ptx_free(ptx);
}
END_TEST

/* Copies call copies; what the kernels themselves call has no probes and no variable of ours. */
START_TEST(functions_of_copies)
{
	static const char text[] =
		".version 8.0\n.target sm_75\n.address_size 64\n"
		".func inner(.param .b64 a);\n"
		".func outer(.param .b64 a)\n{ .reg .b64 %a; ld.param.b64 %a, [a]; { .param .b64 p; st.param.b64 [p], %a; call inner, (p); } ret; }\n"
		".func inner(.param .b64 a)\n{ .reg .b64 %a; ld.param.b64 %a, [a]; st.global.u32 [%a], 1; ret; }\n"
		".func other()\n{ ret; }\n"
		".visible .entry k(.param .u64 a)\n{ .reg .b64 %a; ld.param.u64 %a, [a]; { .param .b64 p; st.param.b64 [p], %a; call outer, (p); } call other; ret; }\n"
		".visible .entry plain()\n{ call other; ret; }\n";
	struct gt_probe probe = probe_at(GT_POINT_STORE);
	static const unsigned which[] = { 0 };
	struct gt_ptx_plan plans[2] = { { .kernel_id = 1, .probes = which, .probe_count = 1, .copy = "k2" } };
	struct gt_ptx_error error;
	struct gt_ptx *ptx = parse(text), *again;
	char *out, *copy;
	size_t length;

	ck_assert_int_eq(gt_ptx_instrument(ptx, PROBE("probe"), &probe, 1, plans, &out, &length, &error), 0);
	for (const char *line = strstr(text, ".func inner"); *line; line = strchr(line, '\n') + 1) {
		char own[512] = "";

		memcpy(own, line, (size_t)(strchr(line, '\n') - line));
		ck_assert_msg(strstr(out, own) != NULL, "changed: %s", own);
	}
	ck_assert_uint_eq(count_of(out, ".func inner__gt_copy(.param .b64 a)"), 2);
	ck_assert_uint_eq(count_of(out, "call inner__gt_copy, (p);"), 1);
	ck_assert_uint_eq(count_of(out, "call outer__gt_copy, (p);"), 1);
	copy = strstr(out, ".visible .entry k2(");
	ck_assert_ptr_nonnull(copy);
	ck_assert_ptr_nonnull(strstr(copy, "call outer__gt_copy, (p);"));
	/* Called by the copy, so that it is one as well. */
	ck_assert_ptr_nonnull(strstr(copy, "call other__gt_copy;"));
	ck_assert_uint_eq(count_of(out, "st.shared.b64 [__gt_shared], 0;"), 0);
	ck_assert_int_eq(gt_ptx_parse(out, length, &again, &error), 0);
	gt_ptx_free(again);
	free(out);
	gt_ptx_free(ptx);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("weave");

	LOOP(where, places);
	LOOP(what_loads_are_told, accesses);
	LOOP(unreadable_operands, unreadable);
	tcase_add_test(tcase, copies);
	tcase_add_test(tcase, functions_of_copies);
	tcase_add_test(tcase, whole_output);
	tcase_add_test(tcase, predicates_guard);
	LOOP(granularity, elections);
	tcase_add_test(tcase, several_at_one_point);
	tcase_add_test(tcase, call_sequences_stay_whole);
	tcase_add_test(tcase, parameter_lists);
	tcase_add_test(tcase, parameters_address);
	tcase_add_test(tcase, exit_in_a_function);
	tcase_add_test(tcase, no_shared_memory_without_need);
	tcase_add_test(tcase, a_kernel_without_probes_switches_them_off);
	tcase_add_test(tcase, links_keep_kernels_apart);
	tcase_add_test(tcase, indirect_calls_reach_every_function);
	tcase_add_test(tcase, short_probes_are_written_out);
	LOOP(other_probes_are_called, kept);
	tcase_add_test(tcase, long_probes_are_called_where_there_are_many_places);
	tcase_add_test(tcase, parameter_limit);
	tcase_add_test(tcase, malformed_probes);
	tcase_add_test(tcase, no_plan_changes_nothing);
	tcase_add_test(tcase, registers_are_limited);
	tcase_add_test(tcase, atomics_of_one_thread);
	tcase_add_test(tcase, numbers_are_worked_out_once);
	tcase_add_loop_test(tcase, the_rest_stays_at_its_places, 0, (int)(sizeof(unmoved) / sizeof(unmoved[0])));
	tcase_add_test(tcase, numbers_are_worked_out_in_functions);
	tcase_add_loop_test(tcase, shared_memory_is_aligned, 0, (int)(sizeof(alignments) / sizeof(alignments[0])));
	tcase_add_test(tcase, launched_shared_memory_is_aligned);
	tcase_add_test(tcase, target_and_features_are_kept);
	return run_case("weave", tcase);
}
