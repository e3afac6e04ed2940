/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies and memsets of every kind: copier WHAT [NUMBER].  Prints what the program itself
 * finds out, which must be the same whoever watches.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"
#include "resident.h"

#define KIB 1024u
#define SIZE (256 * KIB)

static const char ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static CUcontext first;
static CUdeviceptr device, other;
static uint8_t *pinned;
static uint8_t host[SIZE];
static CUfunction nothing;

static void make_kernel(void)
{
	CUmodule module;

	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&nothing, module, "nothing"));
}

static void set_up(void)
{
	void *memory;

	find_driver();
	CHECK(cuInit(0));
	CHECK(cuCtxCreate_v2(&first, 0, 0));
	CHECK(cuMemAlloc_v2(&device, SIZE));
	CHECK(cuMemAlloc_v2(&other, SIZE));
	CHECK(cuMemAllocHost_v2(&memory, SIZE));
	pinned = memory;
	make_kernel();
}

static CUstream new_stream(void)
{
	CUstream stream;

	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

/* ---- one call of each function, told apart by their sizes ---- */

static CUDA_MEMCPY2D plane(size_t width, size_t height)
{
	return (CUDA_MEMCPY2D){
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = pinned, .srcPitch = KIB,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = device, .dstPitch = KIB,
		.WidthInBytes = width, .Height = height,
	};
}

static CUDA_MEMCPY3D volume(size_t width, size_t height, size_t depth)
{
	return (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcPitch = KIB, .srcHeight = height,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstDevice = (uintptr_t)host, .dstPitch = KIB, .dstHeight = height,
		.WidthInBytes = width, .Height = height, .Depth = depth,
	};
}

static CUDA_MEMCPY3D_PEER peers(size_t width, size_t height)
{
	return (CUDA_MEMCPY3D_PEER){
		.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = device, .srcContext = first, .srcPitch = KIB,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = other, .dstContext = first, .dstPitch = KIB,
		.WidthInBytes = width, .Height = height, .Depth = 1,
	};
}

static void copy_waiting(void)
{
	CUDA_MEMCPY2D p = plane(103, 2);
	CUDA_MEMCPY3D v = volume(104, 2, 3);
	CUDA_MEMCPY3D_PEER q = peers(105, 2);

	CHECK(cuMemcpyHtoD_v2(device, host, 1));
	CHECK(cuMemcpyDtoH_v2(host, device, 2));
	CHECK(cuMemcpyDtoD_v2(other, device, 3));
	CHECK(cuMemcpy(device, (uintptr_t)pinned, 4));
	CHECK(cuMemcpy((uintptr_t)host, device, 5));
	CHECK(cuMemcpy(other, device, 6));
	CHECK(cuMemcpyPeer(other, first, device, first, 7));
	CHECK(cuMemcpy2D_v2(&p));
	CHECK(cuMemcpy2DUnaligned_v2(&p));
	CHECK(cuMemcpy3D_v2(&v));
	CHECK(cuMemcpy3DPeer(&q));
	CHECK(cuMemsetD8_v2(device, 1, 8));
	CHECK(cuMemsetD16_v2(device, 2, 9));
	CHECK(cuMemsetD32_v2(device, 3, 10));
	CHECK(cuMemsetD2D8_v2(device, KIB, 1, 11, 2));
	CHECK(cuMemsetD2D16_v2(device, KIB, 2, 12, 2));
	CHECK(cuMemsetD2D32_v2(device, KIB, 3, 13, 2));
	/* On the thread's own default stream. */
	CHECK(cuMemcpyHtoD_v2_ptds(device, host, 14));
	CHECK(cuMemcpyDtoH_v2_ptds(host, device, 15));
	CHECK(cuMemsetD8_v2_ptds(device, 1, 16));
}

static void copy_async(CUstream stream)
{
	CUDA_MEMCPY2D p = plane(203, 2);
	CUDA_MEMCPY3D v = volume(204, 2, 3);
	CUDA_MEMCPY3D_PEER q = peers(205, 2);

	CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 21, stream));
	CHECK(cuMemcpyHtoDAsync_v2(device, host, 22, stream));
	CHECK(cuMemcpyDtoHAsync_v2(pinned, device, 23, stream));
	CHECK(cuMemcpyDtoHAsync_v2(host, device, 24, stream));
	CHECK(cuMemcpyDtoDAsync_v2(other, device, 25, stream));
	CHECK(cuMemcpyAsync((uintptr_t)pinned, device, 26, stream));
	CHECK(cuMemcpyAsync((uintptr_t)pinned, (uintptr_t)host, 27, stream));
	CHECK(cuMemcpyPeerAsync(other, first, device, first, 28, stream));
	CHECK(cuMemcpy2DAsync_v2(&p, stream));
	CHECK(cuMemcpy3DAsync_v2(&v, stream));
	CHECK(cuMemcpy3DPeerAsync(&q, stream));
	CHECK(cuMemsetD8Async(device, 1, 29, stream));
	CHECK(cuMemsetD16Async(device, 2, 30, stream));
	CHECK(cuMemsetD32Async(device, 3, 31, stream));
	CHECK(cuMemsetD2D8Async(device, KIB, 1, 32, 2, stream));
	CHECK(cuMemsetD2D16Async(device, KIB, 2, 33, 2, stream));
	CHECK(cuMemsetD2D32Async(device, KIB, 3, 34, 2, stream));
	/* NULL is the legacy default stream, and then the thread's own. */
	CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 35, NULL));
	CHECK(cuMemcpyHtoDAsync_v2_ptsz(device, pinned, 36, NULL));
	CHECK(cuMemsetD8Async_ptsz(device, 1, 37, NULL));
}

