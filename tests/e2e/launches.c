/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program to be traced by tests: what can be asked of kernels and set for
 * them, and every way to launch one.
 *
 *	launches answers [N]	all that the driver says of two kernels, after some of it was set; the agent is refused
 *				memory the Nth time that it asks for some when the kernels are loaded
 *	launches cooperative	as many blocks as the driver says there is room for, and one
 *	launches resolved	by functions that cuGetProcAddress() gives out, old and new
 *	launches twins TIMES	two modules with one kernel name, loaded and unloaded
 *	launches old		code for GPUs of before sm_70, with a shuffle of that time
 *	launches full		one with all shared memory there is, then with little, of kernels alone in their modules
 *	launches lazy		of kernels that the driver has no memory to load when they are asked for, for the first time
 *	launches ways		by cuLaunchKernelEx with each attribute, on the thread's own stream, between host functions
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "calloc.h"
#include "program.h"
#include "resident.h"

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".global .align 8 .u64 counter;\n"
	".extern .shared .align 16 .b8 dynamic[];\n"
	".const .align 8 .b8 table[32768];\n"
	".visible .entry add(.param .u64 pn, .param .u32 pm)\n{\n"
	"	.reg .b64 %rd<3>; ld.param.u64 %rd1, [pn]; mov.u64 %rd2, counter;\n"
	"	red.global.add.u64 [%rd2], %rd1; ret;\n}\n"
	/* adds what it put at the end of its dynamic shared memory */
	".visible .entry far(.param .u64 pn, .param .u32 pbytes)\n.maxntid 256\n.minnctapersm 2\n{\n"
	"	.reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .pred %p; mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0;\n"
	"	@%p ret; ld.param.u64 %rd1, [pn]; ld.param.u32 %r1, [pbytes]; mov.u32 %r2, dynamic;\n"
	"	add.u32 %r1, %r1, %r2; st.shared.u64 [%r1+-8], %rd1; ld.shared.u64 %rd2, [%r1+-8];\n"
	"	mov.u64 %rd3, counter; red.global.add.u64 [%rd3], %rd2; ret;\n}\n";

static CUmodule module;
static CUfunction add, far;
static int refuse_in;		/* so many calls of calloc by the agent; 0: never */
static bool refuse_driver;	/* the next one by the driver */

static bool is_refused(const char *file)
{
	bool driver = refuse_driver && strstr(file, "libcuda.so");

	if (driver)
		refuse_driver = false;
	return driver || (refuse_in && strstr(file, "libgputrace-agent") && !--refuse_in);
}

static void start(void)
{
	CUcontext primary;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&add, module, "add"));
	CHECK(cuModuleGetFunction(&far, module, "far"));
}

static uint64_t read_counter(void)
{
	CUdeviceptr address;
	uint64_t value;
	size_t size;

	CHECK(cuCtxSynchronize());
	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
	return value;
}

static void tell_attributes(CUfunction f)
{
	for (int i = 0; i <= CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE; i++) {
		int value = -1;
		CUresult r = cu.cuFuncGetAttribute(&value, (CUfunction_attribute)i, f);

		printf(" %d:%d", i, r ? -(int)r : value);
	}
	printf("\n");
}

static void tell_occupancy(CUfunction f)
{
	size_t shared;
	int blocks, threads;

	for (int i = 32; i <= 1024; i *= 2) {
		CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, i, 1024));
		printf(" %d", blocks);
	}
	CHECK(cuOccupancyMaxPotentialBlockSize(&blocks, &threads, f, NULL, 0, 0));
	CHECK(cuOccupancyAvailableDynamicSMemPerBlock(&shared, f, 2, 128));
	printf(" potential %d x %d, shared %zu\n", blocks, threads, shared);
}

static void tell_parameters(CUfunction f)
{
	size_t offset, size;

	for (size_t i = 0; cu.cuFuncGetParamInfo && !cu.cuFuncGetParamInfo(f, i, &offset, &size); i++)
		printf(" %zu+%zu", offset, size);
	printf("\n");
}

static void tell_list(void)
{
	CUfunction list[8];
	unsigned count = 0, untouched = 0;
	const char *name;

	CHECK(cuModuleGetFunctionCount(&count, module));
	/* More room than needed, with something in it that is no function. */
	memset(list, 0x5a, sizeof(list));
	CHECK(cuModuleEnumerateFunctions(list, 8, module));
	printf("%u functions:", count);
	for (unsigned i = 0; i < count; i++) {
		CHECK(cuFuncGetName(&name, list[i]));
		printf(" %s%s", name, list[i] == add || list[i] == far ? "" : "?");
	}
	for (unsigned i = count; i < 8; i++)
		untouched += (uintptr_t)list[i] == 0x5a5a5a5a5a5a5a5a;
	CHECK(cuModuleEnumerateFunctions(list, 1, module));
	CHECK(cuFuncGetName(&name, list[0]));
	printf("; %u untouched; first %s\n", untouched, name);
}

