/* SPDX-License-Identifier: Apache-2.0 */
/* Memory from the stream-ordered pool, allocated and freed around kernels, in a stream and in a graph. */
#include "common.h"

#define N 4096

__global__ void fill(uint32_t *data, uint32_t seed)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = i * 2654435761u + seed;
}

__global__ void add(uint32_t *out, const uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] += data[N - 1 - i];
}

static void once(uint32_t *out, uint32_t seed, cudaStream_t stream)
{
	uint32_t *data;

	CHECK(cudaMallocAsync(&data, N * sizeof(uint32_t), stream));
	fill<<<N / 256, 256, 0, stream>>>(data, seed);
	add<<<N / 256, 256, 0, stream>>>(out, data);
	CHECK(cudaGetLastError());
	CHECK(cudaFreeAsync(data, stream));
}

int main(void)
{
	cudaStream_t stream;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	uint32_t *out;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMallocAsync(&out, N * sizeof(uint32_t), stream));
	CHECK(cudaMemsetAsync(out, 0, N * sizeof(uint32_t), stream));
	for (uint32_t seed = 0; seed < 5; seed++)
		once(out, seed, stream);
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	once(out, 5, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	tally(N / 256, 256, 2 * 8);
	report(checksum_device(out, N));
	return 0;
}
