/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two modules with a kernel of the same name, loaded and unloaded in turns:
 * twins [--rounds N] [FILE].  One adds 1, the other 10, and each has a variable "calls".
 * The last argument may be a file that says how far it is, see rounds.h.
 * Says on standard error by how many KiB the process grew after the first tenth.
 */
#include "driver.h"
#include "rounds.h"

#define THREADS 64

#define MODULE(add) \
	".version 6.3\n" \
	".target sm_75\n" \
	".address_size 64\n" \
	".visible .global .u32 calls = " add ";\n" \
	".visible .entry twin(.param .u64 out)\n" \
	"{\n" \
	"	.reg .b32 %i, %value;\n" \
	"	.reg .b64 %out, %offset;\n" \
	"	ld.param.u64 %out, [out];\n" \
	"	cvta.to.global.u64 %out, %out;\n" \
	"	mov.u32 %i, %tid.x;\n" \
	"	mul.wide.u32 %offset, %i, 4;\n" \
	"	add.u64 %out, %out, %offset;\n" \
	"	ld.global.u32 %value, [%out];\n" \
	"	add.u32 %value, %value, " add ";\n" \
	"	st.global.u32 [%out], %value;\n" \
	"	atom.global.add.u32 %value, [calls], 1;\n" \
	"	ret;\n" \
	"}\n"

static const char *const modules[] = { MODULE("1"), MODULE("10") };
static const uint32_t adds[] = { 1, 10 };

/* Load one, run it once, look at its variable, unload it. */
static void run(unsigned which, uint64_t out)
{
	void *module, *function, *parameters[] = { &out };
	uint64_t address;
	size_t size;
	uint32_t calls;

	CHECK(cuModuleLoadData(&module, modules[which]));
	CHECK(cuModuleGetFunction(&function, module, "twin"));
	CHECK(cuLaunchKernel(function, 1, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "calls"));
	CHECK(cuMemcpyDtoH_v2(&calls, address, sizeof(calls)));
	if (calls != adds[which] + THREADS) {
		fprintf(stderr, "the module's variable is %u, not %u\n", calls, adds[which] + THREADS);
		exit(1);
	}
	CHECK(cuModuleUnload(module));
}

/* KiB of memory in use. */
static long resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	if (file) {
		if (fscanf(file, "%ld %ld", &size, &pages) != 2)
			pages = 0;
		fclose(file);
	}
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int argc, char **argv)
{
	unsigned long rounds = option(argc, argv, "--rounds", 100);
	volatile struct rounds unseen, *told = argc > 1 && argv[argc - 1][0] == '/' ? rounds_open(argv[argc - 1]) : &unseen;
	long before = 0;
	uint32_t values[THREADS];
	uint64_t out;

	driver_open();
	CHECK(cuMemAlloc_v2(&out, sizeof(values)));
	CHECK(cuMemsetD32_v2(out, 0, THREADS));
	for (unsigned long i = 0; i < 2 * rounds; i++) {
		if (i == rounds / 5)
			before = resident();
		run(i % 2, out);
		told->done = (i + 1) / 2;
	}
	fprintf(stderr, "grew by %ld KiB\n", resident() - before);
	CHECK(cuMemcpyDtoH_v2(values, out, sizeof(values)));
	for (unsigned i = 0; i < THREADS; i++) {
		if (values[i] != 11 * rounds) {
			fprintf(stderr, "value %u is %u, not %lu\n", i, values[i], 11 * rounds);
			return 1;
		}
	}
	CHECK(cuMemFree_v2(out));
	driver_close();
	printf("launches %lu\nthreads %lu\nwarps %lu\n", 2 * rounds, 2 * rounds * THREADS, 4 * rounds);
	return 0;
}
