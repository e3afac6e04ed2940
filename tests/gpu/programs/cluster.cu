/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters of blocks that read each other's shared memory: sizes in the code, and by attribute. */
#include "common.h"

#include <cooperative_groups.h>

#define WIDTH 128
#define BLOCKS 16
#define N (BLOCKS * WIDTH)

/* Each thread takes what the same thread of the next block in its cluster has. */
__device__ void exchange(uint32_t *data)
{
	cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
	__shared__ uint32_t buffer[WIDTH];

	buffer[threadIdx.x] = data[i];
	cluster.sync();
	data[i] = *cluster.map_shared_rank(&buffer[threadIdx.x], next) * 3 + cluster.num_blocks();
	cluster.sync();
}

__global__ void __cluster_dims__(4, 1, 1) fixed(uint32_t *data)
{
	exchange(data);
}

__global__ void chosen(uint32_t *data)
{
	exchange(data);
}

static void launch_chosen(uint32_t *data, unsigned size)
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = size;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.gridDim = dim3(BLOCKS);
	config.blockDim = dim3(WIDTH);
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&config, chosen, data));
	tally(BLOCKS, WIDTH);
}

static void follow(std::vector<uint32_t> &data, unsigned size)
{
	std::vector<uint32_t> old = data;

	for (unsigned i = 0; i < N; i++) {
		unsigned block = i / WIDTH, first = block / size * size;
		unsigned next = first + (block - first + 1) % size;

		data[i] = old[next * WIDTH + i % WIDTH] * 3 + size;
	}
}

int main(void)
{
	std::vector<uint32_t> host(N), right(N);
	uint32_t *data;

	for (unsigned i = 0; i < N; i++)
		host[i] = right[i] = i * 2654435761u;
	CHECK(cudaMalloc(&data, N * sizeof(uint32_t)));
	CHECK(cudaMemcpy(data, host.data(), N * sizeof(uint32_t), cudaMemcpyHostToDevice));
	LAUNCH(fixed, BLOCKS, WIDTH, 0, 0, data);
	launch_chosen(data, 2);
	launch_chosen(data, 8);
	CHECK(cudaMemcpy(host.data(), data, N * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	follow(right, 4);
	follow(right, 2);
	follow(right, 8);
	require(host == right, "values of the neighbours");
	report(checksum(host.data(), N));
	return 0;
}
