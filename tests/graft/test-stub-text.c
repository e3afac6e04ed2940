/* SPDX-License-Identifier: Apache-2.0 */
/* The text that stubs are compiled from: probes one after the other, and nothing called. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/statement.h"
#include "lib/agent/instrument/text.h"
#include "tests/graft/stubs.h"
#include "tests/sim/plain.h"
#include "tests/suite.h"

START_TEST(attach_order)
{
	char why[GT_GRAFT_WHY] = "", *text, *kernel, *first, *second;

	for (unsigned i = 0; i < TEST_STUBS; i++) {
		if (strcmp(test_stubs[i].name, "entry-two"))
			continue;
		ck_assert_msg(!test_stub_text(&test_stubs[i], 90, &text, why), "%s", why);
		/* Called or taken in, first() is before second() in the kernel. */
		kernel = strstr(text, ".entry");
		first = strstr(kernel, strstr(kernel, "call first,") ? "call first," : "or.b64 %rd2, %rd2, 1;");
		second = strstr(kernel, strstr(kernel, "call second,") ? "call second," : "or.b64 %rd2, %rd2, 2;");
		ck_assert_ptr_nonnull(first);
		ck_assert_ptr_nonnull(second);
		ck_assert(first < second);
		/* Nothing of one kernel is left in the text. */
		ck_assert_ptr_null(strstr(text, "[__gt_launch+"));
		free(text);
	}
}
END_TEST

START_TEST(threads_are_alone_at_exit)
{
	static const struct gt_probe probe = { .point = GT_POINT_EXIT, .function = "ring", .kernel = "*" };
	char why[GT_GRAFT_WHY] = "", *text;
	unsigned which = 0;

	ck_assert_msg(!gt_graft_stub_text(test_probes, &probe, 1, &which, 1, GT_POINT_EXIT, GT_EXIT_ALONE, 90, &text, why), "%s", why);
	ck_assert_ptr_null(strstr(text, "activemask"));
	ck_assert_ptr_null(strstr(text, "shfl"));
	ck_assert_ptr_nonnull(strstr(text, "mov.b32 %r1, %lanemask_eq;"));
	ck_assert_ptr_nonnull(strstr(text, "mov.b32 %r8, %r7;"));
	free(text);
}
END_TEST

/* What programs at accesses are told comes from below the kernel's stack, not from the text. */
START_TEST(accesses_are_told)
{
	static const char own[] = ".func told_load(.param .b64 told_load_0) { .reg .b32 %r; mov.u32 %r, %lanemask_le; }";
	char why[GT_GRAFT_WHY] = "", *text, *kernel;
	unsigned which = 0;

	for (unsigned i = 0; i < TEST_ACCESSES; i++) {
		ck_assert_msg(!test_stub_text(&test_accesses[i], 90, &text, why), "%s: %s", test_accesses[i].name, why);
		kernel = strstr(text, ".entry");
		ck_assert_ptr_null(strstr(kernel, "call"));
		if (strstr(test_accesses[i].functions[0], "told")) {
			ck_assert_ptr_nonnull(strstr(kernel, "ld.local.u32 %__gt_low, [%__gt_stack+-32];"));
			ck_assert_ptr_nonnull(strstr(kernel, "mov.b64 %rd2, %__gt_address; cvt.u32.u32 %r1, %__gt_bytes; "
							     "cvt.u32.u32 %r2, %__gt_space;"));
		}
		free(text);
	}
	ck_assert_int_eq(gt_graft_stub_text(own, &(struct gt_probe){ .point = GT_POINT_LOAD, .function = "told_load", .kernel = "*" }, 1,
					    &which, 1, GT_POINT_LOAD, 0, 90, &text, why), -EINVAL);
	ck_assert_str_eq(why, "the probes use names or special registers that stubs need");
}
END_TEST

