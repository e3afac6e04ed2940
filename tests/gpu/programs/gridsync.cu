/* SPDX-License-Identifier: Apache-2.0 */
/* Cooperative grids that meet many times, started by the old call and by attribute. */
#include "common.h"

#include <cooperative_groups.h>

#define BLOCKS 32
#define WIDTH 128
#define N (BLOCKS * WIDTH)
#define ROUNDS 40

/* Each round a thread adds its neighbour's value in the next block, as it was before. */
__global__ void rounds(uint32_t *data, uint32_t *next)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	for (int round = 0; round < ROUNDS; round++) {
		next[i] = data[i] + data[(i + WIDTH) % N];
		grid.sync();
		uint32_t *swap = data;
		data = next;
		next = swap;
	}
}

static void launch_by_attribute(uint32_t *data, uint32_t *next)
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	config.gridDim = dim3(BLOCKS);
	config.blockDim = dim3(WIDTH);
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&config, rounds, data, next));
	tally(BLOCKS, WIDTH);
}

int main(void)
{
	std::vector<uint32_t> host(N), right(N), old;
	uint32_t *data, *next;
	void *arguments[] = { &data, &next };

	for (unsigned i = 0; i < N; i++)
		host[i] = right[i] = i * 2654435761u;
	CHECK(cudaMalloc(&data, N * sizeof(uint32_t)));
	CHECK(cudaMalloc(&next, N * sizeof(uint32_t)));
	CHECK(cudaMemcpy(data, host.data(), N * sizeof(uint32_t), cudaMemcpyHostToDevice));
	CHECK(cudaLaunchCooperativeKernel((const void *)rounds, dim3(BLOCKS), dim3(WIDTH), arguments, 0, 0));
	tally(BLOCKS, WIDTH);
	launch_by_attribute(data, next);
	CHECK(cudaMemcpy(host.data(), data, N * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (int round = 0; round < 2 * ROUNDS; round++) {
		old = right;
		for (unsigned i = 0; i < N; i++)
			right[i] = old[i] + old[(i + WIDTH) % N];
	}
	require(host == right, "neighbours' sums");
	report(checksum(host.data(), N));
	return 0;
}
