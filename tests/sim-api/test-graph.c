/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs made of nodes. */
#include "tests/sim-api/common.h"

static CUmodule module;
static CUdeviceptr p;
static CUstream stream;

static void start(void)
{
	module = setup();
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD32_v2(p, 0, 16));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
}

static uint32_t word(unsigned index)
{
	uint32_t value;

	OK(cuStreamSynchronize(stream));
	OK(cuMemcpyDtoH_v2(&value, p + 4 * index, 4));
	return value;
}

/* A node that runs add or store on a word. */
static CUgraphNode kernel_node(CUgraph graph, const char *name, unsigned index, uint32_t value,
			       const CUgraphNode *before, size_t count)
{
	CUdeviceptr at = p + 4 * index;
	void *params[] = { &at, &value };
	CUDA_KERNEL_NODE_PARAMS_v2 kernel = {
		.func = function(module, name), .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
		.blockDimX = 1, .blockDimY = 1, .blockDimZ = 1, .kernelParams = params,
	};
	CUgraphNode node;

	OK(cuGraphAddKernelNode_v2(&node, graph, before, count, &kernel));
	return node;
}

/* store 5, add 7, then fill the next word and copy the sum over it. */
START_TEST(nodes_of_each_kind)
{
	CUDA_MEMSET_NODE_PARAMS_v1 fill = { .dst = p + 4, .value = 0xff, .elementSize = 1, .width = 4,
					    .height = 1 };
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE, .WidthInBytes = 4, .Height = 1,
			       .Depth = 1 };
	CUgraphNode store, add, set, join, copied, nodes[8], roots[8];
	CUcontext ctx;
	CUgraph graph;
	CUgraphExec exec;
	CUgraphNodeType type;
	size_t count;

	start();
	fill.dst = p + 4;
	copy.srcDevice = p;
	copy.dstDevice = p + 8;
	OK(cuCtxGetCurrent(&ctx));
	OK(cuGraphCreate(&graph, 0));
	store = kernel_node(graph, "store", 0, 5, NULL, 0);
	add = kernel_node(graph, "add", 0, 7, &store, 1);
	OK(cuGraphAddMemsetNode(&set, graph, NULL, 0, &fill, ctx));
	OK(cuGraphAddEmptyNode(&join, graph, (CUgraphNode[]){ add, set }, 2));
	OK(cuGraphAddMemcpyNode(&copied, graph, &join, 1, &copy, ctx));
	count = 8;
	OK(cuGraphGetNodes(graph, nodes, &count));
	ck_assert_uint_eq(count, 5);
	ck_assert_ptr_eq(nodes[0], store);
	ck_assert_ptr_null(nodes[5]);
	OK(cuGraphGetNodes(graph, NULL, &count));
	ck_assert_uint_eq(count, 5);
	count = 8;
	OK(cuGraphGetRootNodes(graph, roots, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_ptr_eq(roots[1], set);
	OK(cuGraphGetEdges(graph, NULL, NULL, &count));
	ck_assert_uint_eq(count, 4);
	count = 8;
	OK(cuGraphNodeGetDependencies(join, nodes, &count));
	ck_assert_uint_eq(count, 2);
	ck_assert_ptr_eq(nodes[1], set);
	count = 8;
	OK(cuGraphNodeGetDependentNodes(join, nodes, &count));
	ck_assert_uint_eq(count, 1);
	ck_assert_ptr_eq(nodes[0], copied);
	OK(cuGraphNodeGetType(join, &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_EMPTY);

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphDestroy(graph));
	FAILS(cuGraphNodeGetType(join, &type), INVALID_VALUE);
	OK(cuGraphUpload(exec, stream));
	for (int i = 0; i < 3; i++)
		OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 12);
	ck_assert_uint_eq(word(1), 0xffffffff);
	ck_assert_uint_eq(word(2), 12);
	OK(cuGraphExecDestroy(exec));
	FAILS(cuGraphLaunch(exec, stream), INVALID_VALUE);
	teardown();
}
END_TEST