/* The driver's linker leaves functions that are called in sections of their own. */
START_TEST(nothing_is_called)
{
	char why[GT_GRAFT_WHY] = "", *text, *kernel;

	ck_assert_msg(!test_stub_text(&test_stubs[_i], 90, &text, why), "%s", why);
	kernel = strstr(text, ".entry");
	ck_assert_ptr_nonnull(kernel);
	ck_assert_ptr_null(strstr(kernel, "call "));
	free(text);
}
END_TEST

/* Words of the hidden parameter, one or two by the statement's own type, whatever text comes behind it. */
START_TEST(hidden_parameter)
{
	static const struct { const char *text, *written; } loads[] = {
		{ "ld.param.b32 %r1, [__gt_launch+4];", "ld.const.u32 %r1, [%__gt_m+4736];" },
		{ "ld.param.b32 %r1, [__gt_launch+4]; mov.b64 %rd1, 0;", "ld.const.u32 %r1, [%__gt_m+4736];" },
		{ "ld.param.b64 %rd1, [__gt_launch+8];", "{ .reg .b32 %__gt_y, %__gt_z; ld.const.u32 %__gt_y, [%__gt_m+4800]; "
		  "ld.const.u32 %__gt_z, [%__gt_m+4864]; mov.b64 %rd1, {%__gt_y, %__gt_z}; }" },
	};
	const char *text = loads[_i].text;
	struct ptx_text out = { 0 };

	ck_assert_ptr_eq(gt_stub_statement(&out, text, text + strlen(text), GT_EXIT_NONE, true), strchr(text, ';') + 1);
	ck_assert_str_eq(out.data, loads[_i].written);
	gt_text_free(&out);
}
END_TEST

/* The block's and the grid's numbers and the multiprocessor, 64 bytes apart from 4096 on; other registers are read as they are. */
START_TEST(special_registers)
{
	static const struct { const char *name; unsigned at; } registers[] = {
		{ "%ntid.x", 4096 }, { "%ntid.y", 4160 }, { "%ntid.z", 4224 }, { "%nctaid.x", 4288 }, { "%nctaid.y", 4352 },
		{ "%nctaid.z", 4416 }, { "%ctaid.x", 4480 }, { "%ctaid.y", 4544 }, { "%ctaid.z", 4608 }, { "%smid", 5120 },
		{ "%tid.x", 0 }, { "%nsmid", 0 }, { "%ctaid", 0 }, { "%ctaid.w", 0 },
	};
	char text[64], written[64];

	for (unsigned i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
		struct ptx_text out = { 0 };

		snprintf(text, sizeof(text), "mov.u32 %%r1, %s;", registers[i].name);
		snprintf(written, sizeof(written), "ld.const.u32 %%r1, [%%__gt_m+%u];", registers[i].at);
		ck_assert_ptr_eq(gt_stub_statement(&out, text, text + strlen(text), GT_EXIT_NONE, true),
				 registers[i].at ? strchr(text, ';') + 1 : NULL);
		if (registers[i].at)
			ck_assert_str_eq(out.data, written);
		gt_text_free(&out);
	}
}
END_TEST

/* What would become several instructions stays as it is under a predicate. */
START_TEST(predicated_statements_stay)
{
	static const struct gt_probe probe = { .point = GT_POINT_EXIT, .function = "p", .kernel = "*" };
	static const char probe_text[] =
		PROBE("p", "\tmov.u32 %r1, %ctaid.x; setp.eq.u32 %p1, %r1, 3;\n"
			   "\t@%p1 mov.u32 %r2, %ctaid.y;\n\t@!%p1 add.u64 %rd2, %rd1, 0x123456789a;\n"
			   "\tadd.u64 %rd2, %rd2, 0x123456789b; st.global.u32 [%rd2], %r2;\n");
	char why[GT_GRAFT_WHY] = "", *text;
	unsigned which = 0;

	ck_assert_msg(!gt_graft_stub_text(probe_text, &probe, 1, &which, 1, GT_POINT_EXIT, GT_EXIT_TOGETHER, 90, &text, why), "%s", why);
	ck_assert_ptr_nonnull(strstr(text, "@%p1 mov.u32 %r2, %ctaid.y;"));
	ck_assert_ptr_nonnull(strstr(text, "@!%p1 add.u64 %rd2, %rd1, 0x123456789a;"));
	ck_assert_ptr_null(strstr(text, "%ctaid.x"));
	ck_assert_ptr_null(strstr(text, "add.u64 %rd2, %rd2, 0x123456789b"));
	free(text);
}
END_TEST

