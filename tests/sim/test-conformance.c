/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The conformance kernels on the PTX machine, against results that were
 * recorded on an H200.  `test-conformance run DIRECTORY FILE.ptx...` writes the
 * machine's own results instead, to look at; they are no expectation.
 */
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "device.h"

static const char *const files[] = {
	"approx", "atomic", "bit", "block", "carry", "compare", "convert", "double", "flow", "float",
	"half", "int", "matrix", "memory", "move", "special", "warp",
};

static int run_case(struct test_device *device, struct sim_module *module,
		    const struct test_case *test, const uint64_t *in, uint64_t *out)
{
	struct { void *in, *out; uint32_t n; } params;
	struct sim_launch launch = { .grid = { (test->threads + test->block - 1) / test->block, 1, 1 },
				     .block = { test->block, 1, 1 }, .params = &params };
	struct sim_kernel *kernel = sim_module_find_kernel(module, test->name);
	struct sim_error err;
	int bad;

	if (!kernel) {
		fprintf(stderr, "%s: no such kernel\n", test->name);
		return -1;
	}
	params.in = test_alloc(device, case_input_bytes(test));
	params.out = test_alloc(device, case_output_bytes(test));
	params.n = test->threads;
	memcpy(params.in, in, case_input_bytes(test));
	bad = sim_kernel_run(kernel, &launch, &err);
	if (bad)
		fprintf(stderr, "%s\n", err.text);
	memcpy(out, params.out, case_output_bytes(test));
	test_release(device, params.in);
	test_release(device, params.out);
	return bad;
}

struct tally {
	unsigned kernels, differ, missing;
};

static int compare_case(const struct test_case *test, FILE *stored, const uint64_t *in,
			const uint64_t *out, uint64_t *expected, struct tally *tally)
{
	switch (case_read(stored, test, expected)) {
	case 0:
		tally->differ += case_compare(test, in, out, expected);
		tally->kernels++;
		return 0;
	case 1:
		printf("skipped: no results of a GPU for %s\n", test->name);
		tally->missing++;
		return 0;
	default:
		return -1;
	}
}

static int do_case(struct test_device *device, struct sim_module *module,
		   const struct test_case *test, FILE *stored, FILE *write, struct tally *tally)
{
	uint64_t *in = calloc(1, case_input_bytes(test)), *out = calloc(1, case_output_bytes(test));
	uint64_t *expected = calloc(1, case_output_bytes(test));
	int bad = !in || !out || !expected || case_fill(test, in) ||
		  run_case(device, module, test, in, out);

	if (!bad && write) {
		bad = case_write(write, test, out);
		tally->kernels++;
	} else if (!bad) {
		bad = compare_case(test, stored, in, out, expected, tally);
	}
	if (bad)
		fprintf(stderr, "%s: failed\n", test->name);
	free(in);
	free(out);
	free(expected);
	return bad;
}

static int do_file(const char *path, FILE *stored, FILE *write, struct tally *tally)
{
	struct test_device device;
	struct sim_module *module;
	struct sim_error err;
	struct case_file file;
	unsigned i;
	int bad = 0;

	if (case_file_read(path, &file))
		return -1;
	test_device_init(&device);
	if (sim_module_load(&device.dev, file.text, file.length, &module, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		case_file_free(&file);
		return -1;
	}
	for (i = 0; i < file.count; i++)
		bad |= do_case(&device, module, &file.cases[i], stored, write, tally);
	sim_module_unload(module);
	test_device_done(&device);
	case_file_free(&file);
	return bad;
}

static int run_files(int argc, char **argv)
{
	struct tally tally = { 0 };
	char path[512], name[256];
	int i, bad = 0;
	FILE *to;

	for (i = 3; i < argc; i++) {
		snprintf(name, sizeof(name), "%s", argv[i]);
		snprintf(path, sizeof(path), "%s/%.*s.txt", argv[2], (int)strcspn(basename(name), "."),
			 basename(name));
		to = fopen(path, "w");
		if (!to || do_file(argv[i], NULL, to, &tally))
			bad = 1;
		if (to)
			fclose(to);
	}
	printf("%u kernels ran\n", tally.kernels);
	return bad;
}

int main(int argc, char **argv)
{
	const char *top = getenv("srcdir") ? getenv("srcdir") : ".";
	struct tally tally = { 0 };
	unsigned i;
	char path[512];
	FILE *stored;
	int bad = 0;

	if (argc > 3 && !strcmp(argv[1], "run"))
		return run_files(argc, argv);
	for (i = 0; i < sizeof(files) / sizeof(*files); i++) {
		snprintf(path, sizeof(path), "%s/tests/sim/expected/%s.txt", top, files[i]);
		stored = fopen(path, "r");
		if (!stored) {
			printf("skipped: no results of a GPU in %s\n", path);
			tally.missing++;
			continue;
		}
		snprintf(path, sizeof(path), "%s/tests/sim/kernels/%s.ptx", top, files[i]);
		bad |= do_file(path, stored, NULL, &tally);
		fclose(stored);
	}
	printf("%u kernels compared, %u values differ, %u kernels or files have no stored results\n",
	       tally.kernels, tally.differ, tally.missing);
	if (bad || tally.differ)
		return 1;
	return tally.missing ? 77 : 0;
}
