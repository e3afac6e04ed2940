// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
#include <cuda/barrier>
namespace cg = cooperative_groups;

// Blocks of a cluster read and change one another's shared memory.
extern "C" __global__ void __cluster_dims__(4, 1, 1) neighbours(int *out)
{
	__shared__ int v[32];
	cg::cluster_group cluster = cg::this_cluster();

	v[threadIdx.x] = blockIdx.x * 100 + threadIdx.x;
	cluster.sync();
	int *other = cluster.map_shared_rank(v, (cluster.block_rank() + 1) % cluster.num_blocks());

	out[blockIdx.x * 32 + threadIdx.x] = other[threadIdx.x];
	cluster.sync();
	atomicAdd(&other[0], threadIdx.x);
	cluster.sync();
	if (!threadIdx.x)
		out[blockIdx.x * 32] = v[0];
}

// A barrier object and a bulk copy that reports to it.
extern "C" __global__ void bulk_copy(const int *in, int *out)
{
	__shared__ cuda::barrier<cuda::thread_scope_block> barrier;
	__shared__ alignas(16) int buffer[256];
	cg::thread_block block = cg::this_thread_block();

	if (!block.thread_rank())
		init(&barrier, block.size());
	block.sync();
	cuda::memcpy_async(block, buffer, in + blockIdx.x * 256, cuda::aligned_size_t<16>(1024), barrier);
	barrier.arrive_and_wait();
	int v = buffer[255 - threadIdx.x];

	auto token = barrier.arrive();
	barrier.wait(std::move(token));
	buffer[threadIdx.x] = v;
	barrier.arrive_and_wait();
	out[blockIdx.x * 256 + threadIdx.x] = buffer[threadIdx.x ^ 1];
}