/* Edges alone decide: nodes are added in the opposite order of their running. */
START_TEST(order_by_dependencies)
{
	CUgraphNode add, store, bad;
	CUDA_GRAPH_INSTANTIATE_PARAMS params = { .flags = 0 };
	CUgraph graph;
	CUgraphExec exec;

	start();
	OK(cuGraphCreate(&graph, 0));
	add = kernel_node(graph, "add", 0, 1, NULL, 0);
	store = kernel_node(graph, "store", 0, 20, NULL, 0);
	OK(cuGraphAddDependencies(graph, &store, &add, 1));
	FAILS(cuGraphAddDependencies(graph, &store, &add, 1), INVALID_VALUE);
	OK(cuGraphInstantiateWithParams(&exec, graph, &params));
	ck_assert_int_eq(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
	OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 21);
	OK(cuGraphExecDestroy(exec));
	/* A cycle is refused, and says where. */
	OK(cuGraphAddDependencies(graph, &add, &store, 1));
	FAILS(cuGraphInstantiate_v2(&exec, graph, &bad, NULL, 0), INVALID_VALUE);
	ck_assert(bad == add || bad == store);
	OK(cuGraphRemoveDependencies(graph, &add, &store, 1));
	FAILS(cuGraphRemoveDependencies(graph, &add, &store, 1), INVALID_VALUE);
	OK(cuGraphDestroyNode(store));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 22);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	teardown();
}
END_TEST

START_TEST(replays)
{
	CUgraphNode last = NULL;
	CUgraph graph;
	CUgraphExec exec;

	start();
	OK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < 50; i++)
		last = kernel_node(graph, "add", 0, 1, &last, last != NULL);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < 100; i++)
		OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 5000);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	teardown();
}
END_TEST

