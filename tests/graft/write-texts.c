/* SPDX-License-Identifier: Apache-2.0 */
/* usage: write-texts DIR ARCH: the PTX of every stub of the tests, for data/make. */
#include <stdio.h>

#include "tests/compile/machine.h"
#include "tests/graft/stubs.h"

static const char *folder;
static unsigned arch;

static int write_text(const char *name, const char *text)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s.ptx", folder, name);
	file = fopen(path, "w");
	if (!file || fputs(text, file) < 0 || fclose(file)) {
		perror(path);
		return 1;
	}
	return 0;
}

static int write_stub(const struct test_stub *stub)
{
	char why[GT_GRAFT_WHY], *text;
	int r;

	if (test_stub_text(stub, arch, &text, why)) {
		fprintf(stderr, "%s: %s\n", stub->name, why);
		return 1;
	}
	r = write_text(stub->name, text);
	free(text);
	return r;
}

/* The stubs with programs of tests/compile/probes.bpf.c; what compiles these works in tests alone. */
START_TEST(write_program)
{
	const struct test_program *test = &test_programs[_i];
	struct gt_probe probe = { .point = test_program_is_at_exit(test) ? GT_POINT_EXIT : GT_POINT_ENTRY, .kernel = "*" };
	struct machine *machine = machine_new(false);
	char why[GT_GRAFT_WHY] = "", *function, *text, *probe_text = machine_link(machine, test->program, &function);
	unsigned which = 0;

	probe.function = function;
	ck_assert_msg(!gt_graft_stub_text(probe_text, &probe, 1, &which, 1, probe.point, test->form, arch, &text, why), "%s", why);
	ck_assert_int_eq(write_text(test->stub, text), 0);
	free(text);
	free(probe_text);
	free(function);
	machine_free(machine);
}
END_TEST

int main(int argc, char **argv)
{
	TCase *tcase = tcase_create("programs");

	if (argc != 3)
		return 2;
	folder = argv[1];
	arch = (unsigned)atoi(argv[2]);
	for (unsigned i = 0; i < TEST_STUBS; i++)
		if (write_stub(&test_stubs[i]))
			return 1;
	for (unsigned i = 0; i < TEST_ACCESSES; i++)
		if (write_stub(&test_accesses[i]))
			return 1;
	tcase_add_loop_test(tcase, write_program, 0, TEST_PROGRAMS);
	return run_case("texts", tcase);
}
