/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph of 24 kernels and 7 copies, replayed: graph [--nodes] [--replays N];
 * captured from a stream, or with --nodes built node by node.
 */
#include "common.h"

#define KERNELS 24
#define COPIES 7
#define WORDS 4096

__global__ void step(uint32_t *data, uint32_t value)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = data[i] * 1664525u + value;
}

static void capture(cudaGraph_t *graph, uint32_t *data, uint32_t *copy)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < KERNELS; i++) {
		step<<<WORDS / 128, 128, 0, stream>>>(data, i);
		CHECK(cudaGetLastError());
		if (i < COPIES)
			CHECK(cudaMemcpyAsync(copy + i * WORDS, data, WORDS * sizeof(uint32_t), cudaMemcpyDeviceToDevice,
					      stream));
	}
	CHECK(cudaStreamEndCapture(stream, graph));
	CHECK(cudaStreamDestroy(stream));
}

static void build(cudaGraph_t *graph, uint32_t *data, uint32_t *copy)
{
	cudaGraphNode_t last = NULL, node;

	CHECK(cudaGraphCreate(graph, 0));
	for (int i = 0; i < KERNELS; i++) {
		uint32_t value = i;
		void *arguments[] = { &data, &value };
		cudaKernelNodeParams params = {};

		params.func = (void *)step;
		params.gridDim = dim3(WORDS / 128);
		params.blockDim = dim3(128);
		params.kernelParams = arguments;
		CHECK(cudaGraphAddKernelNode(&node, *graph, last ? &last : NULL, last ? 1 : 0, &params));
		last = node;
		if (i >= COPIES)
			continue;
		CHECK(cudaGraphAddMemcpyNode1D(&node, *graph, &last, 1, copy + i * WORDS, data,
					       WORDS * sizeof(uint32_t), cudaMemcpyDeviceToDevice));
		last = node;
	}
}

int main(int argc, char **argv)
{
	unsigned long replays = option(argc, argv, "--replays", 20);
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	uint32_t *data, *copy;

	CHECK(cudaMalloc(&data, WORDS * sizeof(uint32_t)));
	CHECK(cudaMalloc(&copy, COPIES * WORDS * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, WORDS * sizeof(uint32_t)));
	if (has(argc, argv, "--nodes"))
		build(&graph, data, copy);
	else
		capture(&graph, data, copy);
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (unsigned long i = 0; i < replays; i++)
		CHECK(cudaGraphLaunch(exec, 0));
	CHECK(cudaDeviceSynchronize());
	for (int i = 0; i < KERNELS; i++)
		tally(WORDS / 128, 128, replays);
	report(checksum_device(data, WORDS) ^ checksum_device(copy, COPIES * WORDS));
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
	return 0;
}