#define CALLED(name, body) ".func (.param .b64 func_retval0) " name "(\n\t.param .b64 " name "_param_0\n)\n{\n" \
	"\t.reg .b64 %rd<4>;\n\tld.param.u64 %rd1, [" name "_param_0];\n" body \
	"\tst.param.b64 [func_retval0], %rd1;\n\tret;\n}\n"
#define CALL(name) "\t{\n\t.param .b64 param0;\n\tst.param.b64 [param0], %rd1;\n\t.param .b64 retval0;\n" \
	"\tcall.uni (retval0),\n\t" name ",\n\t(\n\tparam0\n\t);\n\tld.param.b64 %rd2, [retval0];\n\t}\n"

static int stub_of(const char *probe_text, char **ret_text, char why[GT_GRAFT_WHY])
{
	static const struct gt_probe probe = { .point = GT_POINT_ENTRY, .function = "p", .kernel = "*" };
	unsigned which = 0;

	why[0] = '\0';
	return gt_graft_stub_text(probe_text, &probe, 1, &which, 1, GT_POINT_ENTRY, 0, 90, ret_text, why);
}

static unsigned count_in(const char *text, const char *word)
{
	unsigned count = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		count++;
	return count;
}

/* A function that is called twice is there twice, with labels and arguments of each call. */
START_TEST(calls_are_written_out)
{
	char why[GT_GRAFT_WHY], *text;

	ck_assert_msg(!stub_of(CALLED("f", "\tsetp.eq.u64 %p1, %rd1, 0;\n\t@%p1 bra $L__BB0_1;\n\t@%p1 ret;\n$L__BB0_1:\n")
			       PROBE("p", CALL("f") CALL("f") "\tst.global.u64 [%rd1], %rd2;\n"), &text, why), "%s", why);
	ck_assert_ptr_null(strstr(text, ".func"));
	ck_assert_ptr_null(strstr(text, "call"));
	ck_assert_uint_eq(count_in(text, "$L__1BB0_1:\n"), 1);
	ck_assert_uint_eq(count_in(text, "$L__2BB0_1:\n"), 1);
	ck_assert_uint_eq(count_in(text, "\tmov.b64 __gt_a2_0, %rd1;\n"), 1);
	ck_assert_uint_eq(count_in(text, "\tmov.b64 %rd2, __gt_r2;\n"), 1);
	ck_assert_uint_eq(count_in(text, "\t@%p1 bra __gt_end2;\n"), 1);
	ck_assert_uint_eq(count_in(text, "__gt_end1:\n"), 1);
	free(text);
}
END_TEST

static const struct {
	const char *text, *why;
} odd_texts[] = {
	/* What calls itself, directly and not, and what no function of the text is. */
	{ CALLED("f", CALL("f")) PROBE("p", CALL("f")), "too deeply" },
	{ CALLED("f", CALL("g")) CALLED("g", CALL("f")) PROBE("p", CALL("f")), "too deeply" },
	{ PROBE("p", CALL("p")), "too deeply" },
	{ PROBE("p", CALL("unknown")), "not known" },
	/* Calls through a register, on a condition, without braces; other labels; arrays as arguments. */
	{ PROBE("p", CALL("%rd3")), "not known" },
	{ CALLED("f", "") PROBE("p", "\t{\n\t@%p1 call f, (%rd1);\n\t}\n"), "not known" },
	{ CALLED("f", "") PROBE("p", "\tcall f, (%rd1);\n"), "not known" },
	{ CALLED("f", "again:\n") PROBE("p", CALL("f")), "not known" },
	{ CALLED("f", "") PROBE("p", "\t{\n\t.param .align 8 .b8 param0[16];\n\tcall f, (param0);\n\t}\n"), "not known" },
	/* Functions without an end. */
	{ ".func f()\n" PROBE("p", CALL("f")), "not known" },
	{ ".func p() { ret; }\n", "not known" },
	{ CALLED("f", "") ".func p()\n{\n\tret;\n", "not known" },
};