static void tell_library(void)
{
	CUkernel list[4] = { NULL }, kernel;
	unsigned count = 0;
	CUfunction function;
	CUlibrary library;
	int value = 0;
	size_t offset, size;

	CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, library, "far"));
	CHECK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel, 0));
	CHECK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
	CHECK(cuLibraryGetKernelCount(&count, library));
	CHECK(cuLibraryEnumerateKernels(list, count, library));
	CHECK(cuKernelGetFunction(&function, kernel));
	printf("library: %u kernels, %d registers, third parameter %d", count, value,
	       cu.cuKernelGetParamInfo(kernel, 2, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
	tell_attributes(function);
}

static void tell_node(void)
{
	uint64_t n = 3;
	uint32_t m = 0;
	void *params[] = { &n, &m };
	CUDA_KERNEL_NODE_PARAMS_v2 node = { .func = add, .gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32,
					    .blockDimY = 1, .blockDimZ = 1, .kernelParams = params }, told;
	CUgraphExec exec;
	CUgraphNode at;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	CHECK(cuGraphAddKernelNode_v2(&at, graph, NULL, 0, &node));
	CHECK(cuGraphKernelNodeGetParams_v2(at, &told));
	printf("node: same function %d, parameter %llu", told.func == add, (unsigned long long)*(uint64_t *)told.kernelParams[0]);
	/* As programs change one thing. */
	told.gridDimX = 5;
	CHECK(cuGraphKernelNodeSetParams_v2(at, &told));
	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, NULL));
	printf(", counter %llu\n", (unsigned long long)read_counter());
}

