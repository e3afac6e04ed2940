/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of every shape: a cooperative grid, 64 KiB of dynamic shared memory,
 * 32 KiB of constants, launch bounds at the limit of registers, three dimensions.
 */
#include "common.h"

#include <cooperative_groups.h>

#define CONSTANTS 8192

__constant__ uint32_t constants[CONSTANTS];

__global__ void cooperative(uint32_t *data, unsigned n)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = i * 7;
	grid.sync();
	uint32_t other = data[(i + n / 2) % n];
	grid.sync();
	data[i] += other;
}

__global__ void shared(uint32_t *data)
{
	extern __shared__ uint32_t buffer[];

	for (unsigned i = threadIdx.x; i < 16384; i += blockDim.x)
		buffer[i] = i * 3 + blockIdx.x;
	__syncthreads();
	data[blockIdx.x * blockDim.x + threadIdx.x] += buffer[16383 - threadIdx.x * 16];
}

__global__ void constant(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] ^= constants[i % CONSTANTS];
}

/* Sixty-four values that all stay alive, and no more than 64 registers to keep them in. */
__global__ void __launch_bounds__(1024, 1) bounds(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t values[64];

#pragma unroll
	for (int k = 0; k < 64; k++)
		values[k] = data[(i + k * 32) % 4096] + k;
	__syncthreads();
#pragma unroll
	for (int k = 0; k < 64; k++)
		data[i] = data[i] * 31 + values[63 - k];
}

__global__ void cube(uint32_t *data)
{
	unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	unsigned thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	data[block * 105 + thread] += block + thread;
}

int main(void)
{
	const unsigned n = 8192;
	std::vector<uint32_t> table(CONSTANTS);
	unsigned length = n;
	uint32_t *data;
	uint64_t sum;
	void *arguments[] = { &data, &length };

	for (unsigned i = 0; i < CONSTANTS; i++)
		table[i] = i * 2246822519u;
	CHECK(cudaMemcpyToSymbol(constants, table.data(), CONSTANTS * sizeof(uint32_t)));
	CHECK(cudaMalloc(&data, n * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, n * sizeof(uint32_t)));

	CHECK(cudaLaunchCooperativeKernel((const void *)cooperative, dim3(n / 128), dim3(128), arguments, 0, 0));
	tally(n / 128, 128);
	sum = checksum_device(data, n);
	CHECK(cudaFuncSetAttribute(shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
	LAUNCH(shared, n / 1024, 1024, 65536, 0, data);
	sum ^= checksum_device(data, n);
	LAUNCH(constant, n / 256, 256, 0, 0, data);
	sum ^= checksum_device(data, n) * 3;
	LAUNCH(bounds, 1, 1024, 0, 0, data);
	LAUNCH(cube, dim3(2, 3, 5), dim3(7, 5, 3), 0, 0, data);
	sum ^= checksum_device(data, n) * 5;
	report(sum);
	return 0;
}
