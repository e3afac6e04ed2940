/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is attached to when all its code is loaded: from images that it
 * carries as the CUDA runtime's compiler puts them there, and from others.
 *
 *	late module|library [THREADS]	its kernels are got from modules, or from libraries
 *
 * With threads these launch two of the kernels until the end, and check the variable then.
 * It says "ready" and reads lines.  "run N": every kernel N times, one after the other,
 * then what they computed; "capture": one into a graph, which runs twice; "graph": a
 * graph that was made before runs; "."; the end.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define HEAD ".version 6.3\n.target sm_75\n.address_size 64\n"
/* Adds `add` to out[tid] in one block; `variables` and `more` are what else it has. */
#define KERNEL(name, variables, add, more) \
	variables \
	".visible .entry " name "(.param .u64 out)\n" \
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
	more \
	"	ret;\n" \
	"}\n"
#define COUNTS "	atom.global.add.u32 %value, [calls], 1;\n"
#define DYNAMIC \
	"	st.shared.u32 [room+65000], %value;\n"

static const char plain_text[] = HEAD KERNEL("plain", "", "1", "")
	KERNEL("counting", ".visible .global .u32 calls = 7;\n", "2", COUNTS)
	KERNEL("large", ".extern .shared .align 16 .b8 room[];\n", "4", DYNAMIC);
/* Two images that nobody can tell apart, of which the second is loaded. */
static const char doubtful_text[] = HEAD KERNEL("doubtful", "", "100", "");
static const char other_text[] = HEAD KERNEL("doubtful", "", "8", "");
/* One that is there twice. */
static const char twice_text[] = HEAD KERNEL("twice", "", "16", "");
/* An image in no object, and one that has a kernel of this name with something beside it. */
static const char loose_text[] = HEAD KERNEL("loose", "", "32", "");
static const char namesake_text[] = HEAD KERNEL("namesake", "", "100", "") KERNEL("more", "", "100", "");
static const char own_text[] = HEAD KERNEL("namesake", "", "64", "");

/* ---- images as they lie in .nv_fatbin, and what leads to them ---- */

struct fatbin {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
	struct {
		uint16_t kind, version;
		uint32_t header_size;
		uint64_t padded_size;
		uint32_t compressed_size, options;
		uint16_t minor, major;
		uint32_t arch, name, name_length;
		uint64_t flags, reserved, full_size;
	} member;
	char text[2048];
};

struct wrapper {
	uint32_t magic, version;
	const struct fatbin *image;
	void *second;
};

static struct fatbin images[6];
static struct wrapper wrappers[6] __attribute__((section(".nvFatBinSegment"))) = { { 0 } };

static void *carry(unsigned i, const char *text)
{
	images[i] = (struct fatbin){
		.magic = 0xba55ed50, .version = 1, .header_size = 16, .size = sizeof(images[i]) - 16,
		.member = { .kind = 1, .version = 0x101, .header_size = 64, .padded_size = sizeof(images[i].text),
			    .major = 6, .minor = 3, .arch = 75, .flags = 0x11 },
	};
	strcpy(images[i].text, text);
	wrappers[i] = (struct wrapper){ 0x466243b1, 1, &images[i], NULL };
	return &wrappers[i];
}

/* ---- the kernels ---- */

#define THREADS 32
#define LARGE_BYTES 66000

enum { PLAIN, COUNTING, LARGE, DOUBTFUL, TWICE, LOOSE, NAMESAKE, KERNELS };
static const char *const names[KERNELS] = { "plain", "counting", "large", "doubtful", "twice", "loose", "namesake" };
static CUfunction functions[KERNELS];
static CUdeviceptr out, calls;
static CUgraphExec made_before;

