/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program, built in four ways: with the CUDA runtime linked statically or as a shared
 * library, opened with dlopen (-DDLOPEN), or with the driver API alone (-DDRIVER).
 */
#include "driver.h"

#define BLOCKS 8
#define WIDTH 64
#define N (BLOCKS * WIDTH)
#define ROUNDS 10

static const char ptx[] = STEP_PTX("step");
static uint64_t out;

#ifdef DRIVER
static void *open_kernel(void)
{
	void *module, *function;

	driver_open();
	CHECK(cuMemAlloc_v2(&out, N * sizeof(uint32_t)));
	CHECK(cuMemsetD32_v2(out, 0, N));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "step"));
	return function;
}

static void launch(void *kernel, void **arguments)
{
	CHECK(cuLaunchKernel(kernel, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, arguments, NULL));
}

static void read_back(uint32_t seen[N])
{
	CHECK(cuCtxSynchronize());
	CHECK(cuMemcpyDtoH_v2(seen, out, N * sizeof(uint32_t)));
}
#else
struct dim { unsigned x, y, z; };

#define TO_HOST 2
#define RUNTIME(X) \
	X(cudaMalloc, (void *, size_t)) \
	X(cudaMemset, (uint64_t, int, size_t)) \
	X(cudaMemcpy, (void *, uint64_t, size_t, int)) \
	X(cudaLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cudaLibraryGetKernel, (void **, void *, const char *)) \
	X(cudaLaunchKernel, (const void *, struct dim, struct dim, void **, size_t, void *)) \
	X(cudaDeviceSynchronize, (void))
#ifdef DLOPEN
RUNTIME(DECLARE)

static void open_runtime(void)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW);

#define FIND_RUNTIME(name, parameters) *(void **)&name = driver_symbol(runtime, #name);
	RUNTIME(FIND_RUNTIME)
}
#else
#define LINKED(name, parameters) extern int name parameters;
RUNTIME(LINKED)

static void open_runtime(void)
{
}
#endif

static void *open_kernel(void)
{
	void *library, *kernel;

	open_runtime();
	CHECK(cudaMalloc(&out, N * sizeof(uint32_t)));
	CHECK(cudaMemset(out, 0, N * sizeof(uint32_t)));
	CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cudaLibraryGetKernel(&kernel, library, "step"));
	return kernel;
}

static void launch(void *kernel, void **arguments)
{
	CHECK(cudaLaunchKernel(kernel, (struct dim){ BLOCKS, 1, 1 }, (struct dim){ WIDTH, 1, 1 }, arguments, 0, NULL));
}

static void read_back(uint32_t seen[N])
{
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(seen, out, N * sizeof(uint32_t), TO_HOST));
}
#endif

int main(void)
{
	void *kernel = open_kernel();
	uint32_t seen[N], right = 0;

	for (uint32_t value = 0; value < ROUNDS; value++) {
		void *arguments[] = { &out, &value };

		launch(kernel, arguments);
		right = right * 1664525u + value;
	}
	read_back(seen);
	for (unsigned i = 0; i < N; i++)
		require(seen[i] == right, "the values");
	report(ROUNDS, ROUNDS * N, checksum(seen, N));
	return 0;
}
