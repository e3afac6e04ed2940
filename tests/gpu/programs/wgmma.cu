/* SPDX-License-Identifier: Apache-2.0 */
/* A product by warpgroup instructions, which exist on sm_90a alone, beside a plain kernel in the same module. */
#include "common.h"

#include <cuda_fp16.h>

#define M 64
#define N 8
#define K 16
#define CORE 64		/* halves in 8 rows of 16 bytes */

/* Where an element lies in shared memory: core matrices, two side by side. */
__host__ __device__ static unsigned place(unsigned row, unsigned k)
{
	return (row / 8 * 2 + k / 8) * CORE + row % 8 * 8 + k % 8;
}

/* Address, distance of core matrices along k and along the rows; no swizzle. */
__device__ static uint64_t descriptor(const __half *matrix)
{
	uint64_t address = __cvta_generic_to_shared(matrix);

	return (address & 0x3ffff) >> 4 | (uint64_t)(CORE * 2 >> 4) << 16 | (uint64_t)(CORE * 4 >> 4) << 32;
}

__global__ void __launch_bounds__(128) product(const __half *a, const __half *b, float *out)
{
	__shared__ alignas(128) __half left[M * K], right[N * K];
	unsigned lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4, column = lane % 4 * 2;
	float d[4] = { 0, 0, 0, 0 };

	for (unsigned i = threadIdx.x; i < M * K; i += blockDim.x)
		left[i] = a[i];
	for (unsigned i = threadIdx.x; i < N * K; i += blockDim.x)
		right[i] = b[i];
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	asm volatile("wgmma.fence.sync.aligned;\n"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
		     "wgmma.commit_group.sync.aligned;\n"
		     "wgmma.wait_group.sync.aligned 0;\n"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "l"(descriptor(left)), "l"(descriptor(right)) : "memory");
	for (unsigned i = 0; i < 4; i++)
		out[(row + i / 2 * 8) * N + column + i % 2] = d[i];
}

__global__ void scale(float *data)
{
	data[threadIdx.x] *= 2;
}

int main(void)
{
	std::vector<__half> a(M * K), b(N * K);
	std::vector<float> host(M * N);
	__half *left, *right;
	float *out;

	for (unsigned k = 0; k < K; k++) {
		for (unsigned row = 0; row < M; row++)
			a[place(row, k)] = __float2half((float)(int)((row * 5 + k * 3) % 17 - 8.0f));
		for (unsigned column = 0; column < N; column++)
			b[place(column, k)] = __float2half((float)(int)((column * 7 + k * 11) % 13 - 6.0f));
	}
	CHECK(cudaMalloc(&left, a.size() * sizeof(__half)));
	CHECK(cudaMalloc(&right, b.size() * sizeof(__half)));
	CHECK(cudaMalloc(&out, host.size() * sizeof(float)));
	CHECK(cudaMemcpy(left, a.data(), a.size() * sizeof(__half), cudaMemcpyHostToDevice));
	CHECK(cudaMemcpy(right, b.data(), b.size() * sizeof(__half), cudaMemcpyHostToDevice));
	LAUNCH(product, 1, 128, 0, 0, left, right, out);
	LAUNCH(scale, 1, M * N, 0, 0, out);
	CHECK(cudaMemcpy(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
	for (unsigned row = 0; row < M; row++) {
		for (unsigned column = 0; column < N; column++) {
			float sum = 0;

			for (unsigned k = 0; k < K; k++)
				sum += __half2float(a[place(row, k)]) * __half2float(b[place(column, k)]);
			require(host[row * N + column] == 2 * sum, "an element of the product");
		}
	}
	report(checksum((uint32_t *)host.data(), host.size()));
	return 0;
}
