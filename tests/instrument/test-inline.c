/* SPDX-License-Identifier: Apache-2.0 */
/* Probes that are written out instead of called, and what of them is worked out once. */
#include "tests/instrument/common.h"

#define PARAMS(name) \
	"(.param .b64 " name "0, .param .b64 " name "1, .param .b64 " name "2, .param .b32 " name "3,\n" \
	" .param .b64 " name "4, .param .b64 " name "5, .param .b32 " name "6, .param .b32 " name "7)"

static char *weave(const char *probe_text, const struct gt_probe *probe, const char *kernel, bool stub)
{
	static const unsigned which[] = { 0 };
	const struct gt_ptx_plan plan = { .kernel_id = 9, .probes = which, .probe_count = 1 };
	struct gt_ptx_error error = { .text = "" };
	struct gt_ptx *ptx = parse(kernel);
	size_t length;
	char *out = NULL;

	if (stub)
		gt_ptx_write_out(ptx);
	ck_assert_msg(!gt_ptx_instrument(ptx, probe_text, probe, 1, &plan, &out, &length, &error), "%s", error.text);
	gt_ptx_free(ptx);
	return out;
}

static char *weave_probe(const char *probe_text, uint32_t point, const char *kernel)
{
	struct gt_probe probe = probe_at(point);

	return weave(probe_text, &probe, kernel, false);
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

#define STAMP \
	".func probe" PARAMS("p") " { .reg .b32 %r<4>; .reg .b64 %a<5>;\n" \
	" ld.param.b64 %a1, [p1]; mov.u64 %a2, %globaltimer; ld.param.u32 %r1, [p3]; mov.u32 %r2, %ctaid.x;\n" \
	" mov.u32 %r3, %r2; add.u32 %r3, %r3, %r1; mul.wide.u32 %a3, %r2, 8; add.s64 %a4, %a1, %a3;\n" \
	" st.global.u64 [%a4], %a2; ret; }"

/* All threads ask for what is the same whenever it is asked for; then one goes on.  Not the blocks' in stubs. */
START_TEST(an_elected_thread_has_its_numbers)
{
	static const char ahead[] =
		"\t{ .reg .b32 %r<4>; .reg .b64 %a<5>;\n ld.param.b64 %a1, [__gt_launch+8];\n\tcvt.u32.u32 %r1, 9;\n"
		"\tmov.u32 %r2, %ctaid.x;\n\tmul.wide.u32 %a3, %r2, 8;\n\tadd.s64 %a4, %a1, %a3;\n\t\tmov.u32 %__gt_t, ";
	struct gt_probe probe = probe_at(GT_POINT_EXIT);
	bool stub = _i;

	for (unsigned per = GT_PER_THREAD; per <= GT_PER_BLOCK; per++) {
		const char *election;
		char *out;

		probe.granularity = per;
		out = weave(STAMP, &probe, KERNEL("ret;"), stub);
		ck_assert_msg((strstr(out, ahead) != NULL) == (per == GT_PER_WARP || (per == GT_PER_BLOCK && !stub)), "%s", out);
		election = strstr(out, "bra __gt_next;");
		ck_assert_ptr_nonnull(election);
		ck_assert_uint_eq(count_of(election, "%globaltimer"), 1);
		ck_assert_uint_eq(count_of(election, "add.u32 %r3, %r3, %r1;"), 1);
		ck_assert_uint_eq(count_of(election, "st.global.u64 [%a4], %a2;"), 1);
		ck_assert_uint_eq(count_of(out, "%ctaid.x"), 1);
		ck_assert_uint_eq(count_of(out, "add.s64 %a4, %a1, %a3;"), 1);
		ck_assert_uint_eq(count_of(out, "call probe"), 0);
		free(out);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("inline");

	tcase_add_test(tcase, short_probes_are_written_out);
	LOOP(other_probes_are_called, kept);
	tcase_add_test(tcase, long_probes_are_called_where_there_are_many_places);
	tcase_add_test(tcase, atomics_of_one_thread);
	tcase_add_test(tcase, numbers_are_worked_out_once);
	LOOP(the_rest_stays_at_its_places, unmoved);
	tcase_add_test(tcase, numbers_are_worked_out_in_functions);
	tcase_add_loop_test(tcase, an_elected_thread_has_its_numbers, 0, 2);
	return run_case("inline", tcase);
}
