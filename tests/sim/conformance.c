/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the conformance kernels through the driver API of whatever device there
 * is, and writes their results or compares them with stored ones.
 *
 *     conformance record RESULTS FILE.ptx...
 *     conformance compare RESULTS FILE.ptx...
 *
 * RESULTS is a directory with one file NAME.txt for each NAME.ptx.  The driver
 * is $CONFORMANCE_LIBCUDA, else libcuda.so.1.  Exits 77 where there is no device
 * or, comparing, no results are stored.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cases.h"

/* The few entries used, declared here so that no toolkit is needed. */
static struct {
	int (*init)(unsigned flags);
	int (*device_get)(int *device, int ordinal);
	int (*device_name)(char *name, int length, int device);
	int (*ctx_retain)(void **ctx, int device);
	int (*ctx_set)(void *ctx);
	int (*ctx_sync)(void);
	int (*module_load)(void **module, const void *image, unsigned count, int *options, void **values);
	int (*module_unload)(void *module);
	int (*get_function)(void **function, void *module, const char *name);
	int (*alloc)(uint64_t *addr, size_t size);
	int (*release)(uint64_t addr);
	int (*to_device)(uint64_t to, const void *from, size_t size);
	int (*to_host)(void *to, uint64_t from, size_t size);
	int (*fill)(uint64_t to, unsigned char value, size_t size);
	int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
		      unsigned bz, unsigned shared, void *stream, void **params, void **extra);
} cu;

static int load_driver(void)
{
	static const struct {
		const char *name;
		void *slot;
	} entries[] = {
		{ "cuInit", &cu.init }, { "cuDeviceGet", &cu.device_get },
		{ "cuDeviceGetName", &cu.device_name },
		{ "cuDevicePrimaryCtxRetain", &cu.ctx_retain }, { "cuCtxSetCurrent", &cu.ctx_set },
		{ "cuCtxSynchronize", &cu.ctx_sync }, { "cuModuleLoadDataEx", &cu.module_load },
		{ "cuModuleUnload", &cu.module_unload }, { "cuModuleGetFunction", &cu.get_function },
		{ "cuMemAlloc_v2", &cu.alloc }, { "cuMemFree_v2", &cu.release },
		{ "cuMemcpyHtoD_v2", &cu.to_device }, { "cuMemcpyDtoH_v2", &cu.to_host },
		{ "cuMemsetD8_v2", &cu.fill }, { "cuLaunchKernel", &cu.launch },
	};
	const char *path = getenv("CONFORMANCE_LIBCUDA");
	void *lib = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);
	void *symbol;
	unsigned i;

	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	for (i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		symbol = dlsym(lib, entries[i].name);
		if (!symbol) {
			fprintf(stderr, "%s\n", dlerror());
			return -1;
		}
		memcpy(entries[i].slot, &symbol, sizeof(symbol));
	}
	return 0;
}

static int check(int result, const char *what)
{
	if (result)
		fprintf(stderr, "%s: CUDA error %d\n", what, result);
	return result;
}

static int open_device(void)
{
	char name[128] = "";
	void *ctx;
	int device;

	if (load_driver() || check(cu.init(0), "cuInit") ||
	    check(cu.device_get(&device, 0), "cuDeviceGet") ||
	    check(cu.device_name(name, sizeof(name), device), "cuDeviceGetName") ||
	    check(cu.ctx_retain(&ctx, device), "cuDevicePrimaryCtxRetain") ||
	    check(cu.ctx_set(ctx), "cuCtxSetCurrent"))
		return -1;
	printf("device: %s\n", name);
	return 0;
}

static int load_module(const struct case_file *file, const char *path, void **ret_module)
{
	static char log[8192];
	int options[] = { 5, 6 };	/* CU_JIT_ERROR_LOG_BUFFER, its size in bytes */
	void *values[] = { log, (void *)sizeof(log) };

	log[0] = 0;
	if (!cu.module_load(ret_module, file->text, 2, options, values))
		return 0;
	fprintf(stderr, "%s: %s\n", path, log);
	return -1;
}

