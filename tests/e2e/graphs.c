/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program to be traced by tests, all of whose kernels run in graphs.  Each
 * prints how many threads ran; the counter that they add to must agree.
 *
 *	graphs long NODES REPLAYS	one chain of nodes, replayed
 *	graphs churn TIMES		graphs made, updated in each way and destroyed
 *	graphs wide NODES REPLAYS	independent nodes, two executables of them at once
 *	graphs many EXECS		so many executables of one graph alive, each launched twice
 *	graphs nested TIMES		child graphs and clones, some set anew
 *	graphs mixed TIMES		24 kernels of 1 to 24 threads and 7 copies, captured and built by nodes
 *	graphs early TIMES		executables destroyed while they run
 *
 * "long" and "churn" say "flat" when memory stayed within 2 MiB after the first tenth.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "resident.h"

static const char ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".global .align 8 .u64 counter;\n"
	/* adds pn for each thread */
	".visible .entry add(.param .u32 pn)\n{\n"
	"	.reg .b32 %r; .reg .b64 %rd<3>;\n"
	"	ld.param.u32 %r, [pn]; cvt.u64.u32 %rd1, %r; mov.u64 %rd2, counter;\n"
	"	red.global.add.u64 [%rd2], %rd1; ret;\n}\n"
	/* the same, slowly */
	".visible .entry slow(.param .u32 pn)\n{\n"
	"	.reg .pred %p; .reg .b32 %r; .reg .b64 %rd<5>;\n"
	"	mov.u64 %rd3, %globaltimer;\n"
	"LOOP:	mov.u64 %rd4, %globaltimer; sub.u64 %rd4, %rd4, %rd3;\n"
	"	setp.lt.u64 %p, %rd4, 200000; @%p bra LOOP;\n"
	"	ld.param.u32 %r, [pn]; cvt.u64.u32 %rd1, %r; mov.u64 %rd2, counter;\n"
	"	red.global.add.u64 [%rd2], %rd1; ret;\n}\n";

static CUmodule module;
static CUfunction add, slow;
static CUstream streams[2];
static uint64_t expected;	/* threads, each of which adds 1 */

static void start(void)
{
	CUcontext primary;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&add, module, "add"));
	CHECK(cuModuleGetFunction(&slow, module, "slow"));
	for (int i = 0; i < 2; i++)
		CHECK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
}

static uint64_t read_counter(void)
{
	CUdeviceptr address;
	uint64_t value;
	size_t size;

	CHECK(cuCtxSynchronize());
	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, address, sizeof(value)));
	return value;
}

static uint32_t one = 1;
static void *one_param[] = { &one };

static CUDA_KERNEL_NODE_PARAMS_v2 node_of(CUfunction function, unsigned threads)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = function, .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
		.blockDimX = threads, .blockDimY = 1, .blockDimZ = 1, .kernelParams = one_param,
	};
}

/* chained: each node after the one before; the last one's handle, and the first's. */
static CUgraph build(unsigned nodes, unsigned threads, int chained, CUgraphNode *ret_first)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = node_of(add, threads);
	CUgraphNode node, before;
	CUgraph graph;

	CHECK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < nodes; i++) {
		CHECK(cuGraphAddKernelNode_v2(&node, graph, &before, i && chained, &params));
		before = node;
		if (!i && ret_first)
			*ret_first = node;
	}
	return graph;
}

static CUgraph capture(unsigned launches, unsigned threads)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned i = 0; i < launches; i++)
		CHECK(cuLaunchKernel(add, 1, 1, 1, threads, 1, 1, 0, streams[0], one_param, NULL));
	CHECK(cuStreamEndCapture(streams[0], &graph));
	return graph;
}

static CUgraphExec instantiate(CUgraph graph)
{
	CUgraphExec exec;

	CHECK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	return exec;
}

static void run(CUgraphExec exec, int stream, uint64_t threads)
{
	CHECK(cuGraphLaunch(exec, streams[stream]));
	expected += threads;
}

/* Called for each of `count` rounds. */
static const char *watch_memory(unsigned round, unsigned count)
{
	static long before;

	if (round == count / 10)
		before = resident();
	if (round + 1 < count)
		return NULL;
	return resident() - before < 2 << 20 ? "flat" : "growing";
}

static void run_long(unsigned nodes, unsigned replays)
{
	CUgraphExec exec = instantiate(capture(nodes, 32));
	const char *memory = "flat";

	for (unsigned i = 0; i < replays; i++) {
		run(exec, 0, nodes * 32);
		if (i % 16 == 15)
			CHECK(cuStreamSynchronize(streams[0]));
		memory = watch_memory(i, replays);
	}
	printf("%s ", memory);
}

/* 3 + 3 + 4 + 3 kernels each time. */
static void run_churn(unsigned times)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = node_of(add, 64);
	CUgraphExecUpdateResultInfo info;
	const char *memory = "flat";

	for (unsigned i = 0; i < times; i++) {
		CUgraphNode first;
		CUgraph graph = build(3, 32, 1, &first), other = capture(3, 96);
		CUgraphExec exec = instantiate(graph);

		run(exec, 0, 3 * 32);
		CHECK(cuGraphExecKernelNodeSetParams_v2(exec, first, &params));
		run(exec, 0, 64 + 2 * 32);
		CHECK(cuGraphKernelNodeSetParams_v2(first, &params));
		CHECK(cuGraphExecUpdate_v2(exec, graph, &info));
		run(exec, 0, 64 + 2 * 32);
		CHECK(cuGraphDestroy(graph));
		CHECK(cuGraphExecUpdate_v2(exec, other, &info));
		run(exec, 0, 3 * 96);
		CHECK(cuGraphDestroy(other));
		CHECK(cuStreamSynchronize(streams[0]));
		CHECK(cuGraphExecDestroy(exec));
		memory = watch_memory(i, times);
	}
	printf("%s ", memory);
}

