/* SPDX-License-Identifier: Apache-2.0 */
/* Relocatable device code: a kernel that calls into another file, with a variable and a kernel of that. */
#include "common.h"

extern __device__ uint32_t shared_total;
extern __device__ uint32_t twist(uint32_t value);
extern __global__ void elsewhere(uint32_t *data);

__global__ void here(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = twist(data[i] + i);
	atomicAdd(&shared_total, 1);
}

int main(void)
{
	uint32_t *data, total;

	CHECK(cudaMalloc(&data, 4096 * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, 4096 * sizeof(uint32_t)));
	LAUNCH(here, 16, 256, 0, 0, data);
	LAUNCH(elsewhere, 16, 256, 0, 0, data);
	CHECK(cudaMemcpyFromSymbol(&total, shared_total, sizeof(total)));
	require(total == 4096 * 11, "the variable of the other file");
	report(checksum_device(data, 4096));
	return 0;
}
