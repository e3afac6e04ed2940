/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long kernels of libraries' kind take on the GPU: a layer norm of some 20 us, and
 * cuBLAS' product of two matrices of 4096 x 4096 in bf16, which is machine code only.
 * Lines as those of speed.cu.
 */
#include <cublas_v2.h>
#include <cuda_bf16.h>

#include "common.h"
#include "timing.h"

#define WIDTH 1024
#define ROWS 8192
#define SIDE 4096

/* A block for each row. */
__global__ void layernorm(const float4 *in, float4 *out)
{
	__shared__ float sums[2][WIDTH / 4 / 32];
	unsigned lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	float4 v = in[blockIdx.x * (WIDTH / 4) + threadIdx.x];
	float sum = v.x + v.y + v.z + v.w, square = v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w, mean, scale;

	for (unsigned step = 16; step; step /= 2) {
		sum += __shfl_xor_sync(~0u, sum, step);
		square += __shfl_xor_sync(~0u, square, step);
	}
	if (!lane) {
		sums[0][warp] = sum;
		sums[1][warp] = square;
	}
	__syncthreads();
	sum = square = 0;
	for (unsigned i = 0; i < WIDTH / 4 / 32; i++) {
		sum += sums[0][i];
		square += sums[1][i];
	}
	mean = sum / WIDTH;
	scale = rsqrtf(square / WIDTH - mean * mean + 1e-5f);
	v.x = (v.x - mean) * scale;
	v.y = (v.y - mean) * scale;
	v.z = (v.z - mean) * scale;
	v.w = (v.w - mean) * scale;
	out[blockIdx.x * (WIDTH / 4) + threadIdx.x] = v;
}

int main(void)
{
	std::vector<float> host((size_t)ROWS * WIDTH);
	std::vector<__nv_bfloat16> halves((size_t)SIDE * SIDE);
	__nv_bfloat16 *a, *b, *product;
	float *in, *out, one = 1, zero = 0;
	cublasHandle_t handle;
	uint64_t sum;

	for (size_t i = 0; i < host.size(); i++)
		host[i] = (float)((uint32_t)i * 2654435761u >> 28);
	for (size_t i = 0; i < halves.size(); i++)
		halves[i] = __float2bfloat16((float)((uint32_t)i * 2654435761u >> 30));
	CHECK(cudaMalloc(&in, host.size() * sizeof(float)));
	CHECK(cudaMalloc(&out, host.size() * sizeof(float)));
	CHECK(cudaMemcpy(in, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
	for (__nv_bfloat16 **matrix : { &a, &b, &product }) {
		CHECK(cudaMalloc(matrix, halves.size() * sizeof(**matrix)));
		CHECK(cudaMemcpy(*matrix, halves.data(), halves.size() * sizeof(**matrix), cudaMemcpyHostToDevice));
	}
	if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS)
		return 1;
	time("layernorm", 20, [=] { layernorm<<<ROWS, WIDTH / 4>>>((float4 *)in, (float4 *)out); });
	sum = checksum_device((uint32_t *)out, ROWS * WIDTH);
	time("gemm", 10, [&] {
		cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, SIDE, SIDE, SIDE, &one, a, CUDA_R_16BF, SIDE, b, CUDA_R_16BF,
			     SIDE, &zero, product, CUDA_R_16BF, SIDE, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
	});
	sum ^= checksum_device((uint32_t *)product, SIDE * SIDE / 2) * 3;
	report_checksum(sum);
	return 0;
}
