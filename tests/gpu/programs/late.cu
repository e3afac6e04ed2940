/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To be attached to when all its code has been loaded and run: late FILE.  A round is one launch of
 * each kernel and one product by cuBLAS; every round's results are compared with what they must be,
 * until the file says that it is enough.
 */
#include "common.h"
#include "rounds.h"

#include <cublas_v2.h>

#define THREADS 256
#define N 64

__device__ unsigned counter;

__global__ void plain(unsigned *out, unsigned add)
{
	out[blockIdx.x * THREADS + threadIdx.x] += add;
}

/* Its module's variable must stay the only one. */
__global__ void counting(void)
{
	atomicAdd(&counter, 1);
}

/* More dynamic shared memory than without being asked for. */
__global__ void large(unsigned *out)
{
	extern __shared__ unsigned room[];

	for (unsigned i = threadIdx.x; i < 20000; i += THREADS)
		room[i] = i;
	__syncthreads();
	out[threadIdx.x] = room[19999 - threadIdx.x];
}

static void verify_plain(const unsigned *device, unsigned value)
{
	std::vector<unsigned> host(4 * THREADS);

	CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
	for (unsigned word : host)
		require(word == value, "plain");
}

static void verify_large(const unsigned *device)
{
	std::vector<unsigned> host(THREADS);

	CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < THREADS; i++)
		require(host[i] == 19999 - i, "large");
}

static void verify_counter(unsigned value)
{
	unsigned have;

	CHECK(cudaMemcpyFromSymbol(&have, counter, sizeof(have)));
	require(have == value, "the variable");
}

/* Of ones: each sum is N. */
static void verify_product(const float *device)
{
	std::vector<float> host(N * N);

	CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (float sum : host)
		require(sum == N, "cuBLAS");
}

int main(int argc, char **argv)
{
	volatile struct rounds *rounds = rounds_open(argc > 1 ? argv[argc - 1] : "");
	std::vector<float> ones(N * N, 1);
	const float one = 1, zero = 0;
	unsigned *out, *large_out;
	cublasHandle_t blas;
	float *a, *c;

	CHECK(cudaMalloc(&out, 4 * THREADS * sizeof(*out)));
	CHECK(cudaMemset(out, 0, 4 * THREADS * sizeof(*out)));
	CHECK(cudaMalloc(&large_out, THREADS * sizeof(*out)));
	CHECK(cudaMalloc(&a, N * N * sizeof(*a)));
	CHECK(cudaMalloc(&c, N * N * sizeof(*c)));
	CHECK(cudaMemcpy(a, ones.data(), N * N * sizeof(*a), cudaMemcpyHostToDevice));
	CHECK(cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 80000));
	require(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
	for (unsigned round = 1; !rounds->enough; round++) {
		LAUNCH(plain, 4, THREADS, 0, 0, out, 3);
		LAUNCH(counting, 2, THREADS, 0, 0);
		LAUNCH(large, 1, THREADS, 80000, 0, large_out);
		CHECK(cudaMemset(c, 0, N * N * sizeof(*c)));
		require(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, a, N, &zero, c, N) ==
			CUBLAS_STATUS_SUCCESS, "cublasSgemm");
		CHECK(cudaDeviceSynchronize());
		verify_plain(out, 3 * round);
		verify_counter(2 * THREADS * round);
		verify_large(large_out);
		verify_product(c);
		rounds->done = round;
	}
	printf("right\n");
	return 0;
}
