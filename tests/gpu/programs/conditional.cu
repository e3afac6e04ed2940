/* SPDX-License-Identifier: Apache-2.0 */
/* A graph whose kernel decides how often the body of a loop runs. */
#include "common.h"

#define ROUNDS 6

__global__ void body(uint32_t *count, cudaGraphConditionalHandle again)
{
	uint32_t value = atomicAdd(count, 1) + 1;

	if (value % ROUNDS == 0)
		cudaGraphSetConditional(again, 0);
}

__global__ void after(uint32_t *count)
{
	count[1 + threadIdx.x] += count[0];
}

int main(void)
{
	cudaGraphNodeParams loop = { cudaGraphNodeTypeConditional }, inner = { cudaGraphNodeTypeKernel }, last = inner;
	cudaGraphNode_t loop_node, inner_node, last_node;
	cudaGraphConditionalHandle handle;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	uint32_t *count, seen[65];
	void *inner_arguments[] = { &count, &handle }, *last_arguments[] = { &count };

	CHECK(cudaMalloc(&count, sizeof(seen)));
	CHECK(cudaMemset(count, 0, sizeof(seen)));
	CHECK(cudaGraphCreate(&graph, 0));
	CHECK(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
	loop.conditional.handle = handle;
	loop.conditional.type = cudaGraphCondTypeWhile;
	loop.conditional.size = 1;
	CHECK(cudaGraphAddNode(&loop_node, graph, NULL, NULL, 0, &loop));
	inner.kernel.func = (void *)body;
	inner.kernel.gridDim = inner.kernel.blockDim = dim3(1);
	inner.kernel.kernelParams = inner_arguments;
	CHECK(cudaGraphAddNode(&inner_node, loop.conditional.phGraph_out[0], NULL, NULL, 0, &inner));
	last.kernel.func = (void *)after;
	last.kernel.gridDim = dim3(1);
	last.kernel.blockDim = dim3(64);
	last.kernel.kernelParams = last_arguments;
	CHECK(cudaGraphAddNode(&last_node, graph, &loop_node, NULL, 1, &last));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int launch = 0; launch < 3; launch++) {
		CHECK(cudaGraphLaunch(exec, 0));
		tally(1, 1, ROUNDS);
		tally(1, 64);
	}
	CHECK(cudaMemcpy(seen, count, sizeof(seen), cudaMemcpyDeviceToHost));
	require(seen[0] == 3 * ROUNDS && seen[64] == (1 + 2 + 3) * ROUNDS, "how often the loop ran");
	report(checksum(seen, 65));
	return 0;
}