/* A node gets its number when the graph is instantiated and keeps it at every launch. */
START_TEST(grid_ids)
{
	CUdeviceptr at = p;
	void *params[] = { &at };
	CUDA_KERNEL_NODE_PARAMS_v1 kernel = { .gridDimX = 1, .gridDimY = 1, .gridDimZ = 1,
					      .blockDimX = 1, .blockDimY = 1, .blockDimZ = 1,
					      .kernelParams = params };
	CUgraphNode a, b;
	CUgraph graph;
	CUgraphExec exec;

	start();
	kernel.func = function(module, "gid");
	launch_store(module, stream, p + 32, 0);	/* takes number 1 */
	OK(cuGraphCreate(&graph, 0));
	at = p;
	OK(cuGraphAddKernelNode(&a, graph, NULL, 0, &kernel));
	at = p + 8;
	OK(cuGraphAddKernelNode(&b, graph, &a, 1, &kernel));
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	launch_store(module, stream, p + 32, 0);	/* takes 4 */
	for (int i = 0; i < 2; i++) {
		OK(cuGraphLaunch(exec, stream));
		ck_assert_uint_eq(word(0), 2);
		ck_assert_uint_eq(word(2), 3);
	}
	at = p + 16;
	OK(cuLaunchKernel(kernel.func, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	ck_assert_uint_eq(word(4), 5);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	teardown();
}
END_TEST

static void count_call(void *data)
{
	++*(int *)data;
}

START_TEST(generic_nodes)
{
	int calls = 0;
	CUgraphNodeParams host = { .type = CU_GRAPH_NODE_TYPE_HOST,
				   .host = { .fn = count_call, .userData = &calls } };
	CUgraphNodeParams fill = { .type = CU_GRAPH_NODE_TYPE_MEMSET,
				   .memset = { .value = 3, .elementSize = 4, .width = 2, .height = 1 } };
	CUgraphNodeParams child = { .type = CU_GRAPH_NODE_TYPE_GRAPH };
	CUgraphNodeParams wrong = { .type = CU_GRAPH_NODE_TYPE_MEM_ALLOC };
	CUgraphEdgeData data = { .type = 0 };
	CUgraphNode a, b, c, d;
	CUgraph inner, outer, got;
	CUgraphExec exec;
	size_t count;

	start();
	fill.memset.dst = p;
	OK(cuGraphCreate(&inner, 0));
	OK(cuGraphAddNode(&a, inner, NULL, 0, &host));
	kernel_node(inner, "add", 0, 10, NULL, 0);
	OK(cuGraphCreate(&outer, 0));
	OK(cuGraphAddNode_v2(&b, outer, NULL, NULL, 0, &fill));
	child.graph.graph = inner;
	OK(cuGraphAddNode_v2(&c, outer, &b, &data, 1, &child));
	OK(cuGraphAddChildGraphNode(&d, outer, &c, 1, inner));
	FAILS(cuGraphAddNode(&a, outer, NULL, 0, &wrong), NOT_SUPPORTED);
	OK(cuGraphDestroy(inner));	/* the nodes have copies */
	OK(cuGraphChildGraphNodeGetGraph(c, &got));
	OK(cuGraphGetNodes(got, NULL, &count));
	ck_assert_uint_eq(count, 2);
	OK(cuGraphInstantiateWithFlags(&exec, outer, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 23);
	ck_assert_uint_eq(word(1), 3);
	ck_assert_int_eq(calls, 4);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(outer));
	teardown();
}
END_TEST

/* A graph that stores 31 and fills the next word with 1s; its clone, and what is instantiated of it. */
static struct {
	CUgraph graph, clone;
	CUgraphNode store, fill, in_clone;
	CUgraphExec exec;
	CUDA_KERNEL_NODE_PARAMS_v2 kernel;
	CUDA_MEMSET_NODE_PARAMS_v1 filling;
	CUdeviceptr at;
	uint32_t value;
	void *pointers[2];
} pair;

static void make_pair(void)
{
	start();
	pair.filling = (CUDA_MEMSET_NODE_PARAMS_v1){ .dst = p + 4, .value = 1, .elementSize = 4, .width = 1, .height = 1 };
	OK(cuGraphCreate(&pair.graph, 0));
	pair.store = kernel_node(pair.graph, "store", 0, 31, NULL, 0);
	OK(cuGraphAddMemsetNode(&pair.fill, pair.graph, NULL, 0, &pair.filling, NULL));
	OK(cuGraphKernelNodeGetParams_v2(pair.store, &pair.kernel));
	ck_assert_ptr_eq(pair.kernel.func, function(module, "store"));
	ck_assert_uint_eq(*(CUdeviceptr *)pair.kernel.kernelParams[0], p);
	ck_assert_uint_eq(*(uint32_t *)pair.kernel.kernelParams[1], 31);
	OK(cuGraphClone(&pair.clone, pair.graph));
	OK(cuGraphNodeFindInClone(&pair.in_clone, pair.store, pair.clone));
	ck_assert_ptr_ne(pair.in_clone, pair.store);
	OK(cuGraphInstantiateWithFlags(&pair.exec, pair.graph, 0));
	pair.at = p;
	pair.pointers[0] = &pair.at;
	pair.pointers[1] = &pair.value;
	pair.kernel.kernelParams = pair.pointers;
}

static void end_pair(void)
{
	OK(cuGraphExecDestroy(pair.exec));
	OK(cuGraphDestroy(pair.clone));
	OK(cuGraphDestroy(pair.graph));
	teardown();
}

static uint32_t stored_by(CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS_v1 old;

	OK(cuGraphKernelNodeGetParams(node, &old));
	return *(uint32_t *)old.kernelParams[1];
}

/* The graph's node is set; what was instantiated or cloned before is as it was. */
START_TEST(parameters_of_a_graph)
{
	make_pair();
	pair.value = 32;
	OK(cuGraphKernelNodeSetParams_v2(pair.store, &pair.kernel));
	ck_assert_uint_eq(stored_by(pair.store), 32);
	ck_assert_uint_eq(stored_by(pair.in_clone), 31);
	OK(cuGraphLaunch(pair.exec, stream));
	ck_assert_uint_eq(word(0), 31);
	ck_assert_uint_eq(word(1), 1);
	end_pair();
}
END_TEST

START_TEST(parameters_of_an_executable)
{
	make_pair();
	pair.value = 33;
	OK(cuGraphExecKernelNodeSetParams_v2(pair.exec, pair.store, &pair.kernel));
	pair.filling.value = 2;
	OK(cuGraphExecMemsetNodeSetParams(pair.exec, pair.fill, &pair.filling, NULL));
	OK(cuGraphLaunch(pair.exec, stream));
	ck_assert_uint_eq(word(0), 33);
	ck_assert_uint_eq(word(1), 2);
	FAILS(cuGraphExecKernelNodeSetParams_v2(pair.exec, pair.fill, &pair.kernel), INVALID_VALUE);
	FAILS(cuGraphExecKernelNodeSetParams_v2(pair.exec, pair.in_clone, &pair.kernel), INVALID_VALUE);
	end_pair();
}
END_TEST

/* A launch that waits keeps what it was launched with. */
START_TEST(parameters_of_a_launch)
{
	uint32_t *gate;

	make_pair();
	gate = gate_new();
	launch_spin(module, stream, (uintptr_t)gate, 1);
	OK(cuGraphLaunch(pair.exec, stream));
	launch_add(module, stream, p, 100);
	pair.value = 34;
	OK(cuGraphExecKernelNodeSetParams_v2(pair.exec, pair.store, &pair.kernel));
	gate_open(gate);
	ck_assert_uint_eq(word(0), 131);
	OK(cuGraphLaunch(pair.exec, stream));
	ck_assert_uint_eq(word(0), 34);
	end_pair();
}
END_TEST

START_TEST(nodes_that_are_off)
{
	unsigned enabled;

	make_pair();
	OK(cuGraphNodeSetEnabled(pair.exec, pair.store, 0));
	OK(cuGraphNodeGetEnabled(pair.exec, pair.store, &enabled));
	ck_assert_uint_eq(enabled, 0);
	launch_store(module, stream, p, 1);
	OK(cuGraphLaunch(pair.exec, stream));
	ck_assert_uint_eq(word(0), 1);
	end_pair();
}
END_TEST

START_TEST(attributes_of_nodes)
{
	CUkernelNodeAttrValue attribute;

	make_pair();
	memset(&attribute, 0, sizeof(attribute));
	attribute.cooperative = 1;
	OK(cuGraphKernelNodeSetAttribute(pair.store, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute));
	attribute.cooperative = 0;
	OK(cuGraphKernelNodeGetAttribute(pair.store, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &attribute));
	ck_assert_int_eq(attribute.cooperative, 1);
	end_pair();
}
END_TEST

START_TEST(updates)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph graph, same, longer, other;
	CUgraphNode node;
	CUgraphExec exec;

	start();
	OK(cuGraphCreate(&graph, 0));
	node = kernel_node(graph, "store", 0, 1, NULL, 0);
	kernel_node(graph, "add", 0, 1, &node, 1);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphCreate(&same, 0));
	node = kernel_node(same, "store", 0, 50, NULL, 0);
	kernel_node(same, "add", 0, 5, &node, 1);
	OK(cuGraphExecUpdate_v2(exec, same, &info));
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 55);

	OK(cuGraphClone(&longer, same));
	kernel_node(longer, "add", 0, 5, NULL, 0);
	FAILS(cuGraphExecUpdate_v2(exec, longer, &info), GRAPH_EXEC_UPDATE_FAILURE);
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	OK(cuGraphCreate(&other, 0));
	node = kernel_node(other, "store", 0, 50, NULL, 0);
	OK(cuGraphAddEmptyNode(&node, other, &node, 1));
	FAILS(cuGraphExecUpdate_v2(exec, other, &info), GRAPH_EXEC_UPDATE_FAILURE);
	ck_assert_int_eq(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	ck_assert_ptr_eq(info.errorNode, node);
	OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 55);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(same));
	OK(cuGraphDestroy(longer));
	OK(cuGraphDestroy(other));
	teardown();
}
END_TEST

