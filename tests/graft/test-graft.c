/* SPDX-License-Identifier: Apache-2.0 */
/* Probes grafted onto stored machine code: all stubs, all kernels, all architectures. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/graft/common.h"
#include "tests/graft/stubs.h"
#include "tests/suite.h"

START_TEST(every_stub_goes_in)
{
	const struct test_stub *stub = &test_stubs[_i % TEST_STUBS];
	unsigned arch = archs[_i / TEST_STUBS];
	bool exit = stub->point == GT_POINT_EXIT;
	struct grafted g;

	graft(&g, arch, exit ? NULL : stub->name, exit ? stub->name : NULL);
	ck_assert_msg(!g.r, "%s", g.why);
	for (unsigned i = 0; i < KERNELS; i++) {
		if (!strcmp(kernel_names[i], "params_32760")) {
			ck_assert(!g.results[i].done);
			ck_assert_int_eq(g.results[i].reason, GT_REASON_PARAMS);
			continue;
		}
		/* Of its 64 registers one has to become 65: blocks of 1024 threads, as these may be, have no room for it. */
		if (arch == 75 && !strcmp(stub->name, "exit-big") && !g.results[i].done) {
			ck_assert_int_eq(g.results[i].reason, GT_REASON_LIMITS);
			continue;
		}
		ck_assert_msg(g.results[i].done, "sm_%u %s in %s: %s", arch, stub->name, kernel_names[i],
			      g.results[i].why);
	}
	release(&g);
}
END_TEST

/*
 * Hash tables, printing and functions of the program's own: what the code of test_programs
 * lacks, by architecture; NULL: nothing, it goes in.
 */
static const char *const program_whys[TEST_PROGRAMS][ARCHS] = {
	{ "needs section .nv.constant2.", "needs section .nv.constant2.", NULL },
	{ "needs section .nv.constant2.", "needs section .nv.constant2.", NULL },
	{ "needs section .rela.text.", "needs section .rela.text.", NULL },
	{ "waits for other threads", "waits for other threads", "waits for other threads, which at exit has not been seen to work" },
	{ "needs section .rela.text.", "needs section .rela.text.", NULL },
	{ NULL, NULL, NULL },
};

static void program_is_refused(const struct test_program *program, unsigned arch, const char *expected)
{
	uint32_t point = test_program_is_at_exit(program) ? GT_POINT_EXIT : GT_POINT_ENTRY;
	struct bytes bytes = load(program->stub, arch);
	char why[GT_GRAFT_WHY] = "";
	struct gt_graft_stub *stub;

	ck_assert_int_eq(gt_graft_stub_open(bytes.data, bytes.size, point, &stub, why), -EINVAL);
	ck_assert_msg(strstr(why, expected) != NULL, "%s on sm_%u: %s", program->stub, arch, why);
	free(bytes.data);
}

START_TEST(programs_that_call)
{
	const struct test_program *program = &test_programs[_i % TEST_PROGRAMS];
	unsigned arch = archs[_i / TEST_PROGRAMS];
	const char *why = program_whys[_i % TEST_PROGRAMS][_i / TEST_PROGRAMS];
	bool exit = test_program_is_at_exit(program);
	struct grafted g;

	if (why) {
		program_is_refused(program, arch, why);
		return;
	}
	graft(&g, arch, exit ? NULL : program->stub, exit ? program->stub : NULL);
	ck_assert_msg(!g.r, "%s", g.why);
	for (unsigned i = 0; i < KERNELS; i++)
		ck_assert_msg(g.results[i].done == !!strcmp(kernel_names[i], "params_32760"), "%s in %s: %s", program->stub,
			      kernel_names[i], g.results[i].why);
	release(&g);
}
END_TEST

