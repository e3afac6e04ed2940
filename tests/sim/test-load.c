/* SPDX-License-Identifier: Apache-2.0 */
/* Text that the PTX machine takes, what it says of it, and text that it refuses. */
#include <check.h>
#include <string.h>

#include "common.h"
#include "tests/suite.h"

START_TEST(test_info)
{
	const struct sim_kernel_info *info;
	uint64_t addr, size;

	load_ok(".global .align 8 .u32 table[3] = {1, 2, 3};\n.const .f64 half = 0.5;\n"
		".global .u64 here = table + 4;\n.global .align 1 .b8 text[] = {104, 105, 0};\n"
		".shared .align 4 .b8 used[100];\n.shared .align 4 .b8 unused[1000];\n"
		".entry first(.param .u8 a, .param .align 8 .b8 s[12], .param .u16 b, .param .u64 c) {\n"
		".local .align 8 .b8 depot[40]; .reg .b32 %r; .reg .b64 %l; mov.u32 %r, used; mov.u64 %l, depot; ret; }\n"
		".entry second() { ret; }");
	info = sim_kernel_info(sim_module_kernel(module, 0));
	ck_assert_str_eq(info->name, "first");
	ck_assert_uint_eq(info->param_count, 4);
	ck_assert_uint_eq(info->params[1].offset, 8);
	ck_assert_uint_eq(info->params[1].size, 12);
	ck_assert_uint_eq(info->params[2].offset, 20);
	ck_assert_uint_eq(info->params[3].offset, 24);
	ck_assert_uint_eq(info->param_bytes, 32);
	ck_assert_uint_eq(info->static_shared, 100);
	ck_assert_uint_ge(info->local_bytes, 40);
	ck_assert_uint_eq(info->ptx_version, 80);
	ck_assert_uint_eq(sim_kernel_info(sim_module_find_kernel(module, "second"))->static_shared, 0);
	ck_assert_ptr_null(sim_module_kernel(module, 2));
	ck_assert_ptr_null(sim_module_find_kernel(module, "third"));
	ck_assert_int_eq(sim_module_find_variable(module, "table", &addr, &size), 0);
	ck_assert_uint_eq(size, 12);
	ck_assert_uint_eq(((uint32_t *)(uintptr_t)addr)[2], 3);
	ck_assert_int_eq(sim_module_find_variable(module, "here", &size, &size), 0);
	ck_assert_int_eq(sim_module_find_variable(module, "text", &addr, &size), 0);
	ck_assert_uint_eq(size, 3);
	ck_assert_str_eq((char *)(uintptr_t)addr, "hi");
	ck_assert_int_eq(sim_module_find_variable(module, "used", &addr, &size), -1);
}
END_TEST

START_TEST(test_syntax_errors)
{
	load_fails(".entry k() {\n add.s32 %r1, %r2, %r3;\n}", SIM_ERROR_SYNTAX, 5, "'%r1' is not declared");
	load_fails(".entry k() { .reg .b32 %r<4>;\n\n bogus.u32 %r1, %r2;\n}", SIM_ERROR_SYNTAX, 6, "bogus");
	load_fails(".entry k() { .reg .b32 %r<4>;\n add.u32 %r1, %r2;\n}", SIM_ERROR_SYNTAX, 5, "operands");
	load_fails(".entry k() { .reg .b32 %r<4>;\n add.f32 %r1, %r2, 1.0;\n add.u64 %r1, %r2, %r3; }",
		   SIM_ERROR_SYNTAX, 6, "does not fit");
	load_fails(".entry k() { .reg .f32 %f<4>;\n add.u32 %f1, %f2, %f3;\n}", SIM_ERROR_SYNTAX, 5, "does not fit");
	load_fails(".entry k() { .reg .b32 %r<4>;\n add.wrong.u32 %r1, %r2, %r3;\n}", SIM_ERROR_SYNTAX, 5, "wrong");
	load_fails(".entry k() {\n bra NOWHERE;\n}", SIM_ERROR_SYNTAX, 5, "NOWHERE");
	load_fails(".entry k() {\n { L: }\n bra L;\n}", SIM_ERROR_SYNTAX, 6, "'L'");
	load_fails(".entry k() { .reg .b32 %r<4>;\n.reg .b64 %r<4>;\n}", SIM_ERROR_SYNTAX, 5, "already");
	load_fails(".entry k() {\n\n", SIM_ERROR_SYNTAX, 4, "never closed");
	load_fails(".entry k() { ret }", SIM_ERROR_SYNTAX, 4, "';'");
	load_fails(".global .u32 x[2] = {1, 2,\n 3};", SIM_ERROR_SYNTAX, 5, "more initialisers");
	load_fails("/* open", SIM_ERROR_SYNTAX, 4, "comment");
	load_fails(".global .u32 x = 1 / 0;", SIM_ERROR_SYNTAX, 4, "zero");
	load_fails(".entry k(.param .u32 a) { .reg .b64 %r<4>;\n ld.param.u64 %r1, [a];\n}", SIM_ERROR_SYNTAX, 5,
		   "outside parameter");
	load_fails(".func f(.param .u32 a);\n.func f(.param .u64 a) { ret; }", SIM_ERROR_SYNTAX, 5, "otherwise");
	ck_assert_int_eq(sim_module_load(&device.dev, "", 0, &module, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_SYNTAX);
	ck_assert_uint_eq(err.line, 1);
}
END_TEST

START_TEST(test_other_load_errors)
{
	static const char newer[] = ".version 8.6\n.target sm_100\n", only[] = ".version 8.0\n.target sm_80a\n";

	load_fails(".entry k() { .reg .b64 %r<4>;\n wgmma.fence.sync.aligned;\n}", SIM_ERROR_UNSUPPORTED, 5,
		   "wgmma");
	load_fails(".entry k() { .reg .b32 %r<9>;\n tex.1d.v4.s32.s32 {%r1,%r2,%r3,%r4}, [%r5, {%r6}];\n}",
		   SIM_ERROR_UNSUPPORTED, 5, "'tex'");
	load_fails(".func (.param .b32 r) g();\n.entry k() { .param .b32 x;\n call (x), g;\n}", SIM_ERROR_UNRESOLVED, 6,
		   "'g'");
	load_fails(".extern .global .u32 there;\n.entry k() { .reg .b32 %r;\n ld.global.u32 %r, [there];\n}",
		   SIM_ERROR_UNRESOLVED, 6, "'there'");
	ck_assert_int_eq(sim_module_load(&device.dev, newer, sizeof(newer), &module, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_UNSUPPORTED);
	ck_assert_uint_eq(err.line, 2);
	ck_assert_int_eq(sim_module_load(&device.dev, only, sizeof(only), &module, &err), -1);
	ck_assert_int_eq(err.kind, SIM_ERROR_UNSUPPORTED);
	/* a failed load leaves nothing allocated */
	ck_assert_uint_eq(device.allocated, 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("load");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, test_info);
	tcase_add_test(tcase, test_syntax_errors);
	tcase_add_test(tcase, test_other_load_errors);
	return run_case("sim-load", tcase);
}
