/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long kernels take on the GPU: a short vector addition, a tiled product of
 * matrices, a long one bound by memory.  For each one a line "time NAME NS": the
 * smallest mean of several batches of launches, queued behind a kernel that keeps the
 * GPU busy until they all are.
 */
#include "common.h"
#include "timing.h"

#define TILE 16

__global__ void vecadd(const float *a, const float *b, float *out, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] + b[i];
}

__global__ void matmul(const float *a, const float *b, float *out, unsigned n)
{
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (unsigned k = 0; k < n; k += TILE) {
		left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
		__syncthreads();
		for (unsigned j = 0; j < TILE; j++)
			sum += left[threadIdx.y][j] * right[j][threadIdx.x];
		__syncthreads();
	}
	out[row * n + column] = sum;
}

__global__ void stream(const float4 *a, float4 *out, unsigned n)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		float4 value = a[i];

		value.x += 1;
		value.y *= 3;
		out[i] = value;
	}
}

static float *upload(size_t count)
{
	std::vector<float> host(count);
	float *device;

	for (size_t i = 0; i < count; i++)
		host[i] = (float)((uint32_t)i * 2654435761u >> 28);
	CHECK(cudaMalloc(&device, count * sizeof(float)));
	CHECK(cudaMemcpy(device, host.data(), count * sizeof(float), cudaMemcpyHostToDevice));
	return device;
}

int main(void)
{
	const unsigned small = 1 << 20, side = 768, large = 1 << 28;	/* the last in elements of 16 bytes */
	float *a = upload(small), *b = upload(small), *out, *big, *far;
	uint64_t sum;

	CHECK(cudaMalloc(&out, small * sizeof(float)));
	CHECK(cudaMalloc(&big, (size_t)large * sizeof(float4)));
	CHECK(cudaMalloc(&far, (size_t)large * sizeof(float4)));
	CHECK(cudaMemset(big, 0, (size_t)large * sizeof(float4)));
	time("vecadd", 40, [=] { vecadd<<<small / 256, 256>>>(a, b, out, small); });
	sum = checksum_device((uint32_t *)out, small);
	time("matmul", 4, [=] { matmul<<<dim3(side / TILE, side / TILE), dim3(TILE, TILE)>>>(a, b, out, side); });
	sum ^= checksum_device((uint32_t *)out, side * side) * 3;
	time("stream", 1, [=] { stream<<<132 * 8, 256>>>((float4 *)big, (float4 *)far, large); });
	sum ^= checksum_device((uint32_t *)far, small) * 5;
	report_checksum(sum);
	return 0;
}
