/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous copies: by thread, in bulk with a barrier in shared memory, and of a tensor's tile. */
#include "common.h"

#include <cuda.h>

#define WIDTH 128
#define BLOCKS 8
#define N (WIDTH * BLOCKS)
#define TILE 32

__global__ void by_thread(const uint32_t *in, uint32_t *out)
{
	__shared__ alignas(16) uint32_t buffer[WIDTH * 4];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t to = __cvta_generic_to_shared(&buffer[threadIdx.x * 4]);

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(to), "l"(in + i * 4) : "memory");
	asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
	__syncthreads();
	out[i] = buffer[(WIDTH - 1 - threadIdx.x) * 4 + 1];
}

__device__ static void barrier_init(uint32_t barrier)
{
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 1;\nfence.proxy.async;" :: "r"(barrier) : "memory");
	__syncthreads();
}

__device__ static void barrier_expect(uint32_t barrier, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(barrier), "r"(bytes) : "memory");
}

__device__ static void barrier_wait(uint32_t barrier)
{
	asm volatile("{\n"
		     ".reg .pred done;\n"
		     "again:\n"
		     "mbarrier.try_wait.parity.shared.b64 done, [%0], 0;\n"
		     "@!done bra again;\n"
		     "}" :: "r"(barrier) : "memory");
}

__global__ void bulk(const uint32_t *in, uint32_t *out)
{
	__shared__ alignas(16) uint32_t buffer[WIDTH];
	__shared__ alignas(8) uint64_t barrier;
	uint32_t to = __cvta_generic_to_shared(buffer), at = __cvta_generic_to_shared(&barrier);
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	barrier_init(at);
	if (threadIdx.x == 0) {
		barrier_expect(at, sizeof(buffer));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
			     :: "r"(to), "l"(in + blockIdx.x * WIDTH), "r"((uint32_t)sizeof(buffer)), "r"(at) : "memory");
	}
	barrier_wait(at);
	out[i] += buffer[threadIdx.x ^ 5] * 3;
}

/* The tensor's description is a parameter of 128 bytes, whose address the instruction takes. */
__global__ void tile(const __grid_constant__ CUtensorMap map, uint32_t *out)
{
	__shared__ alignas(128) uint32_t buffer[TILE * TILE];
	__shared__ alignas(8) uint64_t barrier;
	uint32_t to = __cvta_generic_to_shared(buffer), at = __cvta_generic_to_shared(&barrier);

	barrier_init(at);
	if (threadIdx.x == 0) {
		barrier_expect(at, sizeof(buffer));
		asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
			     "[%0], [%1, {%2, %3}], [%4];"
			     :: "r"(to), "l"(&map), "r"(0), "r"(blockIdx.x * TILE), "r"(at) : "memory");
	}
	barrier_wait(at);
	for (unsigned i = threadIdx.x; i < TILE * TILE; i += blockDim.x)
		out[blockIdx.x * TILE * TILE + i] = buffer[i % TILE * TILE + i / TILE];
}

static CUtensorMap describe(uint32_t *data, unsigned rows)
{
	typedef CUresult encode(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
				const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
				CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
	cuuint64_t sizes[] = { TILE, rows }, strides[] = { TILE * sizeof(uint32_t) };
	cuuint32_t box[] = { TILE, TILE }, steps[] = { 1, 1 };
	cudaDriverEntryPointQueryResult found;
	CUtensorMap map;
	void *function;

	CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found));
	require(function && !((encode *)function)(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, data, sizes, strides, box, steps,
						  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
						  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
		"cuTensorMapEncodeTiled");
	return map;
}

int main(void)
{
	std::vector<uint32_t> host(4 * N), seen(4 * N);
	uint32_t *in, *out;

	for (unsigned i = 0; i < 4 * N; i++)
		host[i] = i * 2654435761u;
	CHECK(cudaMalloc(&in, 4 * N * sizeof(uint32_t)));
	CHECK(cudaMalloc(&out, 4 * N * sizeof(uint32_t)));
	CHECK(cudaMemcpy(in, host.data(), 4 * N * sizeof(uint32_t), cudaMemcpyHostToDevice));
	LAUNCH(by_thread, BLOCKS, WIDTH, 0, 0, in, out);
	LAUNCH(bulk, BLOCKS, WIDTH, 0, 0, in, out);
	CHECK(cudaMemcpy(seen.data(), out, N * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < N; i++) {
		unsigned mirror = i / WIDTH * WIDTH + WIDTH - 1 - i % WIDTH;

		require(seen[i] == host[mirror * 4 + 1] + 3 * host[i ^ 5], "a copied word");
	}
	LAUNCH(tile, 4 * N / (TILE * TILE), 64, 0, 0, describe(in, 4 * N / TILE), out);
	CHECK(cudaMemcpy(seen.data(), out, 4 * N * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < 4 * N; i++) {
		unsigned first = i / (TILE * TILE) * TILE * TILE, at = i - first;

		require(seen[i] == host[first + at % TILE * TILE + at / TILE], "a word of a tile");
	}
	report(checksum(seen.data(), 4 * N));
	return 0;
}
