/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that kernels call, and copies of kernels. */
#include <errno.h>

#include "tests/instrument/common.h"

#define FUNCTIONS HEADER \
	".func leaf() { @%p exit; ret; }\n" \
	".func middle(.param .b64 a) { .reg .pred %p; .reg .b64 %rd1; call leaf; st.global.u32 [%rd1], 1; ret; }\n" \
	".func unused() { exit; }\n" \
	".visible .entry caller() { .param .b64 a; call middle, (a); ret; }\n" \
	".visible .entry plain() { ret; }\n"

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

/* Entry, exit, stores, loads, branches and blocks, by bit, of each kernel and of what it may call. */
START_TEST(places_of_programs)
{
	static const char text[] = HEADER
		".func leaf() { @%p exit; ret; }\n"
		".func stores() { .reg .b64 %rd1; st.global.u32 [%rd1], 1; ret; }\n"
		".func loads() { .reg .b64 %rd1; .reg .u32 %r1; ld.global.u32 %r1, [%rd1]; ret; }\n"
		".visible .entry caller() { call stores; call leaf; ret; }\n"
		".visible .entry plain() { ret; }\n"
		".visible .entry endless() { L: call leaf; bra L; }\n"
		".visible .entry caught() { L: call stores; bra L; }\n"
		".visible .entry falls() { .reg .u32 %r1; add.u32 %r1, %r1, 1; }\n"
		".visible .entry left() { call loads; ret; }\n"
		".visible .entry loader() { call loads; ret; }\n";
	static const unsigned which[] = { 0, 1, 2, 3, 4, 5 };
	static const uint64_t expected[] = { 1 | 2 | 4 | 32, 1 | 2 | 32, 1 | 2 | 16 | 32, 1 | 4 | 16 | 32, 1 | 2 | 32, 0, 8 };
	const struct gt_ptx_plan all = { .probes = which, .probe_count = 6 }, loads = { .probes = which + 3, .probe_count = 1 };
	const struct gt_ptx_plan plans[] = { all, all, all, all, all, { 0 }, loads };
	struct gt_probe probes[] = {
		probe_at(GT_POINT_ENTRY), probe_at(GT_POINT_EXIT), probe_at(GT_POINT_STORE), probe_at(GT_POINT_LOAD),
		probe_at(GT_POINT_INST), probe_at(GT_POINT_BLOCK),
	};
	struct gt_ptx *ptx = parse(text);
	uint64_t places[7];

	probes[4].opcode = "bra*";
	ck_assert_uint_eq(gt_ptx_kernel_count(ptx), 7);
	ck_assert_int_eq(gt_ptx_places(ptx, probes, 6, plans, places), 0);
	for (unsigned k = 0; k < 7; k++)
		ck_assert_msg(places[k] == expected[k], "%s: %#llx", gt_ptx_kernel(ptx, k)->name, (unsigned long long)places[k]);
	gt_ptx_free(ptx);
}
END_TEST

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
	TCase *tcase = tcase_create("functions");

	tcase_add_test(tcase, copies);
	tcase_add_test(tcase, functions_of_copies);
	tcase_add_test(tcase, exit_in_a_function);
	tcase_add_test(tcase, no_shared_memory_without_need);
	tcase_add_test(tcase, a_kernel_without_probes_switches_them_off);
	tcase_add_test(tcase, links_keep_kernels_apart);
	tcase_add_test(tcase, indirect_calls_reach_every_function);
	tcase_add_test(tcase, places_of_programs);
	return run_case("functions", tcase);
}