static int run_case(void *module, const struct test_case *test, const uint64_t *in, uint64_t *out)
{
	uint64_t device_in = 0, device_out = 0;
	unsigned n = test->threads;
	void *function, *params[] = { &device_in, &device_out, &n };
	int bad;

	bad = check(cu.get_function(&function, module, test->name), test->name) ||
	      check(cu.alloc(&device_in, case_input_bytes(test)), "cuMemAlloc") ||
	      check(cu.alloc(&device_out, case_output_bytes(test)), "cuMemAlloc") ||
	      check(cu.to_device(device_in, in, case_input_bytes(test)), "cuMemcpyHtoD") ||
	      check(cu.fill(device_out, 0, case_output_bytes(test)), "cuMemsetD8") ||
	      check(cu.launch(function, (n + test->block - 1) / test->block, 1, 1, test->block, 1, 1,
			      0, NULL, params, NULL), test->name) ||
	      check(cu.ctx_sync(), test->name) ||
	      check(cu.to_host(out, device_out, case_output_bytes(test)), "cuMemcpyDtoH");
	if (device_in)
		cu.release(device_in);
	if (device_out)
		cu.release(device_out);
	return bad;
}

struct tally {
	unsigned kernels, differ, missing;
};

static int compare_case(const struct test_case *test, FILE *results, const uint64_t *in,
			const uint64_t *out, uint64_t *expected, struct tally *tally)
{
	switch (case_read(results, test, expected)) {
	case 0:
		tally->differ += case_compare(test, in, out, expected);
		return 0;
	case 1:
		printf("no stored results for %s\n", test->name);
		tally->missing++;
		return 0;
	default:
		return -1;
	}
}

static int do_case(void *module, const struct test_case *test, FILE *results, int recording,
		   struct tally *tally)
{
	uint64_t *in = calloc(1, case_input_bytes(test)), *out = calloc(1, case_output_bytes(test));
	uint64_t *expected = calloc(1, case_output_bytes(test));
	int bad = !in || !out || !expected || case_fill(test, in) || run_case(module, test, in, out);

	if (!bad && recording)
		bad = case_write(results, test, out);
	else if (!bad)
		bad = compare_case(test, results, in, out, expected, tally);
	if (bad)
		fprintf(stderr, "%s: failed\n", test->name);
	else
		tally->kernels++;
	free(in);
	free(out);
	free(expected);
	return bad ? -1 : 0;
}

static FILE *open_results(const char *directory, const char *path, int recording)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	char file[512];

	snprintf(file, sizeof(file), "%s/%.*s.txt", directory, (int)strcspn(name, "."), name);
	return fopen(file, recording ? "w" : "r");
}

static int do_file(const char *directory, const char *path, int recording, struct tally *tally)
{
	struct case_file file;
	FILE *results;
	void *module;
	unsigned i;
	int bad = 0;

	if (case_file_read(path, &file))
		return -1;
	results = open_results(directory, path, recording);
	if (!results) {
		fprintf(stderr, "%s: no results in %s\n", path, directory);
		case_file_free(&file);
		return recording ? -1 : 77;
	}
	if (load_module(&file, path, &module)) {
		bad = -1;
	} else {
		for (i = 0; i < file.count && !bad; i++)
			bad = do_case(module, &file.cases[i], results, recording, tally);
		cu.module_unload(module);
	}
	fclose(results);
	case_file_free(&file);
	return bad;
}

int main(int argc, char **argv)
{
	int recording = argc > 1 && !strcmp(argv[1], "record"), bad = 0, skipped = 0, i, result;
	struct tally tally = { 0 };

	if (argc < 4 || (!recording && strcmp(argv[1], "compare"))) {
		fprintf(stderr, "usage: %s record|compare RESULTS FILE.ptx...\n", argv[0]);
		return 2;
	}
	if (open_device())
		return 77;
	if (recording)
		mkdir(argv[2], 0777);
	for (i = 3; i < argc; i++) {
		result = do_file(argv[2], argv[i], recording, &tally);
		skipped |= result == 77;
		bad |= result && result != 77;
	}
	printf("%u kernels, %u values differ, %u without stored results%s\n", tally.kernels, tally.differ,
	       tally.missing, bad ? ", some files failed" : "");
	if (bad || tally.differ)
		return 1;
	return skipped || tally.missing ? 77 : 0;
}
