/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by cuBLAS, in single, double and half precision, batched and with a vector. */
#include "common.h"

#include <cublas_v2.h>
#include <cuda_fp16.h>

#define N 96
#define BATCH 4

#define BLAS(call) require((call) == CUBLAS_STATUS_SUCCESS, #call)

/* Small integers: every sum is exact, in whatever order it is made. */
static int element(unsigned seed, unsigned i)
{
	return (int)((i * 2654435761u + seed) >> 28) - 8;
}

template <typename T> static T *matrix(unsigned seed, size_t count)
{
	std::vector<T> host(count);
	T *device;

	for (size_t i = 0; i < count; i++)
		host[i] = (T)(float)element(seed, i);
	CHECK(cudaMalloc(&device, count * sizeof(T)));
	CHECK(cudaMemcpy(device, host.data(), count * sizeof(T), cudaMemcpyHostToDevice));
	return device;
}

/* Column by column, as cuBLAS has them. */
template <typename T> static void verify(const T *device, unsigned batch, unsigned columns, const char *what)
{
	std::vector<T> host(batch * N * columns);

	CHECK(cudaMemcpy(host.data(), device, host.size() * sizeof(T), cudaMemcpyDeviceToHost));
	for (size_t at = 0; at < host.size(); at++) {
		size_t matrix = at / (N * columns), row = at % N, column = at / N % columns;
		int sum = 0;

		for (unsigned k = 0; k < N; k++)
			sum += element(1, matrix * N * N + k * N + row) *
			       element(2, matrix * N * columns + column * N + k);
		require(host[at] == (T)sum, what);
	}
}

int main(void)
{
	float *a = matrix<float>(1, BATCH * N * N), *b = matrix<float>(2, BATCH * N * N), *c = matrix<float>(0, BATCH * N * N);
	double *da = matrix<double>(1, N * N), *db = matrix<double>(2, N * N), *dc = matrix<double>(0, N * N);
	__half *ha = matrix<__half>(1, N * N), *hb = matrix<__half>(2, N * N);
	const float one = 1, zero = 0;
	const double done = 1, dzero = 0;
	cublasHandle_t blas;
	uint64_t sum;

	BLAS(cublasCreate(&blas));
	BLAS(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, b, N, &zero, c, N));
	verify(c, 1, N, "single precision");
	sum = checksum_device((uint32_t *)c, N * N);
	BLAS(cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &done, da, N, db, N, &dzero, dc, N));
	verify(dc, 1, N, "double precision");
	sum ^= checksum_device((uint32_t *)dc, 2 * N * N) * 3;
	BLAS(cublasGemmEx(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, ha, CUDA_R_16F, N, hb, CUDA_R_16F, N, &zero, c,
			  CUDA_R_32F, N, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
	verify(c, 1, N, "half precision");
	sum ^= checksum_device((uint32_t *)c, N * N) * 5;
	BLAS(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N, N * N, b, N, N * N, &zero, c, N,
				       N * N, BATCH));
	verify(c, BATCH, N, "batched");
	sum ^= checksum_device((uint32_t *)c, BATCH * N * N) * 7;
	BLAS(cublasSgemv(blas, CUBLAS_OP_N, N, N, &one, a, N, b, 1, &zero, c, 1));
	verify(c, 1, 1, "matrix and vector");
	sum ^= checksum_device((uint32_t *)c, N) * 11;
	BLAS(cublasDestroy(blas));
	report_checksum(sum);
	return 0;
}
