/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and plans that are refused, with the reason. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/graft/common.h"
#include "tests/suite.h"

static void expect(struct bytes kernels, const char *name, const char *entry, const char *exit, unsigned arch,
		   enum gt_reason reason)
{
	struct gt_graft_plan plan = {
		.name = name, .kernel_id = 1, .entry = entry ? open_stub(entry, arch) : NULL,
		.exit = exit ? open_stub(exit, arch) : NULL,
	};
	struct gt_graft_result result;
	char why[GT_GRAFT_WHY] = "";
	void *image = NULL;
	size_t size;
	int r = gt_graft(kernels.data, kernels.size, 0, &plan, 1, &image, &size, &result, why);

	ck_assert_msg(r == (reason ? -ENOENT : 0), "%s: %d %s %s", name, r, why, result.why);
	ck_assert_int_eq(result.done, !reason);
	ck_assert_msg(result.reason == reason, "%s: %s", name, result.why);
	if (reason)
		ck_assert_uint_gt(strlen(result.why), 10);
	free(image);
	gt_graft_stub_free((struct gt_graft_stub *)plan.entry);
	gt_graft_stub_free((struct gt_graft_stub *)plan.exit);
}

START_TEST(functions_that_end_threads)
{
	struct bytes debug = load("debug", 90);

	expect(debug, "calls", NULL, "exit", 90, GT_REASON_UNSUPPORTED);
	expect(debug, "calls", "entry", NULL, 90, GT_REASON_NONE);
	expect(debug, "calls_nothing", "entry", "exit", 90, GT_REASON_NONE);
	free(debug.data);
}
END_TEST

/* Down to 24 registers. */
START_TEST(registers_given_away)
{
	struct bytes kernels = load("setmaxnreg", 90);

	expect(kernels, "gives_registers", "entry-big", "exit", 90, GT_REASON_NONE);
	expect(kernels, "gives_registers", NULL, "exit-big", 90, GT_REASON_LIMITS);
	free(kernels.data);
}
END_TEST

/* What a kernel launches gets no hidden parameter. */
START_TEST(launched_by_the_gpu)
{
	struct bytes kernels = load("nested", 90);

	expect(kernels, "child", "entry", NULL, 90, GT_REASON_UNSUPPORTED);
	expect(kernels, "child", NULL, "exit", 90, GT_REASON_UNSUPPORTED);
	expect(kernels, "parent", "entry", "exit", 90, GT_REASON_NONE);
	expect(kernels, "neighbour", "entry", "exit", 90, GT_REASON_NONE);
	free(kernels.data);
}
END_TEST

/* The same stub, said to take more registers. */
static struct gt_graft_stub *stub_with_registers(unsigned registers)
{
	struct bytes bytes = load("entry", 90);
	struct gt_graft_stub *stub;
	struct gt_note_record record;
	struct gt_note_walk walk;
	struct view view;

	look(&view, bytes, "__gt_stub");
	walk = gt_note_begin(&view.elf, view.elf.info);
	while (gt_note_next(&walk, &record))
		if (record.attribute == GT_ATTR_REGCOUNT)
			gt_write32((uint8_t *)(uintptr_t)record.payload + 4, registers);
	stub = open_bytes(bytes, GT_POINT_ENTRY);
	gt_elf_close(&view.elf);
	free(bytes.data);
	return stub;
}

/* 1024 threads leave 64 registers for each, 896 leave 72. */
START_TEST(blocks_must_still_fit)
{
	static const unsigned registers[] = { 64, 65, 72 };
	struct bytes kernels = load("kernels", 90);

	for (unsigned i = 0; i < 3; i++) {
		struct gt_graft_stub *stub = stub_with_registers(registers[i]);
		struct gt_graft_plan plans[] = {
			{ .name = "bounded", .kernel_id = 1, .entry = stub }, { .name = "three_exits", .kernel_id = 2, .entry = stub },
		};
		struct gt_graft_result results[2];
		char why[GT_GRAFT_WHY];
		void *image = NULL;
		size_t size;

		ck_assert_int_eq(gt_graft(kernels.data, kernels.size, 0, plans, 2, &image, &size, results, why),
				 i ? -ENOENT : 0);
		for (unsigned k = 0; i && k < 2; k++)
			ck_assert_int_eq(results[k].reason, GT_REASON_LIMITS);
		free(image);
		gt_graft_stub_free(stub);
	}
	free(kernels.data);
}
END_TEST