START_TEST(parameters)
{
	static const struct { const char *name; uint32_t offset, count; } expected[] = {
		{ "no_params", 0, 0 }, { "endless", 8, 1 }, { "three_exits", 24, 3 },
		{ "odd_params", 8, 3 }, { "params_4096", 4096, 2 }, { "params_5000", 5000, 1 },
	};
	struct grafted g;
	struct view view;

	graft(&g, archs[_i], "entry", "exit");
	ck_assert_int_eq(g.r, 0);
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		const struct gt_graft_result *result = &g.results[index_of(expected[i].name)];

		ck_assert_uint_eq(result->hidden_offset, expected[i].offset);
		ck_assert_uint_eq(result->param_count, expected[i].count);
		look(&view, g.after, expected[i].name);
		ck_assert_uint_eq(view.elf.sections[view.kernel.constants].sh_size,
				  base_of(archs[_i], expected[i].name) + expected[i].offset + 24);
		gt_elf_close(&view.elf);
	}
	release(&g);
}
END_TEST

/* The records of odd_params for sm_90, byte by byte where they have to do with parameters. */
START_TEST(parameter_records)
{
	static const uint8_t hidden[] = { 4, 0x17, 12, 0, 0, 0, 0, 0, 3, 0, 8, 0, 0, 0xf0, 0x61, 0 };
	static const uint8_t bank[] = { 0x10, 0x02, 32, 0 };
	struct gt_note_record record;
	struct gt_note_walk walk;
	unsigned params = 0, found = 0;
	struct grafted g;
	struct view view;

	graft(&g, 90, "entry", NULL);
	look(&view, g.after, "odd_params");
	walk = gt_note_begin(&view.elf, view.kernel.info);
	while (gt_note_next(&walk, &record)) {
		if (record.attribute == GT_ATTR_KPARAM && !params++)
			found += record.size == sizeof(hidden) && !memcmp(record.start, hidden, sizeof(hidden));
		if (record.attribute == GT_ATTR_CBANK_PARAM_SIZE)
			found += record.value == 32;
		if (record.attribute == GT_ATTR_PARAM_CBANK)
			found += !memcmp(record.payload + 4, bank, sizeof(bank));
	}
	ck_assert_uint_eq(params, 4);
	ck_assert_uint_eq(found, 3);
	gt_elf_close(&view.elf);
	release(&g);
}
END_TEST

START_TEST(registers_and_stack)
{
	unsigned arch = archs[_i], found = 0;
	struct gt_note_record record;
	struct gt_note_walk walk;
	struct grafted g;
	struct view view;
	uint32_t registers;

	graft(&g, arch, "entry-big", NULL);
	registers = g.results[index_of("no_params")].registers;
	ck_assert_uint_ge(registers, 16);
	ck_assert_uint_le(registers, 64);
	look(&view, g.after, "no_params");
	if (arch < 90)
		ck_assert_uint_eq(view.elf.sections[view.kernel.text].sh_info >> 24, registers);
	walk = gt_note_begin(&view.elf, view.elf.info);
	while (gt_note_next(&walk, &record)) {
		if (!record.payload || gt_read32(record.payload) != view.kernel.symbol)
			continue;
		if (record.attribute == GT_ATTR_REGCOUNT)
			found += gt_read32(record.payload + 4) == registers;
		/* The probe's local array. */
		if (record.attribute == GT_ATTR_MIN_STACK)
			found += gt_read32(record.payload + 4) >= 512;
	}
	ck_assert_uint_eq(found, 2);
	gt_elf_close(&view.elf);
	release(&g);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("graft");

	tcase_add_loop_test(tcase, every_stub_goes_in, 0, ARCHS * TEST_STUBS);
	tcase_add_loop_test(tcase, programs_that_call, 0, 3 * TEST_PROGRAMS);
	tcase_add_loop_test(tcase, parameters, 0, ARCHS);
	tcase_add_test(tcase, parameter_records);
	tcase_add_loop_test(tcase, registers_and_stack, 0, ARCHS);
	return run_case("graft", tcase);
}