START_TEST(odd_texts_refused)
{
	char why[GT_GRAFT_WHY], *text;

	ck_assert_int_eq(stub_of(odd_texts[_i].text, &text, why), -EINVAL);
	ck_assert_msg(strstr(why, odd_texts[_i].why) != NULL, "%s", why);
}
END_TEST

/* Ten calls of what makes ten calls, and so on: as text it would be without bounds. */
START_TEST(long_texts_refused)
{
	struct ptx_text all = { 0 };
	char why[GT_GRAFT_WHY], *text;

	gt_text_puts(&all, CALLED("f0", ""));
	for (char level = '1'; level < '9'; level++) {
		gt_text_printf(&all, ".func f%c()\n{\n\t.reg .b64 %%rd<4>;\n", level);
		for (unsigned i = 0; i < 10; i++)
			gt_text_printf(&all, "\t{\n\tcall f%c;\n\t}\n", level - 1);
		gt_text_puts(&all, "\tret;\n}\n");
	}
	gt_text_puts(&all, PROBE("p", "\t{\n\tcall f8;\n\t}\n"));
	ck_assert_int_eq(stub_of(all.data, &text, why), -EINVAL);
	ck_assert_msg(strstr(why, "too long") != NULL, "%s", why);
	gt_text_free(&all);
}
END_TEST

START_TEST(texts_refused)
{
	static const struct gt_probe probe = { .point = GT_POINT_BLOCK, .function = "ring", .kernel = "*" };
	static const struct gt_probe entry = { .point = GT_POINT_ENTRY, .function = "p", .kernel = "*" };
	char why[GT_GRAFT_WHY], *text = NULL;
	unsigned which = 0;

	ck_assert_int_eq(gt_graft_stub_text(test_probes, &probe, 1, &which, 1, GT_POINT_BLOCK, 0, 90, &text, why), -EINVAL);
	ck_assert_int_eq(gt_graft_stub_text(test_probes, &probe, 1, &which, 1, GT_POINT_ENTRY, 0, 90, &text, why), -EINVAL);
	ck_assert_int_eq(gt_graft_stub_text(test_probes, &entry, 1, &which, 0, GT_POINT_ENTRY, 0, 90, &text, why), -EINVAL);
	ck_assert_int_eq(gt_graft_stub_text(".func p() { .reg .b32 %r; mov.u32 %r, %lanemask_gt; }", &entry, 1, &which,
					    1, GT_POINT_ENTRY, 0, 90, &text, why), -EINVAL);
	ck_assert_ptr_null(text);
}
END_TEST

/* In the last form numbers and the stack's address are others in every thread, as far as compilers see. */
START_TEST(opaque_constants)
{
	static const struct {
		const char *statement, *result;
	} cases[] = {
		{ "mov.u64 \t%SPL, __local_depot1;", "mov.b64 %SPL, __local_depot1; add.s64 %SPL, %SPL, %__gt_c; }" },
		{ "mov.b32 %r1, -5;", "mov.b32 %r1, -5; add.s32 %r1, %r1, %__gt_y; }" },
		{ "mov.u64 %rd1, %rd2;", NULL }, { "mov.u32 %r1, %laneid;", NULL }, { "mov.pred %p1, %p2;", NULL },
	};

	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *text = cases[i].statement, *end = text + strlen(text), *expected = cases[i].result;
		struct ptx_text out = { 0 };

		ck_assert_ptr_null(gt_stub_statement(&out, text, end, GT_EXIT_ALONE, true));
		ck_assert_ptr_eq(gt_stub_statement(&out, text, end, GT_EXIT_OPAQUE, true), expected ? end : NULL);
		ck_assert(expected ? strstr(out.data, expected) != NULL : !out.data);
		gt_text_free(&out);
	}
}
END_TEST

/* ---- divisions, run by the software device ---- */