START_TEST(event_nodes)
{
	uint32_t *gate;
	CUgraphNode wait, add, record;
	CUevent before, after, got;
	CUstream other;
	CUgraph graph;
	CUgraphExec exec;

	start();
	gate = gate_new();
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&before, 0));
	OK(cuEventCreate(&after, 0));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, before));
	add = kernel_node(graph, "add", 0, 2, &wait, 1);
	OK(cuGraphAddEventRecordNode(&record, graph, &add, 1, after));
	OK(cuGraphEventRecordNodeGetEvent(record, &got));
	ck_assert_ptr_eq(got, after);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	launch_spin(module, other, (uintptr_t)gate, 1);
	launch_store(module, other, p, 40);
	OK(cuEventRecord(before, other));
	OK(cuGraphLaunch(exec, stream));
	FAILS(cuEventQuery(after), NOT_READY);
	gate_open(gate);
	OK(cuEventSynchronize(after));
	ck_assert_uint_eq(word(0), 42);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	teardown();
}
END_TEST

START_TEST(failures)
{
	CUgraphNode node;
	CUgraph graph;
	CUgraphExec exec;

	start();
	OK(cuGraphCreate(&graph, 0));
	node = kernel_node(graph, "store", 0, 6, NULL, 0);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	ck_assert_uint_eq(word(0), 6);
	/* The module goes away: the launch is refused. */
	OK(cuModuleUnload(module));
	FAILS(cuGraphLaunch(exec, stream), INVALID_HANDLE);
	OK(cuCtxSynchronize());
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	FAILS(cuGraphDestroyNode(node), INVALID_VALUE);

	/* A node fails: the context does, and the next nodes do not run. */
	OK(cuModuleLoadData(&module, test_ptx));
	OK(cuGraphCreate(&graph, 0));
	p += 4096 * 1024;
	node = kernel_node(graph, "store", 0, 1, NULL, 0);
	p -= 4096 * 1024;
	kernel_node(graph, "store", 0, 7, &node, 1);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	FAILS(cuStreamSynchronize(stream), ILLEGAL_ADDRESS);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuDevicePrimaryCtxReset_v2(0));
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-graph");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, nodes_of_each_kind);
	tcase_add_test(tc, order_by_dependencies);
	tcase_add_test(tc, replays);
	tcase_add_test(tc, grid_ids);
	tcase_add_test(tc, generic_nodes);
	tcase_add_test(tc, parameters_of_a_graph);
	tcase_add_test(tc, parameters_of_an_executable);
	tcase_add_test(tc, parameters_of_a_launch);
	tcase_add_test(tc, nodes_that_are_off);
	tcase_add_test(tc, attributes_of_nodes);
	tcase_add_test(tc, updates);
	tcase_add_test(tc, event_nodes);
	tcase_add_test(tc, failures);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