static void run_answers(void)
{
	uint64_t n = 1000;
	uint32_t bytes = 100000;
	void *params[] = { &n, &bytes };

	CHECK(cuFuncSetAttribute(far, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes));
	CHECK(cuFuncSetAttribute(far, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
	CHECK(cuFuncSetCacheConfig(far, CU_FUNC_CACHE_PREFER_SHARED));
	CHECK(cuLaunchKernel(far, 3, 1, 1, 256, 1, 1, bytes, NULL, params, NULL));
	printf("counter %llu\n", (unsigned long long)read_counter());
	for (int i = 0; i < 2; i++) {
		tell_attributes(i ? far : add);
		tell_occupancy(i ? far : add);
		tell_parameters(i ? far : add);
	}
	tell_list();
	tell_library();
	tell_node();
}

/* Blocks of the largest size, as many as there is room for: copies with more registers have less. */
static void run_cooperative(void)
{
	int blocks, processors;
	uint64_t n = 1;
	uint32_t m = 0;
	void *params[] = { &n, &m };

	CHECK(cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 1024, 0));
	CHECK(cuLaunchCooperativeKernel(add, (unsigned)(blocks * processors), 1, 1, 1024, 1, 1, 0, NULL, params));
	CHECK(cuLaunchCooperativeKernel(add, 1, 1, 1, 32, 1, 1, 0, NULL, params));
	printf("blocks %d counter %llu\n", blocks * processors, (unsigned long long)read_counter());
}

/* Threads 0 to 31 get the number of the next, the last its own: 1 + ... + 31 + 31. */
static const char old_ptx[] =
	".version 5.0\n.target sm_52\n.address_size 64\n"
	".global .align 8 .u64 counter;\n"
	".visible .entry shuffle()\n{\n"
	"	.reg .b32 %r<4>; .reg .b64 %rd<3>; mov.u32 %r1, %tid.x;\n"
	"	shfl.down.b32 %r2, %r1, 1, 31; cvt.u64.u32 %rd1, %r2; mov.u64 %rd2, counter;\n"
	"	red.global.add.u64 [%rd2], %rd1; ret;\n}\n";

static void run_old(void)
{
	CUfunction shuffle;

	CHECK(cuModuleLoadData(&module, old_ptx));
	CHECK(cuModuleGetFunction(&shuffle, module, "shuffle"));
	CHECK(cuLaunchKernel(shuffle, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	printf("counter %llu\n", (unsigned long long)read_counter());
}

typedef CUresult launch_fn(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream,
			   void **, void **);

/* The same function by its old and new names and numbers, and the one whose NULL is the thread's own stream. */
static void run_resolved(void)
{
	launch_fn *launch[4];
	CUdriverProcAddressQueryResult status;
	uint64_t n = 1;
	uint32_t m = 0;
	void *params[] = { &n, &m };

	CHECK(cuGetProcAddress("cuLaunchKernel", (void **)&launch[0], 7000, CU_GET_PROC_ADDRESS_DEFAULT));
	CHECK(cuGetProcAddress_v2("cuLaunchKernel", (void **)&launch[1], 4000, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
				  &status));
	CHECK(cuGetProcAddress_v2("cuLaunchKernel", (void **)&launch[2], 12000,
				  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	launch[3] = cu.cuLaunchKernel;
	for (int i = 0; i < 4; i++) {
		if (launch[i](add, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL))
			_exit(3);
	}
	printf("counter %llu\n", (unsigned long long)read_counter());
}

static const char twin_ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n"
	".global .align 8 .u64 counter;\n"
	".visible .entry twin()\n{\n"
	"	.reg .b64 %%rd; mov.u64 %%rd, counter; red.global.add.u64 [%%rd], %d; ret;\n}\n";

/* Of the second, twice as many threads run. */
static void run_twins(int times)
{
	char text[2][sizeof(twin_ptx) + 8];
	uint64_t sum = 0;
	long before = 0;
	CUfunction twin;

	for (int i = 0; i < 2; i++)
		snprintf(text[i], sizeof(text[i]), twin_ptx, i ? 1000 : 1);
	for (int i = 0; i < 2 * times; i++) {
		if (i == times / 5)
			before = resident();
		CHECK(cuModuleLoadData(&module, text[i % 2]));
		CHECK(cuModuleGetFunction(&twin, module, "twin"));
		CHECK(cuLaunchKernel(twin, 1, 1, 1, 1 + i % 2, 1, 1, 0, NULL, NULL, NULL));
		sum += read_counter();
		CHECK(cuModuleUnload(module));
	}
	printf("sum %llu %s\n", (unsigned long long)sum, resident() - before < 2 << 20 ? "flat" : "growing");
}

static int step, right_steps;

static void in_order(void *expected)
{
	right_steps += step++ == (int)(intptr_t)expected;
}

static void launch_with(CUlaunchAttribute *attributes, unsigned count, int per_thread)
{
	CUlaunchConfig config = { .gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1,
				  .blockDimZ = 1, .attrs = attributes, .numAttrs = count };
	uint64_t n = 1;
	uint32_t m = 0;
	void *params[] = { &n, &m };

	if (per_thread)
		CHECK(cuLaunchKernelEx_ptsz(&config, add, params, NULL));
	else
		CHECK(cuLaunchKernelEx(&config, add, params, NULL));
}

/* 7 launches of 4 x 32 threads. */
static void run_ways(void)
{
	CUlaunchAttribute attributes[] = {
		{ .id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value.clusterDim = { 2, 1, 1 } },
		{ .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
		  .value.programmaticStreamSerializationAllowed = 1 },
		{ .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 },
		{ .id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value.priority = 0 },
	};
	uint64_t n = 1;
	uint32_t m = 0;
	void *params[] = { &n, &m };

	CHECK(cuLaunchHostFunc(NULL, in_order, (void *)0));
	for (unsigned i = 0; i < 4; i++)
		launch_with(&attributes[i], 1, 0);
	CHECK(cuLaunchHostFunc(NULL, in_order, (void *)1));
	launch_with(attributes, 2, 0);
	CHECK(cuStreamSynchronize(NULL));
	CHECK(cuLaunchHostFunc_ptsz(NULL, in_order, (void *)2));
	launch_with(NULL, 0, 1);
	CHECK(cuLaunchKernel_ptsz(add, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	CHECK(cuLaunchHostFunc_ptsz(NULL, in_order, (void *)3));
	CHECK(cuStreamSynchronize_ptsz(NULL));
	printf("counter %llu, %d of 4 in order\n", (unsigned long long)read_counter(), right_steps);
}

/*
 * Each is alone in its module and leaves within a function: what programs need there is
 * shared memory.  `counts` uses a variable of its module.
 */
#define LEAVES \
	".version 7.0\n.target sm_80\n.address_size 64\n" \
	".extern .shared .align 16 .b8 d[];\n" \
	".func leave(.param .b64 pp) { .reg .b64 %rd; ld.param.u64 %rd, [pp]; red.global.add.u64 [%rd], 1; exit; }\n"
#define LEAVE "{ .param .b64 a; st.param.b64 [a], %rd1; call leave, (a); } }\n"

static const char adds_ptx[] = LEAVES
	".visible .entry adds(.param .u64 pp) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [pp];\n" LEAVE;
static const char counts_ptx[] = LEAVES
	".global .align 8 .u64 counter;\n"
	".visible .entry counts(.param .u64 pp) { .reg .b64 %rd<3>; ld.param.u64 %rd1, [pp];\n"
	"	mov.u64 %rd2, counter; red.global.add.u64 [%rd2], 1;\n" LEAVE;

static void launch_full(CUfunction f, const char *name, CUdeviceptr sum)
{
	void *params[] = { &sum };
	CUresult full, little;
	uint64_t value;

	CHECK(cuMemsetD8_v2(sum, 0, sizeof(value)));
	full = cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 48 * 1024, NULL, params, NULL);
	little = cu.cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 1024, NULL, params, NULL);
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH_v2(&value, sum, sizeof(value)));
	printf("%s: %d %d, %llu threads\n", name, (int)full, (int)little, (unsigned long long)value);
}

static void run_full_module(const char *text, const char *name, CUdeviceptr sum)
{
	CUmodule alone;
	CUfunction f;

	CHECK(cuModuleLoadData(&alone, text));
	CHECK(cuModuleGetFunction(&f, alone, name));
	launch_full(f, name, sum);
	CHECK(cuModuleUnload(alone));
}

/* Launch functions take kernels of libraries as they are. */
static void run_full_library(const char *text, const char *name, CUdeviceptr sum)
{
	CUlibrary alone;
	CUkernel kernel;

	CHECK(cuLibraryLoadData(&alone, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, alone, name));
	launch_full((CUfunction)kernel, name, sum);
	CHECK(cuLibraryUnload(alone));
}

static void run_full(void)
{
	CUdeviceptr sum;

	CHECK(cuMemAlloc_v2(&sum, sizeof(uint64_t)));
	run_full_module(adds_ptx, "adds", sum);
	run_full_library(adds_ptx, "adds", sum);
	run_full_module(counts_ptx, "counts", sum);
}

static void launch_lazy(CUresult got, CUfunction f, const char *name, CUdeviceptr sum)
{
	void *params[] = { &sum };
	uint64_t value;

	refuse_driver = false;
	CHECK(cuMemsetD8_v2(sum, 0, sizeof(value)));
	if (!got)
		CHECK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH_v2(&value, sum, sizeof(value)));
	printf("%s: %d, %llu threads\n", name, (int)got, (unsigned long long)value);
}

static void run_lazy_module(const char *text, const char *name, CUdeviceptr sum)
{
	CUfunction f = NULL;
	CUmodule late;
	CUresult got;

	CHECK(cuModuleLoadData(&late, text));
	refuse_driver = true;
	got = cu.cuModuleGetFunction(&f, late, name);
	launch_lazy(got, f, name, sum);
	CHECK(cuModuleUnload(late));
}

static void run_lazy_library(const char *text, const char *name, CUdeviceptr sum)
{
	CUcontext other, primary;
	CUfunction f = NULL;
	CUkernel kernel = NULL;
	CUlibrary late;
	CUresult got;

	CHECK(cuLibraryLoadData(&late, text, NULL, NULL, 0, NULL, NULL, 0));
	refuse_driver = true;
	got = cu.cuLibraryGetKernel(&kernel, late, name);
	launch_lazy(got, (CUfunction)kernel, name, sum);
	CHECK(cuLibraryUnload(late));

	/* A second context loads it when the kernel is first asked for there. */
	CHECK(cuLibraryLoadData(&late, text, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cuLibraryGetKernel(&kernel, late, name));
	CHECK(cuKernelGetFunction(&f, kernel));
	launch_lazy(CUDA_SUCCESS, f, name, sum);
	CHECK(cuCtxGetCurrent(&primary));
	CHECK(cuCtxCreate_v2(&other, 0, 0));
	refuse_driver = true;
	got = cu.cuKernelGetFunction(&f, kernel);
	launch_lazy(got, f, name, sum);
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuCtxDestroy_v2(other));
	CHECK(cuLibraryUnload(late));
}

static void run_lazy(void)
{
	CUdeviceptr sum;

	CHECK(cuMemAlloc_v2(&sum, sizeof(uint64_t)));
	run_lazy_module(adds_ptx, "adds", sum);
	run_lazy_library(adds_ptx, "adds", sum);
	run_lazy_module(counts_ptx, "counts", sum);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "lazy"))
		setenv("CUDA_MODULE_LOADING", "LAZY", 1);
	find_driver();
	if (!strcmp(what, "answers") && argc > 2)
		refuse_in = atoi(argv[2]);
	if (refuse_in || !strcmp(what, "lazy"))
		on_calloc = is_refused;
	start();
	if (!strcmp(what, "answers"))
		run_answers();
	else if (!strcmp(what, "cooperative"))
		run_cooperative();
	else if (!strcmp(what, "resolved"))
		run_resolved();
	else if (!strcmp(what, "twins"))
		run_twins(argc > 2 ? atoi(argv[2]) : 1);
	else if (!strcmp(what, "old"))
		run_old();
	else if (!strcmp(what, "full"))
		run_full();
	else if (!strcmp(what, "lazy"))
		run_lazy();
	else if (!strcmp(what, "ways"))
		run_ways();
	else
		return 2;
	return 0;
}
