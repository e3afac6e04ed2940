/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA runtime opened with dlopen, its library functions, and launches of kernels by handle. */
#include "driver.h"

#define BLOCKS 8
#define WIDTH 64
#define N (BLOCKS * WIDTH)
#define ROUNDS 10

struct dim { unsigned x, y, z; };

#define RUNTIME(X) \
	X(cudaMalloc, (void **, size_t)) \
	X(cudaMemset, (void *, int, size_t)) \
	X(cudaMemcpy, (void *, const void *, size_t, int)) \
	X(cudaLibraryLoadData, (void **, const void *, void *, void *, unsigned, void *, void *, unsigned)) \
	X(cudaLibraryGetKernel, (void **, void *, const char *)) \
	X(cudaLaunchKernel, (const void *, struct dim, struct dim, void **, size_t, void *)) \
	X(cudaDeviceSynchronize, (void))
RUNTIME(DECLARE)

static const char ptx[] = STEP_PTX("step");

int main(void)
{
	void *runtime = dlopen("libcudart.so.13", RTLD_NOW), *library, *kernel, *out;
	struct dim grid = { BLOCKS, 1, 1 }, block = { WIDTH, 1, 1 };
	uint32_t seen[N], right = 0;

#define FIND_RUNTIME(name, parameters) *(void **)&name = driver_symbol(runtime, #name);
	RUNTIME(FIND_RUNTIME)
	CHECK(cudaMalloc(&out, sizeof(seen)));
	CHECK(cudaMemset(out, 0, sizeof(seen)));
	CHECK(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(cudaLibraryGetKernel(&kernel, library, "step"));
	for (uint32_t value = 0; value < ROUNDS; value++) {
		void *arguments[] = { &out, &value };

		CHECK(cudaLaunchKernel(kernel, grid, block, arguments, 0, NULL));
		right = right * 1664525u + value;
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaMemcpy(seen, out, sizeof(seen), 2));	/* to the host */
	for (unsigned i = 0; i < N; i++)
		require(seen[i] == right, "the values");
	report(ROUNDS, ROUNDS * N, checksum(seen, N));
	return 0;
}
