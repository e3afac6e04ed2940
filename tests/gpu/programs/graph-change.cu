/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Graphs that change: cloned, as a child of another, with new parameters for a node of
 * the executable, updated from another graph, a node switched off.
 */
#include "common.h"

#define WORDS 4096
#define KERNELS 3

static uint32_t *data;
static std::vector<uint32_t> right(WORDS);

__global__ void step(uint32_t *data, uint32_t value)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = data[i] * 1664525u + value;
}

static void follow(uint32_t value)
{
	for (uint32_t &word : right)
		word = word * 1664525u + value;
	tally(WORDS / 128, 128);
}

struct step_params {
	cudaKernelNodeParams params = {};
	uint32_t value;
	void *arguments[2];

	explicit step_params(uint32_t value) : value(value), arguments{ &data, &this->value }
	{
		params.func = (void *)step;
		params.gridDim = dim3(WORDS / 128);
		params.blockDim = dim3(128);
		params.kernelParams = arguments;
	}
};

/* A chain of kernels with the values first, first + 1, ... */
static cudaGraph_t chain(uint32_t first, cudaGraphNode_t nodes[KERNELS])
{
	cudaGraph_t graph;

	CHECK(cudaGraphCreate(&graph, 0));
	for (int i = 0; i < KERNELS; i++) {
		step_params step(first + i);

		CHECK(cudaGraphAddKernelNode(&nodes[i], graph, i ? &nodes[i - 1] : NULL, i ? 1 : 0, &step.params));
	}
	return graph;
}

static void launch(cudaGraphExec_t exec, std::vector<uint32_t> values)
{
	CHECK(cudaGraphLaunch(exec, 0));
	CHECK(cudaDeviceSynchronize());
	for (uint32_t value : values)
		follow(value);
}

static void change_executable(cudaGraph_t graph, cudaGraphNode_t nodes[KERNELS])
{
	cudaGraphNode_t others[KERNELS];
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t exec;
	step_params other(50);

	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec, { 1, 2, 3 });
	CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &other.params));
	launch(exec, { 1, 50, 3 });
	CHECK(cudaGraphNodeSetEnabled(exec, nodes[2], 0));
	launch(exec, { 1, 50 });
	CHECK(cudaGraphNodeSetEnabled(exec, nodes[2], 1));
	CHECK(cudaGraphExecUpdate(exec, chain(20, others), &info));
	launch(exec, { 20, 21, 22 });
	CHECK(cudaGraphExecDestroy(exec));
}

static void change_graph(cudaGraph_t graph, cudaGraphNode_t nodes[KERNELS])
{
	cudaGraphNode_t child, last;
	cudaGraph_t clone, parent;
	cudaGraphExec_t exec;
	step_params changed(7), after(9);

	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphKernelNodeSetParams(nodes[0], &changed.params));
	CHECK(cudaGraphInstantiate(&exec, clone, 0));
	launch(exec, { 1, 2, 3 });
	CHECK(cudaGraphExecDestroy(exec));

	CHECK(cudaGraphCreate(&parent, 0));
	CHECK(cudaGraphAddChildGraphNode(&child, parent, NULL, 0, graph));
	CHECK(cudaGraphAddKernelNode(&last, parent, &child, 1, &after.params));
	CHECK(cudaGraphInstantiate(&exec, parent, 0));
	launch(exec, { 7, 2, 3, 9 });
	launch(exec, { 7, 2, 3, 9 });
	CHECK(cudaGraphExecDestroy(exec));
}

int main(void)
{
	cudaGraphNode_t nodes[KERNELS];
	std::vector<uint32_t> host(WORDS);
	cudaGraph_t graph;

	CHECK(cudaMalloc(&data, WORDS * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, WORDS * sizeof(uint32_t)));
	graph = chain(1, nodes);
	change_executable(graph, nodes);
	change_graph(graph, nodes);
	CHECK(cudaMemcpy(host.data(), data, WORDS * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	require(host == right, "the values");
	report(checksum(host.data(), WORDS));
	return 0;
}
