/* SPDX-License-Identifier: Apache-2.0 */
/* What stands at a place, and what a kernel gets for it; limits and malformed requests. */
#include <errno.h>

#include "tests/instrument/common.h"

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

int main(void)
{
	TCase *tcase = tcase_create("weave");

	tcase_add_test(tcase, whole_output);
	tcase_add_test(tcase, predicates_guard);
	LOOP(granularity, elections);
	tcase_add_test(tcase, several_at_one_point);
	tcase_add_test(tcase, call_sequences_stay_whole);
	tcase_add_test(tcase, parameter_lists);
	tcase_add_test(tcase, parameters_address);
	tcase_add_test(tcase, parameter_limit);
	tcase_add_test(tcase, malformed_probes);
	tcase_add_test(tcase, no_plan_changes_nothing);
	return run_case("weave", tcase);
}