static void copy_each(void)
{
	CUresult refused;

	copy_waiting();
	copy_async(new_stream());
	refused = cu.cuMemcpyHtoD_v2(0, host, 99);
	CHECK(cuCtxSynchronize());
	printf("refused %d\n", (int)refused);
}

/* ---- in order with kernels of the same stream ---- */

static void launch(CUstream stream, unsigned number)
{
	CHECK(cuLaunchKernel(nothing, number, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

/* Kernels have 1, 2, ... blocks, and the copies between them as many KiB. */
static void copy_between_kernels(unsigned count)
{
	CUstream stream = new_stream();

	for (unsigned i = 1; i <= count; i++) {
		launch(stream, i);
		if (i % 3 == 0)
			CHECK(cuMemcpyDtoHAsync_v2(pinned, device, i * KIB, stream));
		else if (i % 3 == 1)
			CHECK(cuMemcpyHtoDAsync_v2(device, pinned, i * KIB, stream));
		else
			CHECK(cuMemsetD8Async(device, 0, i * KIB, stream));
		if (i % 16 == 0)
			CHECK(cuStreamSynchronize(stream));
	}
	CHECK(cuStreamSynchronize(stream));
}

/* ---- captured ---- */

/* The types of the nodes of a graph that was captured: kernel, copy, memset, copy. */
static void copy_captured(void)
{
	CUstream stream = new_stream();
	CUstreamCaptureStatus status;
	CUgraphNode nodes[16];
	CUgraphNodeType type;
	size_t count = 16;
	CUgraphExec exec[2];
	CUgraph graph;

	memset(pinned, 7, SIZE);
	CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch(stream, 1);
	CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 41, stream));
	CHECK(cuMemsetD8Async(device, 9, 20, stream));
	CHECK(cuMemcpyDtoHAsync_v2(pinned + KIB, device, 42, stream));
	CHECK(cuStreamIsCapturing(stream, &status));
	CHECK(cuStreamEndCapture(stream, &graph));
	CHECK(cuGraphGetNodes(graph, nodes, &count));
	printf("capturing %d, %zu nodes:", (int)status, count);
	for (size_t i = 0; i < count; i++) {
		CHECK(cuGraphNodeGetType(nodes[i], &type));
		printf(" %d", (int)type);
	}
	for (int i = 0; i < 2; i++) {
		CHECK(cuGraphInstantiateWithFlags(&exec[i], graph, 0));
		CHECK(cuGraphLaunch(exec[i], stream));
	}
	CHECK(cuStreamSynchronize(stream));
	printf("; copied %d %d\n", pinned[KIB + 19], pinned[KIB + 20]);
	CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 43, stream));
	CHECK(cuStreamSynchronize(stream));
}

