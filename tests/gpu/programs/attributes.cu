/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program asks of its kernels before it launches them: attributes, occupancy,
 * block size; the answers must go with the code that runs.
 */
#include "common.h"

__global__ void small(uint32_t *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += blockDim.x;
}

__global__ void __launch_bounds__(256) buffered(uint32_t *data)
{
	__shared__ uint32_t fixed[300];
	extern __shared__ uint32_t room[];

	fixed[threadIdx.x] = data[threadIdx.x];
	room[threadIdx.x] = fixed[threadIdx.x] * 3;
	__syncthreads();
	data[blockIdx.x * blockDim.x + threadIdx.x] += room[blockDim.x - 1 - threadIdx.x] + fixed[threadIdx.x];
}

int main(void)
{
	cudaFuncAttributes attributes;
	int grid, block, blocks;
	uint32_t *data;
	uint64_t sum;

	CHECK(cudaMalloc(&data, 1 << 20));
	CHECK(cudaMemset(data, 0, 1 << 20));
	CHECK(cudaFuncGetAttributes(&attributes, buffered));
	printf("shared %zu\nconstant %zu\nblock %d\n", attributes.sharedSizeBytes, attributes.constSizeBytes,
	       attributes.maxThreadsPerBlock);
	CHECK(cudaFuncSetAttribute(buffered, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
	CHECK(cudaFuncSetAttribute(buffered, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
	CHECK(cudaFuncGetAttributes(&attributes, buffered));
	printf("dynamic %d\ncarve-out %d\n", attributes.maxDynamicSharedSizeBytes, attributes.preferredShmemCarveout);
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, buffered, 256, 100000));
	printf("occupancy %d\n", blocks);
	LAUNCH(buffered, 2 * blocks, 256, 100000, 0, data);
	sum = checksum_device(data, 512 * blocks);

	/* The largest block that the driver says can run must run. */
	CHECK(cudaFuncGetAttributes(&attributes, small));
	LAUNCH(small, 2, attributes.maxThreadsPerBlock, 0, 0, data);
	CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, small));
	require(grid > 0 && block > 0 && block <= attributes.maxThreadsPerBlock, "the suggested block");
	LAUNCH(small, 2, block, 0, 0, data);
	CHECK(cudaDeviceSynchronize());
	report(sum);
	return 0;
}
