/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor cores by wmma, and dot products of bytes. */
#include "common.h"

#include <mma.h>

#define SIZE 16

__global__ void product(const __half *a, const __half *b, float *out)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, SIZE, SIZE, SIZE, __half, row_major> left;
	fragment<matrix_b, SIZE, SIZE, SIZE, __half, col_major> right;
	fragment<accumulator, SIZE, SIZE, SIZE, float> sum;

	fill_fragment(sum, 1.0f);
	load_matrix_sync(left, a, SIZE);
	load_matrix_sync(right, b, SIZE);
	mma_sync(sum, left, right, sum);
	store_matrix_sync(out, sum, SIZE, mem_row_major);
}

__global__ void bytes(const int *a, int *out)
{
	out[threadIdx.x] = __dp4a(a[threadIdx.x], a[threadIdx.x ^ 1], (int)threadIdx.x);
}

int main(void)
{
	std::vector<__half> a(SIZE * SIZE), b(SIZE * SIZE);
	std::vector<float> host(SIZE * SIZE);
	__half *left, *right;
	uint64_t sum;
	float *out;

	for (int i = 0; i < SIZE * SIZE; i++) {
		a[i] = __float2half((float)(i % 11 - 5));
		b[i] = __float2half((float)(i % 7 - 3));
	}
	CHECK(cudaMalloc(&left, a.size() * sizeof(__half)));
	CHECK(cudaMalloc(&right, b.size() * sizeof(__half)));
	CHECK(cudaMalloc(&out, host.size() * sizeof(float)));
	CHECK(cudaMemcpy(left, a.data(), a.size() * sizeof(__half), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(right, b.data(), b.size() * sizeof(__half), cudaMemcpyHostToDevice));
	LAUNCH(product, 1, 32, 0, 0, left, right, out);
	CHECK(cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (int i = 0; i < SIZE * SIZE; i++) {
		float right = 1;

		for (int k = 0; k < SIZE; k++)
			right += __half2float(a[i / SIZE * SIZE + k]) * __half2float(b[i % SIZE * SIZE + k]);
		require(host[i] == right, "an element of the product");
	}
	sum = checksum((uint32_t *)host.data(), host.size());
	LAUNCH(bytes, 1, 128, 0, 0, (int *)left, (int *)out);
	report(sum ^ checksum_device((uint32_t *)out, 128) * 3);
	return 0;
}