/* While a stream that the default one waits for is captured: what the driver says then, and the capture. */
static void copy_beside_capture(void)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUresult legacy, beside, end;
	CUstream captured, stream = new_stream();
	CUgraph graph;

	CHECK(cuThreadExchangeStreamCaptureMode(&mode));
	CHECK(cuStreamCreate(&captured, CU_STREAM_DEFAULT));
	CHECK(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
	beside = cu.cuMemcpyHtoDAsync_v2(device, pinned, 51, stream);
	legacy = cu.cuMemcpyHtoDAsync_v2(device, pinned, 52, NULL);
	end = cu.cuStreamEndCapture(captured, &graph);
	printf("beside %d, default %d, end %d\n", (int)beside, (int)legacy, (int)end);
	CHECK(cuStreamSynchronize(stream));
}

/* ---- what a program may ask of a stream ---- */

static void ask_after_waiting(void)
{
	unsigned idle = 0;

	for (unsigned i = 0; i < 200; i++) {
		CHECK(cuMemcpyDtoH_v2(host, device, KIB));
		idle += cu.cuStreamQuery(NULL) == CUDA_SUCCESS;
		CHECK(cuMemcpyHtoD_v2(device, host, SIZE));
		idle += cu.cuStreamQuery(NULL) == CUDA_SUCCESS;
	}
	printf("idle %u\n", idle);
}

/* ---- what the driver refuses ---- */

typedef CUresult batch_fn(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, void *attributes,
			  size_t *indices, size_t attribute_count, size_t *failed, CUstream stream);

/*
 * More copies than the arrays have, and than there is memory: before the driver looks at any, it sees
 * that there are no attributes, and that this stream takes no batches.
 */
static void copy_refused_batch(void)
{
	batch_fn *batch = (batch_fn *)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyBatchAsync");
	CUdeviceptr from = (uintptr_t)pinned;
	size_t size = 1, failed;
	CUresult refused = batch(&device, &from, &size, (size_t)1 << 44, NULL, NULL, 0, &failed, NULL);

	CHECK(cuMemcpyHtoD_v2(device, pinned, 61));
	printf("refused %d\n", refused != CUDA_SUCCESS);
}

/* ---- many ---- */

static void copy_many(unsigned count)
{
	CUstream streams[4];

	for (int i = 0; i < 4; i++)
		streams[i] = new_stream();
	for (unsigned i = 0; i < count; i++) {
		CHECK(cuMemcpyHtoDAsync_v2(device, pinned, 8, streams[i % 4]));
		if (i % 256 == 255)
			CHECK(cuCtxSynchronize());
	}
	CHECK(cuCtxSynchronize());
}

/* Does memory grow with every copy?  What those on their way take, thousands at most, is 4 MiB. */
static void copy_very_many(unsigned count)
{
	long before;

	copy_many(count / 10);
	before = resident();
	copy_many(count);
	printf("%s\n", resident() - before < 8 << 20 ? "flat" : "growing");
}

static void *copy_in_thread(void *number)
{
	unsigned n = *(unsigned *)number;
	CUstream stream;

	CHECK(cuCtxSetCurrent(first));
	stream = n % 2 ? new_stream() : NULL;
	for (unsigned i = 0; i < 100; i++) {
		CHECK(cuMemsetD8Async_ptsz(device + n * KIB, 1, n, stream));
		CHECK(cuMemcpyDtoHAsync_v2_ptsz(pinned + n * KIB, device + n * KIB, n, stream));
	}
	CHECK(cuStreamSynchronize(stream ? stream : CU_STREAM_PER_THREAD));
	return NULL;
}

