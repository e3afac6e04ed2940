/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs made by capturing streams. */
#include <pthread.h>

#include "tests/sim-api/common.h"

static CUmodule module;
static CUdeviceptr p;
static CUstream a, b;
static CUevent event;

static void start(void)
{
	module = setup();
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD32_v2(p, 0, 16));
	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&event, 0));
}

static uint32_t word(unsigned index)
{
	uint32_t value;

	OK(cuStreamSynchronize(a));
	OK(cuMemcpyDtoH_v2(&value, p + 4 * index, 4));
	return value;
}

static size_t node_count(CUgraph graph)
{
	size_t count;

	OK(cuGraphGetNodes(graph, NULL, &count));
	return count;
}

static void run(CUgraph graph, int times)
{
	CUgraphExec exec;

	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (int i = 0; i < times; i++)
		OK(cuGraphLaunch(exec, a));
	OK(cuStreamSynchronize(a));
	OK(cuGraphExecDestroy(exec));
}

static void call(void *data)
{
	++*(int *)data;
}

START_TEST(one_stream)
{
	CUgraphNode nodes[8];
	CUgraphNodeType type;
	CUgraph graph;
	size_t count = 8;
	int calls = 0;

	start();
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuMemsetD32Async(p, 1, 2, a));
	launch_add(module, a, p, 4);
	OK(cuMemcpyDtoDAsync_v2(p + 4, p, 4, a));
	OK(cuLaunchHostFunc(a, call, &calls));
	OK(cuStreamEndCapture(a, &graph));
	/* Nothing ran. */
	ck_assert_uint_eq(word(0), 0);
	OK(cuGraphGetNodes(graph, nodes, &count));
	ck_assert_uint_eq(count, 4);
	OK(cuGraphNodeGetType(nodes[0], &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_MEMSET);
	OK(cuGraphNodeGetType(nodes[1], &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_KERNEL);
	OK(cuGraphNodeGetType(nodes[2], &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_MEMCPY);
	OK(cuGraphNodeGetType(nodes[3], &type));
	ck_assert_int_eq(type, CU_GRAPH_NODE_TYPE_HOST);
	OK(cuGraphGetEdges(graph, NULL, NULL, &count));
	ck_assert_uint_eq(count, 3);
	run(graph, 3);
	ck_assert_uint_eq(word(0), 5);
	ck_assert_uint_eq(word(1), 5);
	ck_assert_int_eq(calls, 3);
	OK(cuGraphDestroy(graph));
	teardown();
}
END_TEST

/* a: store 1; b: store 10 beside it; joined, a adds both. */
START_TEST(fork_and_join)
{
	CUstreamCaptureStatus status;
	CUgraph graph, own;
	CUevent joined;
	const CUgraphNode *front;
	uint64_t id;
	size_t count;

	start();
	OK(cuEventCreate(&joined, 0));
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	launch_store(module, a, p, 1);
	OK(cuEventRecord(event, a));
	OK(cuStreamWaitEvent(b, event, 0));
	OK(cuStreamIsCapturing(b, &status));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	launch_store(module, b, p + 4, 10);
	launch_add(module, a, p, 1);
	OK(cuEventRecord(joined, b));
	OK(cuStreamWaitEvent(a, joined, 0));
	OK(cuStreamGetCaptureInfo_v2(a, &status, &id, &own, &front, &count));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	ck_assert_uint_eq(count, 2);
	launch_add(module, a, p, 1);
	FAILS(cuStreamEndCapture(b, &graph), STREAM_CAPTURE_UNMATCHED);
	OK(cuStreamEndCapture(a, &graph));
	ck_assert_ptr_eq(graph, own);
	ck_assert_uint_eq(node_count(graph), 4);
	OK(cuGraphGetEdges(graph, NULL, NULL, &count));
	ck_assert_uint_eq(count, 4);
	OK(cuStreamIsCapturing(b, &status));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_NONE);
	FAILS(cuEventQuery(event), CAPTURED_EVENT);
	FAILS(cuStreamWaitEvent(b, event, 0), CAPTURED_EVENT);
	OK(cuEventRecord(event, b));
	OK(cuEventSynchronize(event));
	run(graph, 2);
	ck_assert_uint_eq(word(0), 3);
	ck_assert_uint_eq(word(1), 10);
	OK(cuGraphDestroy(graph));
	teardown();
}
END_TEST

START_TEST(what_ends_badly)
{
	CUstreamCaptureStatus status;
	CUdeviceptr q;
	CUgraph graph = (CUgraph)1;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	start();
	FAILS(cuStreamEndCapture(a, &graph), ILLEGAL_STATE);
	FAILS(cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL), STREAM_CAPTURE_UNSUPPORTED);
	FAILS(cuStreamBeginCapture_v2(a, (CUstreamCaptureMode)3), INVALID_VALUE);

	/* waiting for a stream that captures */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL), ILLEGAL_STATE);
	FAILS(cuStreamSynchronize(a), STREAM_CAPTURE_UNSUPPORTED);
	OK(cuStreamIsCapturing(a, &status));
	ck_assert_int_eq(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	FAILS(cuMemsetD32Async(p, 1, 1, a), STREAM_CAPTURE_INVALIDATED);
	FAILS(cuStreamEndCapture(a, &graph), STREAM_CAPTURE_INVALIDATED);
	ck_assert_ptr_null(graph);

	/* a call that a capture forbids, but not to a thread that says it knows */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	OK(cuMemAlloc_v2(&q, 4));
	OK(cuThreadExchangeStreamCaptureMode(&mode));
	FAILS(cuMemAlloc_v2(&q, 4), STREAM_CAPTURE_UNSUPPORTED);
	FAILS(cuStreamEndCapture(a, &graph), STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemAlloc_v2(&q, 4));
	OK(cuStreamEndCapture(a, &graph));
	ck_assert_uint_eq(node_count(graph), 0);
	OK(cuGraphDestroy(graph));

	/* work that is not joined */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventRecord(event, a));
	OK(cuStreamWaitEvent(b, event, 0));
	launch_store(module, b, p, 1);
	FAILS(cuStreamEndCapture(a, &graph), STREAM_CAPTURE_UNJOINED);
	ck_assert_ptr_null(graph);

	/* an event from outside */
	OK(cuEventRecord(event, b));
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	FAILS(cuStreamWaitEvent(a, event, 0), STREAM_CAPTURE_ISOLATION);
	FAILS(cuStreamEndCapture(a, &graph), STREAM_CAPTURE_INVALIDATED);

	/* two captures do not become one */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuStreamBeginCapture_v2(b, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuEventRecord(event, b));
	FAILS(cuStreamWaitEvent(a, event, 0), STREAM_CAPTURE_MERGE);
	FAILS(cuStreamEndCapture(a, &graph), STREAM_CAPTURE_INVALIDATED);
	FAILS(cuStreamEndCapture(b, &graph), STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamSynchronize(a));
	ck_assert_uint_eq(word(0), 0);
	teardown();
}
END_TEST

