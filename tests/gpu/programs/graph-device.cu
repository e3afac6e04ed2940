/* SPDX-License-Identifier: Apache-2.0 */
/* A graph that a kernel launches from the GPU. */
#include "common.h"

__global__ void work(uint32_t *data)
{
	atomicAdd(&data[threadIdx.x], threadIdx.x + 1);
}

__global__ void start(cudaGraphExec_t graph)
{
	if (threadIdx.x == 0)
		cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
}

static cudaGraph_t capture(cudaStream_t stream, void (*fill)(cudaStream_t stream, void *data), void *data)
{
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	fill(stream, data);
	CHECK(cudaGetLastError());
	CHECK(cudaStreamEndCapture(stream, &graph));
	return graph;
}

int main(void)
{
	cudaGraphExec_t inner, outer;
	cudaStream_t stream;
	uint32_t *data, seen[64];

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&data, sizeof(seen)));
	CHECK(cudaMemset(data, 0, sizeof(seen)));
	CHECK(cudaGraphInstantiate(&inner, capture(stream, [](cudaStream_t to, void *data) {
		work<<<1, 64, 0, to>>>((uint32_t *)data);
	}, data), cudaGraphInstantiateFlagDeviceLaunch));
	CHECK(cudaGraphUpload(inner, stream));
	CHECK(cudaGraphInstantiate(&outer, capture(stream, [](cudaStream_t to, void *graph) {
		start<<<1, 32, 0, to>>>((cudaGraphExec_t)graph);
	}, inner), 0));
	for (int i = 0; i < 5; i++) {
		CHECK(cudaGraphLaunch(outer, stream));
		CHECK(cudaStreamSynchronize(stream));
		tally(1, 32);
		tally(1, 64);
	}
	CHECK(cudaMemcpy(seen, data, sizeof(seen), cudaMemcpyDeviceToHost));
	require(seen[0] == 5 && seen[63] == 5 * 64, "how often the inner graph ran");
	report(checksum(seen, 64));
	return 0;
}
