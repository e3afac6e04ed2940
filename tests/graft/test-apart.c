/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels can run from a second module of the same code: in machine code and in PTX alike. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/graft.h"
#include "lib/agent/instrument/instrument.h"
#include "tests/fixture.h"
#include "tests/suite.h"

static const char *const images[] = { "apart.75.cubin", "apart.80.cubin", "apart.90.cubin", "apart-linked.90.cubin" };
#define IMAGES 4

/* What apart.cu says of its kernels; why not: a word that the reason has. */
static const struct {
	const char *name, *why_not;
} kernels[] = {
	{ "plain", NULL }, { "mathematics", NULL }, { "shared", NULL }, { "dynamic_shared", NULL }, { "local_array", NULL },
	{ "jump_table", NULL }, { "calls_pure", NULL },
	{ "global_variable", "counter" }, { "constant_indexed", "table" }, { "constant_direct", "table" },
	{ "constant_in_memory", "fixed" }, { "static_variable", "static_variable" }, { "calls_counts", "counter" },
	{ "by_pointer", "it uses" }, { "prints", "$str" }, { "allocates", "call" },
};
#define KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static void judge(size_t which, bool possible, const char *why)
{
	const char *why_not = kernels[which].why_not;

	ck_assert_msg(possible == !why_not, "%s: %s", kernels[which].name, possible ? "can" : why);
	if (why_not)
		ck_assert_msg(strstr(why, why_not) != NULL, "%s: %s", kernels[which].name, why);
}

START_TEST(machine_code)
{
	struct gt_apart aparts[KERNELS + 1] = { { .name = NULL } };
	size_t size;
	char *code = load_fixture(TEST_DATA, images[_i], &size);

	for (size_t i = 0; i < KERNELS; i++)
		aparts[i].name = kernels[i].name;
	aparts[KERNELS].name = "missing";
	ck_assert_int_eq(gt_cubin_apart(code, size, aparts, KERNELS + 1), 0);
	for (size_t i = 0; i < KERNELS; i++)
		judge(i, aparts[i].possible, aparts[i].why);
	ck_assert(!aparts[KERNELS].possible);
	free(code);
}
END_TEST

START_TEST(ptx_text)
{
	struct gt_ptx_apart aparts[KERNELS];
	struct gt_ptx_error error;
	struct gt_ptx *ptx;
	size_t size;
	char *code = load_fixture(TEST_DATA, "apart.ptx", &size);

	ck_assert_int_eq(gt_ptx_parse(code, size, &ptx, &error), 0);
	ck_assert_uint_eq(gt_ptx_kernel_count(ptx), KERNELS);
	ck_assert_int_eq(gt_ptx_apart(ptx, aparts), 0);
	for (unsigned k = 0; k < KERNELS; k++) {
		size_t i = 0;

		while (i < KERNELS && strcmp(kernels[i].name, gt_ptx_kernel(ptx, k)->name))
			i++;
		ck_assert_uint_lt(i, KERNELS);
		judge(i, aparts[k].possible, aparts[k].why);
	}
	gt_ptx_free(ptx);
	free(code);
}
END_TEST

/* Kinds of variables that nvcc does not write, and what only looks like one. */
static const struct {
	const char *more, *body;
	bool possible;
} texts[] = {
	{ "", "ret;", true },
	{ ".texref pictures;", "ret;", true },
	{ ".texref pictures;", "tex.1d.v4.s32.s32 {a, b, c, d}, [pictures, {i}];", false },
	{ ".extern .global .u32 a, theirs;", "ld.global.u32 i, [theirs+4];", false },
	{ ".global .align 4 .b8 x[8] = {1, 2, 3}, y[2] = { 0xff(z), 1 };", "mov.u32 i, z;", true },
	{ ".global .align 4 .b8 x[8] = {1, 2, 3}, y[2];", "mov.u64 l, y;", false },
	{ ".global .attribute(.managed) .u32 both;", "ld.global.u32 i, [both];", false },
	{ ".shared .u32 room[4];", "ld.shared.u32 i, [room];", true },
	{ ".const .u32 k = 1;", "ld.const.u32 i, [k];", false },
	{ ".global .u32 __cudart_i2opi_f[6];", "ld.global.u32 i, [__cudart_i2opi_f];", true },
	{ ".func f(.param .u64 .ptr .global .align 4 q) { ret; }", "mov.u64 l, q;", true },
	{ ".extern .func f();", "call f;", false },
	{ ".global .u32 g; .func f() { ld.global.u32 %r, [g]; ret; }", "call f;", false },
	{ ".global .u32 g; .func f() { ld.global.u32 %r, [g]; ret; }", "ret;", true },
};

START_TEST(kinds_of_variables)
{
	struct gt_ptx_apart apart;
	struct gt_ptx_error error;
	struct gt_ptx *ptx;
	char text[1024];

	snprintf(text, sizeof(text), ".version 8.0\n.target sm_90\n.address_size 64\n%s\n"
		 ".visible .entry k(.param .u64 .ptr .global .align 4 p)\n{\n.reg .b32 i, a, b, c, d;\n.reg .b64 l;\n%s\n}\n",
		 texts[_i].more, texts[_i].body);
	ck_assert_msg(!gt_ptx_parse(text, strlen(text), &ptx, &error), "%s", error.text);
	ck_assert_int_eq(gt_ptx_apart(ptx, &apart), 0);
	ck_assert_msg(apart.possible == texts[_i].possible, "%s %s: %s", texts[_i].more, texts[_i].body, apart.why);
	gt_ptx_free(ptx);
}
END_TEST

/* Any byte other than it was: an answer, never a crash, and cut off never a kernel that can. */
START_TEST(damaged_code)
{
	struct gt_apart apart = { .name = "plain" };
	size_t size;
	char *code = load_fixture(TEST_DATA, "apart-linked.90.cubin", &size), *changed = malloc(size);

	for (size_t i = 0; i < size; i += 7) {
		memcpy(changed, code, size);
		changed[i] ^= 1 << i % 8;
		gt_cubin_apart(changed, size, &apart, 1);
	}
	for (size_t cut = 0; cut < size; cut += 511) {
		char *part = malloc(cut + 1);

		memcpy(part, code, cut);
		ck_assert_int_eq(gt_cubin_apart(part, cut, &apart, 1), -EINVAL);
		free(part);
	}
	free(changed);
	free(code);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("apart");

	tcase_add_loop_test(tcase, machine_code, 0, IMAGES);
	tcase_add_test(tcase, ptx_text);
	tcase_add_loop_test(tcase, kinds_of_variables, 0, sizeof(texts) / sizeof(texts[0]));
	tcase_add_test(tcase, damaged_code);
	return run_case("apart", tcase);
}