/* The legacy stream would have to wait for a blocking stream, which is only capturing. */
START_TEST(legacy_stream)
{
	CUstream blocking;
	CUgraph graph;

	start();
	OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	FAILS(cuMemsetD32Async(p, 1, 1, NULL), STREAM_CAPTURE_IMPLICIT);
	FAILS(cuStreamEndCapture(blocking, &graph), STREAM_CAPTURE_INVALIDATED);
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemsetD32Async(p, 1, 1, NULL));
	OK(cuStreamEndCapture(a, &graph));
	OK(cuGraphDestroy(graph));
	ck_assert_uint_eq(word(0), 1);
	teardown();
}
END_TEST

START_TEST(into_a_graph)
{
	CUgraph graph, same, inner;
	CUgraphNode first, nodes[4];
	CUgraphExec exec;
	size_t count = 4;

	start();
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddEmptyNode(&first, graph, NULL, 0));
	OK(cuStreamBeginCaptureToGraph(a, graph, &first, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_add(module, a, p, 5);
	OK(cuStreamEndCapture(a, &same));
	ck_assert_ptr_eq(graph, same);
	ck_assert_uint_eq(node_count(graph), 2);
	OK(cuGraphNodeGetDependentNodes(first, nodes, &count));
	ck_assert_uint_eq(count, 1);
	OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	/* The launch of an executable is captured as a child. */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	OK(cuGraphLaunch(exec, a));
	OK(cuGraphLaunch(exec, a));
	OK(cuStreamEndCapture(a, &inner));
	ck_assert_uint_eq(node_count(inner), 2);
	run(inner, 2);
	ck_assert_uint_eq(word(0), 20);
	OK(cuGraphExecDestroy(exec));
	OK(cuGraphDestroy(graph));
	OK(cuGraphDestroy(inner));
	teardown();
}
END_TEST

static void *end_elsewhere(void *data)
{
	*(CUresult *)data = cuStreamEndCapture(a, &(CUgraph){ NULL });
	return NULL;
}

START_TEST(other_thread)
{
	pthread_t thread;
	CUresult r;
	CUgraph graph;

	start();
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_assert_int_eq(pthread_create(&thread, NULL, end_elsewhere, &r), 0);
	pthread_join(thread, NULL);
	expect(r, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "cuStreamEndCapture", __LINE__);
	OK(cuStreamEndCapture(a, &graph));
	OK(cuGraphDestroy(graph));
	/* A stream that goes away while it captures takes the capture with it. */
	OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_store(module, a, p, 1);
	OK(cuStreamDestroy_v2(a));
	OK(cuMemAlloc_v2(&p, 4));
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-capture");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, one_stream);
	tcase_add_test(tc, fork_and_join);
	tcase_add_test(tc, what_ends_badly);
	tcase_add_test(tc, legacy_stream);
	tcase_add_test(tc, into_a_graph);
	tcase_add_test(tc, other_thread);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