static void copy_in_threads(void)
{
	pthread_t threads[8];
	unsigned numbers[8];

	for (unsigned i = 0; i < 8; i++) {
		numbers[i] = i + 1;
		pthread_create(&threads[i], NULL, copy_in_thread, &numbers[i]);
	}
	for (unsigned i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
}

/* Contexts one after another, each with 20 copies, the last of which nobody waits for. */
static void copy_in_contexts(unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		CUdeviceptr memory;
		CUcontext context;
		CUstream stream;

		CHECK(cuCtxCreate_v2(&context, 0, 0));
		CHECK(cuMemAlloc_v2(&memory, KIB));
		stream = new_stream();
		for (unsigned j = 0; j < 20; j++)
			CHECK(cuMemcpyHtoDAsync_v2(memory, pinned, KIB, stream));
		CHECK(cuStreamDestroy_v2(stream));
		CHECK(cuCtxDestroy_v2(context));
	}
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void wait_at_gate(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
}

/* So many in three contexts that wait behind a function of the host's. */
static void copy_behind_gate(unsigned count)
{
	CUcontext contexts[3];
	CUdeviceptr memory[3];

	pthread_mutex_lock(&gate);
	for (int c = 0; c < 3; c++) {
		CUstream stream;

		CHECK(cuCtxCreate_v2(&contexts[c], 0, 0));
		CHECK(cuMemAlloc_v2(&memory[c], KIB));
		stream = new_stream();
		CHECK(cuLaunchHostFunc(stream, wait_at_gate, NULL));
		for (unsigned i = 0; i < count; i++)
			CHECK(cuMemcpyHtoDAsync_v2(memory[c], pinned, KIB, stream));
	}
	pthread_mutex_unlock(&gate);
	for (int c = 0; c < 3; c++) {
		CHECK(cuCtxSetCurrent(contexts[c]));
		CHECK(cuCtxSynchronize());
	}
}

/* Copies before, while and after somebody detaches at a kernel of its own. */
/* There and back; not 0: something else came back. */
static unsigned copy_round(CUstream stream, unsigned i, size_t bytes)
{
	memset(pinned, (int)i, KIB);
	CHECK(cuMemcpyHtoDAsync_v2(device, pinned, bytes, stream));
	CHECK(cuMemcpyDtoHAsync_v2(pinned + KIB, device, bytes, stream));
	CHECK(cuStreamSynchronize(stream));
	return memcmp(pinned, pinned + KIB, bytes) != 0;
}

/* Until there is a file, KIB at a time; then half as much. */
static void copy_while_detached(const char *path)
{
	CUstream stream = new_stream();
	unsigned wrong = 0;

	for (unsigned i = 0; i <= 10 || access(path, F_OK); i++) {
		if (i == 10)
			launch(stream, 1);
		wrong += copy_round(stream, i, KIB);
		usleep(2000);
	}
	for (unsigned i = 0; i < 1000; i++)
		wrong += copy_round(stream, i, KIB / 2);
	printf("wrong %u\n", wrong);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned number = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;

	set_up();
	if (!strcmp(what, "each"))
		copy_each();
	else if (!strcmp(what, "order"))
		copy_between_kernels(number);
	else if (!strcmp(what, "captured"))
		copy_captured();
	else if (!strcmp(what, "beside"))
		copy_beside_capture();
	else if (!strcmp(what, "idle"))
		ask_after_waiting();
	else if (!strcmp(what, "refused"))
		copy_refused_batch();
	else if (!strcmp(what, "many"))
		copy_many(number);
	else if (!strcmp(what, "flat"))
		copy_very_many(number);
	else if (!strcmp(what, "threads"))
		copy_in_threads();
	else if (!strcmp(what, "contexts"))
		copy_in_contexts(number);
	else if (!strcmp(what, "gate"))
		copy_behind_gate(number);
	else if (!strcmp(what, "detached"))
		copy_while_detached(argv[2]);
	else
		return 2;
	return 0;
}