START_TEST(other_architectures)
{
	struct bytes kernels = load("kernels", 90), old = load("kernels", 80), newer;

	expect(kernels, "three_exits", "entry", NULL, 80, GT_REASON_UNSUPPORTED);
	/* Within one family newer probes suit older code, not the other way round. */
	expect(old, "three_exits", "entry", NULL, 75, GT_REASON_UNSUPPORTED);
	newer = load("kernels", 90);
	newer.data[offsetof(Elf64_Ehdr, e_flags) + 1] = 100;
	expect(newer, "three_exits", "entry", NULL, 90, GT_REASON_UNSUPPORTED);
	free(kernels.data);
	free(old.data);
	free(newer.data);
}
END_TEST

/* Compute capability 10.0 and newer has not been seen to work: not unless asked for. */
START_TEST(by_force)
{
	unsigned arch = _i ? 110 : 100;
	struct bytes kernels = load("kernels", arch);
	struct gt_graft_stub *exit = open_stub("exit-group", arch);
	struct gt_graft_plan plan = { .name = "three_exits", .kernel_id = 1, .exit = exit };
	struct gt_graft_result result;
	char why[GT_GRAFT_WHY] = "";
	void *image;
	size_t size;

	ck_assert_int_eq(gt_graft(kernels.data, kernels.size, 0, &plan, 1, &image, &size, &result, why), -ENOENT);
	ck_assert_str_eq(result.why, "probes have not been seen to work in machine code of this compute capability");
	ck_assert_msg(!gt_graft(kernels.data, kernels.size, GT_GRAFT_FORCE, &plan, 1, &image, &size, &result, why), "%s %s", why, result.why);
	ck_assert(result.done);
	ck_assert_uint_eq(result.exits, 3);
	free(image);
	gt_graft_stub_free(exit);
	free(kernels.data);
}
END_TEST

START_TEST(bad_plans)
{
	struct bytes kernels = load("kernels", 80);
	struct gt_graft_stub *entry = open_stub("entry", 80);
	struct gt_graft_plan plans[] = {
		{ .name = "nowhere", .kernel_id = 1, .entry = entry }, { .name = "endless", .kernel_id = 1 },
		{ .name = "endless", .kernel_id = 1, .exit = entry }, { .name = "no_params", .kernel_id = 1, .entry = entry },
		{ .name = "no_params", .kernel_id = 2, .entry = entry },
	};
	struct gt_graft_result results[5];
	char why[GT_GRAFT_WHY];
	void *image;
	size_t size;

	ck_assert_int_eq(gt_graft(kernels.data, kernels.size, 0, plans, 5, &image, &size, results, why), 0);
	for (unsigned i = 0; i < 5; i++)
		ck_assert_int_eq(results[i].done, i == 3);
	free(image);
	ck_assert_int_eq(gt_graft(kernels.data, 63, 0, plans, 5, &image, &size, results, why), -EINVAL);
	gt_graft_stub_free(entry);
	free(kernels.data);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("refused");

	tcase_add_test(tcase, functions_that_end_threads);
	tcase_add_test(tcase, registers_given_away);
	tcase_add_test(tcase, launched_by_the_gpu);
	tcase_add_test(tcase, blocks_must_still_fit);
	tcase_add_test(tcase, other_architectures);
	tcase_add_loop_test(tcase, by_force, 0, 2);
	tcase_add_test(tcase, bad_plans);
	return run_case("refused", tcase);
}