static void run_wide(unsigned nodes, unsigned replays)
{
	CUgraph graph = build(nodes, 32, 0, NULL);
	CUgraphExec execs[2] = { instantiate(graph), instantiate(graph) };

	CHECK(cuGraphDestroy(graph));
	for (unsigned i = 0; i < replays; i++) {
		run(execs[0], 0, nodes * 32);
		run(execs[1], 1, nodes * 32);
	}
}

static void run_many(unsigned count)
{
	CUgraphExec *execs = calloc(count, sizeof(*execs));
	CUgraph graph = capture(4, 32);

	for (unsigned i = 0; i < count; i++)
		execs[i] = instantiate(graph);
	for (unsigned i = 0; i < 2 * count; i++)
		run(execs[i / 2], i & 1, 4 * 32);
	free(execs);
}

static void run_nested(unsigned times)
{
	CUgraph inner = build(2, 32, 1, NULL), other = build(2, 64, 1, NULL), outer, clone;
	CUgraphNode children[2];
	CUgraphExec exec, second;

	CHECK(cuGraphCreate(&outer, 0));
	CHECK(cuGraphAddChildGraphNode(&children[0], outer, NULL, 0, inner));
	CHECK(cuGraphAddChildGraphNode(&children[1], outer, NULL, 0, inner));
	CHECK(cuGraphClone(&clone, outer));
	exec = instantiate(outer);
	second = instantiate(clone);
	for (unsigned i = 0; i < times; i++) {
		run(exec, 0, 4 * 32);
		run(second, 1, 4 * 32);
		CHECK(cuGraphExecChildGraphNodeSetParams(exec, children[0], i & 1 ? inner : other));
		run(exec, 1, i & 1 ? 4 * 32 : 2 * 64 + 2 * 32);
		CHECK(cuGraphExecChildGraphNodeSetParams(exec, children[0], inner));
	}
}

#define KERNELS 24
#define COPIES 7

static CUgraph capture_mixed(CUdeviceptr to, CUdeviceptr from)
{
	CUgraph graph;

	CHECK(cuStreamBeginCapture_v2(streams[0], CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned i = 0; i < KERNELS; i++) {
		CHECK(cuLaunchKernel(add, 1, 1, 1, i + 1, 1, 1, 0, streams[0], one_param, NULL));
		if (i < COPIES)
			CHECK(cuMemcpyDtoDAsync_v2(to, from, 64, streams[0]));
	}
	CHECK(cuStreamEndCapture(streams[0], &graph));
	return graph;
}

static CUgraph build_mixed(CUdeviceptr to, CUdeviceptr from)
{
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = from, .dstDevice = to,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE, .WidthInBytes = 64, .Height = 1, .Depth = 1 };
	CUgraphNode node, before = NULL;
	CUcontext context;
	CUgraph graph;

	CHECK(cuCtxGetCurrent(&context));
	CHECK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < KERNELS; i++) {
		CUDA_KERNEL_NODE_PARAMS_v2 params = node_of(add, i + 1);

		CHECK(cuGraphAddKernelNode_v2(&node, graph, &before, i > 0, &params));
		before = node;
		if (i >= COPIES)
			continue;
		CHECK(cuGraphAddMemcpyNode(&node, graph, &before, 1, &copy, context));
		before = node;
	}
	return graph;
}

static void run_mixed(unsigned times)
{
	CUgraphExec captured, built;
	CUdeviceptr memory;

	CHECK(cuMemAlloc_v2(&memory, 128));
	captured = instantiate(capture_mixed(memory, memory + 64));
	built = instantiate(build_mixed(memory, memory + 64));
	for (unsigned i = 0; i < times; i++) {
		run(captured, 0, KERNELS * (KERNELS + 1) / 2);
		run(built, 0, KERNELS * (KERNELS + 1) / 2);
	}
}

static void run_early(unsigned times)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = node_of(slow, 1);

	for (unsigned i = 0; i < times; i++) {
		CUgraphNode node;
		CUgraphExec exec;
		CUgraph graph;

		CHECK(cuGraphCreate(&graph, 0));
		CHECK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
		exec = instantiate(graph);
		run(exec, i & 1, 1);
		CHECK(cuGraphExecDestroy(exec));
		CHECK(cuGraphDestroy(graph));
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";
	unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 0, second = argc > 3 ? (unsigned)atoi(argv[3]) : 1;
	uint64_t counted;

	find_driver();
	start();
	if (!strcmp(what, "long"))
		run_long(number, second);
	else if (!strcmp(what, "churn"))
		run_churn(number);
	else if (!strcmp(what, "wide"))
		run_wide(number, second);
	else if (!strcmp(what, "many"))
		run_many(number);
	else if (!strcmp(what, "nested"))
		run_nested(number);
	else if (!strcmp(what, "mixed"))
		run_mixed(number);
	else if (!strcmp(what, "early"))
		run_early(number);
	else
		return 2;
	counted = read_counter();
	printf("threads %llu %s\n", (unsigned long long)counted, counted == expected ? "right" : "wrong");
	return counted != expected;
}