static const uint64_t dividends[] = {
	0, 1, 2, 3, 7, 10, 0x7fffffff, 0xffffffff, 0x100000000, 1764460800000000000, INT64_MAX, (uint64_t)INT64_MIN,
	(uint64_t)INT64_MIN + 1, UINT64_MAX - 1, UINT64_MAX,
};
#define NUMBERS (sizeof(dividends) / sizeof(dividends[0]))

static uint64_t divide(unsigned how, uint64_t a, uint64_t b)
{
	bool overflows = a == (uint64_t)INT64_MIN && b == UINT64_MAX;	/* in C; on the GPU it wraps */

	switch (how) {
	case 0:
		return a / b;
	case 1:
		return a % b;
	case 2:
		return overflows ? a : (uint64_t)((int64_t)a / (int64_t)b);
	default:
		return overflows ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
	}
}

/* One kernel, with the statement as it stands in a stub, for a pair of numbers in memory. */
static void write_kernel(struct ptx_text *text, const char *opcode)
{
	char statement[64];
	const char *end;

	snprintf(statement, sizeof(statement), "%s %%q, %%a, %%b;", opcode);
	gt_text_puts(text, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry divide(.param .b64 p)\n{\n"
		     "\t.reg .b64 %p, %a, %b, %q;\n\tld.param.b64 %p, [p]; ld.global.b64 %a, [%p]; ld.global.b64 %b, [%p+8];\n\t");
	end = gt_stub_statement(text, statement, statement + strlen(statement), GT_EXIT_NONE, true);
	ck_assert_ptr_nonnull(end);
	ck_assert_str_eq(end, "");
	gt_text_puts(text, "\n\tst.global.b64 [%p+16], %q;\n\tret;\n}\n");
	ck_assert_ptr_null(strstr(text->data, opcode));
}

START_TEST(divisions)
{
	static const char *const opcodes[] = { "div.u64", "rem.u64", "div.s64", "rem.s64" };
	struct sim_device device = plain_device();
	uint64_t numbers[3], address = (uintptr_t)numbers;
	struct sim_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .grid_id = 1, .params = &address };
	struct ptx_text text = { 0 };
	struct sim_module *module;
	struct sim_error error;

	write_kernel(&text, opcodes[_i]);
	ck_assert_msg(!sim_module_load(&device, text.data, strlen(text.data), &module, &error), "%s", error.text);
	for (unsigned i = 0; i < NUMBERS * NUMBERS; i++) {
		numbers[0] = dividends[i / NUMBERS];
		numbers[1] = dividends[i % NUMBERS];
		if (!numbers[1])
			continue;	/* the program asks first */
		ck_assert_msg(!sim_kernel_run(sim_module_find_kernel(module, "divide"), &launch, &error), "%s", error.text);
		ck_assert_msg(numbers[2] == divide(_i, numbers[0], numbers[1]), "%s %#" PRIx64 ", %#" PRIx64 ": %#" PRIx64, opcodes[_i],
			      numbers[0], numbers[1], numbers[2]);
	}
	sim_module_unload(module);
	gt_text_free(&text);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stub-text");

	tcase_add_test(tcase, attach_order);
	tcase_add_test(tcase, threads_are_alone_at_exit);
	tcase_add_test(tcase, accesses_are_told);
	tcase_add_loop_test(tcase, nothing_is_called, 0, TEST_STUBS);
	tcase_add_loop_test(tcase, hidden_parameter, 0, 3);
	tcase_add_test(tcase, special_registers);
	tcase_add_test(tcase, predicated_statements_stay);
	tcase_add_test(tcase, calls_are_written_out);
	tcase_add_loop_test(tcase, odd_texts_refused, 0, sizeof(odd_texts) / sizeof(odd_texts[0]));
	tcase_add_test(tcase, long_texts_refused);
	tcase_add_test(tcase, texts_refused);
	tcase_add_test(tcase, opaque_constants);
	tcase_add_loop_test(tcase, divisions, 0, 4);
	return run_case("stub-text", tcase);
}
