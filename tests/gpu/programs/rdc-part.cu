/* SPDX-License-Identifier: Apache-2.0 */
/* The other file of rdc.cu. */
#include <cstdint>

__device__ uint32_t shared_total;

__device__ uint32_t twist(uint32_t value)
{
	for (int i = 0; i < 5; i++)
		value = value * 1664525u + 1013904223u;
	return value;
}

__global__ void elsewhere(uint32_t *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] ^= twist(threadIdx.x);
	atomicAdd(&shared_total, 10);
}