static void load(const void *image, unsigned first, unsigned count, bool as_library)
{
	CUlibrary library = NULL;
	CUmodule module = NULL;
	size_t size;

	if (as_library)
		CHECK(cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	else
		CHECK(cuModuleLoadData(&module, image));
	for (unsigned i = first; i < first + count; i++) {
		if (as_library)
			CHECK(cuLibraryGetKernel((CUkernel *)&functions[i], library, names[i]));
		else
			CHECK(cuModuleGetFunction(&functions[i], module, names[i]));
	}
	if (first)
		return;
	if (as_library)
		CHECK(cuLibraryGetGlobal(&calls, &size, library, "calls"));
	else
		CHECK(cuModuleGetGlobal_v2(&calls, &size, module, "calls"));
}

static void load_all(bool as_library)
{
	const void *plain = carry(0, plain_text), *doubtful, *twice;

	carry(1, other_text);
	doubtful = carry(2, doubtful_text);
	carry(3, twice_text);
	twice = carry(4, twice_text);
	carry(5, namesake_text);
	load(plain, PLAIN, 3, as_library);
	load(doubtful, DOUBTFUL, 1, as_library);
	load(twice, TWICE, 1, as_library);
	load(loose_text, LOOSE, 1, as_library);
	load(own_text, NAMESAKE, 1, as_library);
	if (as_library)
		CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, LARGE_BYTES,
					   (CUkernel)functions[LARGE], 0));
	else
		CHECK(cuFuncSetAttribute(functions[LARGE], CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, LARGE_BYTES));
}

static void launch(unsigned kernel, CUstream stream)
{
	void *params[] = { &out };

	CHECK(cuLaunchKernel(functions[kernel], 1, 1, 1, THREADS, 1, 1, kernel == LARGE ? LARGE_BYTES : 0, stream, params,
			     NULL));
}

static CUgraphExec capture(void)
{
	CUgraphExec exec;
	CUstream stream;
	CUgraph graph;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(PLAIN, stream);
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphDestroy(graph));
	CHECK(cuStreamDestroy_v2(stream));
	return exec;
}

static void run_twice(CUgraphExec exec)
{
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuCtxSynchronize());
}

static void run_graph(void)
{
	CUgraphExec exec = capture();

	run_twice(exec);
	CHECK(cuGraphExecDestroy(exec));
}

/* The sum of what the threads of a launch added, and the variable. */
static void say_results(void)
{
	uint32_t values[THREADS], sum = 0, variable;

	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH_v2(values, out, sizeof(values)));
	CHECK(cuMemcpyDtoH_v2(&variable, calls, sizeof(variable)));
	for (unsigned i = 0; i < THREADS; i++)
		sum += values[i];
	printf("sum %u calls %u\n", sum, variable);
	fflush(stdout);
}

static void obey(const char *line)
{
	unsigned rounds = 0;

	if (!strcmp(line, "capture\n"))
		run_graph();
	else if (!strcmp(line, "graph\n"))
		run_twice(made_before);
	else if (sscanf(line, "run %u", &rounds) != 1)
		_exit(5);
	for (unsigned i = 0; i < rounds; i++) {
		for (unsigned kernel = 0; kernel < KERNELS; kernel++)
			launch(kernel, NULL);
	}
	say_results();
}

/* ---- threads ---- */

static CUcontext context;
static atomic_bool over;
static atomic_uint counted;

static void *launch_until_over(void *unused)
{
	CHECK(cuCtxSetCurrent(context));
	for (unsigned i = 1; !atomic_load(&over); i++) {
		launch(PLAIN, NULL);
		launch(COUNTING, NULL);
		atomic_fetch_add(&counted, 1);
		if (i % 8 == 0)
			CHECK(cuCtxSynchronize());
	}
	return unused;
}

/* Until a line is read.  Did every launch count once? */
static bool run_threads(unsigned count)
{
	pthread_t threads[16];
	uint32_t variable;
	char line[64];

	for (unsigned i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, launch_until_over, NULL);
	if (!fgets(line, sizeof(line), stdin))
		_exit(5);
	atomic_store(&over, true);
	for (unsigned i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH_v2(&variable, calls, sizeof(variable)));
	return variable - 7 == THREADS * atomic_load(&counted);
}

int main(int argc, char **argv)
{
	unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
	bool right = true;
	char line[64];

	find_driver();
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuMemAlloc_v2(&out, THREADS * 4));
	CHECK(cuMemsetD32_v2(out, 0, THREADS));
	load_all(argc > 1 && !strcmp(argv[1], "library"));
	made_before = capture();
	printf("ready\n");
	fflush(stdout);
	if (threads)
		right = run_threads(threads < 16 ? threads : 16);
	while (!threads && fgets(line, sizeof(line), stdin) && line[0] != '.')
		obey(line);
	printf("%s\n", right ? "exact" : "wrong");
	return 0;
}
