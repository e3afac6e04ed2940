/* SPDX-License-Identifier: Apache-2.0 */
/* Launches, order within and between streams, events, failures. */
#include <pthread.h>
#include <time.h>

#include "tests/sim-api/common.h"

#define N	1000

static CUdeviceptr words(size_t count)
{
	CUdeviceptr p;

	OK(cuMemAlloc_v2(&p, count * 4));
	OK(cuMemsetD32_v2(p, 0, count));
	return p;
}

static uint32_t word(CUdeviceptr p)
{
	uint32_t value;

	OK(cuMemcpyDtoH_v2(&value, p, sizeof(value)));
	return value;
}

START_TEST(saxpy)
{
	CUmodule module = setup();
	CUdeviceptr x, y;
	static float in[N], out[N];
	struct {
		uint32_t n;
		float a;
		CUdeviceptr x, y;
	} args = { .n = N, .a = 2 };
	void *params[] = { &args.n, &args.a, &args.x, &args.y };
	size_t size = sizeof(args);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &args, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = { .gridDimX = 10, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 100,
				  .blockDimY = 1, .blockDimZ = 1 };

	OK(cuMemAlloc_v2(&x, sizeof(in)));
	OK(cuMemAlloc_v2(&y, sizeof(out)));
	for (int i = 0; i < N; i++) {
		in[i] = (float)i;
		out[i] = 1;
	}
	OK(cuMemcpyHtoD_v2(x, in, sizeof(in)));
	OK(cuMemcpyHtoD_v2(y, out, sizeof(out)));
	args.x = x;
	args.y = y;
	/* y = 1, then 2x + 1, then 4x + 1 by the buffer, then 6x + 1. */
	OK(cuLaunchKernel(function(module, "saxpy"), 8, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchKernel(function(module, "saxpy"), 8, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
	OK(cuLaunchKernelEx(&config, function(module, "saxpy"), params, NULL));
	OK(cuMemcpyDtoH_v2(out, y, sizeof(out)));
	for (int i = 0; i < N; i++)
		ck_assert_msg(out[i] == (float)(6 * i + 1), "y[%d] = %g", i, (double)out[i]);
	teardown();
}
END_TEST

START_TEST(refused_launches)
{
	CUmodule module = setup();
	CUfunction store = function(module, "store"), shared = function(module, "shared");
	CUdeviceptr p = words(1);
	uint32_t value = 1;
	void *params[] = { &p, &value }, *missing[] = { &p, NULL };
	size_t short_size = 8;
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &p, CU_LAUNCH_PARAM_BUFFER_SIZE,
			  &short_size, CU_LAUNCH_PARAM_END };

	FAILS(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), INVALID_HANDLE);
	FAILS(cuLaunchKernel(store, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL), INVALID_VALUE);
	FAILS(cuLaunchKernel(store, 1, 1, 1, 1025, 1, 1, 0, NULL, params, NULL), INVALID_VALUE);
	FAILS(cuLaunchKernel(store, 1, 65536, 1, 1, 1, 1, 0, NULL, params, NULL), INVALID_VALUE);
	FAILS(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), INVALID_VALUE);
	FAILS(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, missing, NULL), INVALID_VALUE);
	FAILS(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra), INVALID_VALUE);
	FAILS(cuLaunchKernel(shared, 1, 1, 1, 129, 1, 1, 0, NULL, params, NULL), INVALID_VALUE);
	FAILS(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 49153, NULL, params, NULL), INVALID_VALUE);
	OK(cuFuncSetAttribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100 * 1024));
	OK(cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 49153, NULL, params, NULL));
	FAILS(cuFuncSetAttribute(store, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 * 1024),
	      INVALID_VALUE);
	FAILS(cuLaunchCooperativeKernel(store, 100000, 1, 1, 1024, 1, 1, 0, NULL, params),
	      COOPERATIVE_LAUNCH_TOO_LARGE);
	OK(cuLaunchCooperativeKernel(store, 1, 1, 1, 1, 1, 1, 0, NULL, params));
	OK(cuCtxSynchronize());
	ck_assert_uint_eq(word(p), 1);
	teardown();
}
END_TEST

START_TEST(grid_ids_count_launches)
{
	CUmodule module = setup();
	CUfunction gid = function(module, "gid");
	CUdeviceptr p, at;
	CUstream a, b;
	uint64_t ids[4];
	void *params[] = { &at };

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&p, sizeof(ids)));
	for (int i = 0; i < 4; i++) {
		at = p + 8u * (unsigned)i;
		OK(cuLaunchKernel(gid, 1, 1, 1, 1, 1, 1, 0, i % 2 ? a : b, params, NULL));
		OK(cuMemsetD8Async(p + 8u * (unsigned)i, 0, 0, a));
	}
	OK(cuCtxSynchronize());
	OK(cuMemcpyDtoH_v2(ids, p, sizeof(ids)));
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(ids[i], i + 1);
	teardown();
}
END_TEST

START_TEST(launch_returns_at_once)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new();
	CUdeviceptr p = words(1);
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	launch_spin(module, stream, (uintptr_t)gate, 1);
	launch_store(module, stream, p, 5);
	FAILS(cuStreamQuery(stream), NOT_READY);
	gate_open(gate);
	OK(cuStreamSynchronize(stream));
	OK(cuStreamQuery(stream));
	ck_assert_uint_eq(word(p), 5);
	OK(cuStreamDestroy_v2(stream));
	FAILS(cuStreamQuery(stream), INVALID_HANDLE);
	teardown();
}
END_TEST

/* A kernel in one stream waits for what a kernel in another one does: both must run. */
START_TEST(streams_run_at_once)
{
	CUmodule module = setup();
	CUdeviceptr p = words(1);
	CUstream a, b;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	launch_spin(module, a, p, 9);
	launch_store(module, b, p, 9);
	OK(cuStreamSynchronize(a));
	teardown();
}
END_TEST

/* 200 increments without atomics, spread over two streams that hand over by events. */
START_TEST(events_order_streams)
{
	CUmodule module = setup();
	CUdeviceptr p = words(1);
	CUstream s[2];
	CUevent e[2];

	for (int i = 0; i < 2; i++) {
		OK(cuStreamCreate(&s[i], CU_STREAM_NON_BLOCKING));
		OK(cuEventCreate(&e[i], CU_EVENT_DISABLE_TIMING));
	}
	for (unsigned i = 0; i < 200; i++) {
		OK(cuStreamWaitEvent(s[i % 2], e[!(i % 2)], 0));
		launch_add(module, s[i % 2], p, i);
		OK(cuEventRecord(e[i % 2], s[i % 2]));
	}
	OK(cuEventSynchronize(e[1]));
	ck_assert_uint_eq(word(p), 199 * 200 / 2);
	teardown();
}
END_TEST

static double host_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

START_TEST(event_states)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new();
	struct timespec pause = { .tv_nsec = 20000000 };
	CUevent a, b, bare;
	double begin = host_ms();
	CUstream s;
	float ms;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuEventCreate(&a, 0));
	OK(cuEventCreate(&b, 0));
	OK(cuEventCreate(&bare, CU_EVENT_DISABLE_TIMING));
	OK(cuEventQuery(a));		/* never recorded counts as passed */
	OK(cuEventSynchronize(a));
	FAILS(cuEventElapsedTime_v2(&ms, a, b), INVALID_HANDLE);
	OK(cuEventRecord(a, s));
	launch_spin(module, s, (uintptr_t)gate, 1);
	OK(cuEventRecord(b, s));
	OK(cuEventSynchronize(a));
	FAILS(cuEventQuery(b), NOT_READY);
	FAILS(cuEventElapsedTime_v2(&ms, a, b), NOT_READY);
	nanosleep(&pause, NULL);
	gate_open(gate);
	OK(cuEventSynchronize(b));
	OK(cuEventQuery(b));
	OK(cuEventElapsedTime_v2(&ms, a, b));
	ck_assert_float_ge(ms, 19.9f);
	ck_assert_float_lt(ms, (float)(host_ms() - begin));
	OK(cuEventRecord(bare, s));
	OK(cuEventSynchronize(bare));
	FAILS(cuEventElapsedTime_v2(&ms, a, bare), INVALID_HANDLE);
	OK(cuEventDestroy_v2(a));
	FAILS(cuEventQuery(a), INVALID_HANDLE);
	teardown();
}
END_TEST

/* A blocking stream and the legacy one wait for each other, a non-blocking one does not care. */
START_TEST(legacy_stream)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new();
	CUdeviceptr p = words(3);
	CUstream blocking, free_stream;

	OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&free_stream, CU_STREAM_NON_BLOCKING));
	launch_spin(module, blocking, (uintptr_t)gate, 1);
	launch_store(module, CU_STREAM_LEGACY, p, 1);		/* waits for the gate */
	launch_store(module, free_stream, p + 4, 2);		/* does not */
	OK(cuStreamSynchronize(free_stream));
	FAILS(cuStreamQuery(NULL), NOT_READY);
	/* The blocking stream's next kernel comes after the legacy stream's, whose 1 becomes 11. */
	launch_add(module, blocking, p, 10);
	gate_open(gate);
	OK(cuStreamSynchronize(blocking));
	ck_assert_uint_eq(word(p), 11);
	ck_assert_uint_eq(word(p + 4), 2);

	/* A stream that is destroyed with work in it still counts. */
	*gate = 0;
	launch_spin(module, blocking, (uintptr_t)gate, 1);
	launch_store(module, blocking, p, 100);
	OK(cuStreamDestroy_v2(blocking));
	launch_add(module, NULL, p, 1);
	gate_open(gate);
	OK(cuStreamSynchronize(NULL));
	ck_assert_uint_eq(word(p), 101);
	teardown();
}
END_TEST

static void *in_thread(void *data)
{
	CUcontext ctx;
	CUdeviceptr *p = data;
	CUmodule module;

	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuModuleLoadData(&module, test_ptx));
	launch_store(module, CU_STREAM_PER_THREAD, *p, 3);
	OK(cuStreamSynchronize_ptsz(NULL));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return NULL;
}

/* Two threads' own default streams are different streams. */
START_TEST(per_thread_stream)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new();
	CUdeviceptr p = words(1), gate_ptr = (uintptr_t)gate;
	unsigned long long mine, legacy;
	uint32_t one = 1;
	void *params[] = { &gate_ptr, &one };
	pthread_t thread;

	OK(cuLaunchKernel_ptsz(function(module, "spin"), 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuStreamGetId(CU_STREAM_PER_THREAD, &mine));
	OK(cuStreamGetId(NULL, &legacy));
	ck_assert_uint_ne(mine, legacy);
	OK(cuStreamGetId_ptsz(NULL, &legacy));
	ck_assert_uint_eq(mine, legacy);
	ck_assert_int_eq(pthread_create(&thread, NULL, in_thread, &p), 0);
	pthread_join(thread, NULL);
	FAILS(cuStreamQuery_ptsz(NULL), NOT_READY);
	gate_open(gate);
	OK(cuStreamSynchronize_ptsz(NULL));
	ck_assert_uint_eq(word(p), 3);
	teardown();
}
END_TEST

static int calls[4];
static int call_count;

static void on_host(void *data)
{
	calls[call_count++] = *(int *)data;
}

static void on_stream(CUstream stream, CUresult status, void *data)
{
	(void)stream;
	calls[call_count++] = *(int *)data + (int)status;
}

START_TEST(host_functions)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new();
	int one = 1, two = 2, three = 3;
	CUstream s;

	call_count = 0;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	launch_spin(module, s, (uintptr_t)gate, 1);
	OK(cuLaunchHostFunc(s, on_host, &one));
	OK(cuStreamAddCallback(s, on_stream, &two, 0));
	OK(cuLaunchHostFunc(s, on_host, &three));
	ck_assert_int_eq(call_count, 0);
	gate_open(gate);
	OK(cuStreamSynchronize(s));
	ck_assert_int_eq(call_count, 3);
	ck_assert_int_eq(calls[0], 1);
	ck_assert_int_eq(calls[1], 2);
	ck_assert_int_eq(calls[2], 3);
	teardown();
}
END_TEST

START_TEST(values_in_streams)
{
	setup();
	CUdeviceptr p = words(4);
	uint32_t *host = gate_new();
	CUstream a, b;

	OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	OK(cuStreamWaitValue32_v2(a, p, 7, CU_STREAM_WAIT_VALUE_EQ));
	OK(cuStreamWriteValue64_v2(a, p + 8, 1ull << 40, 0));
	FAILS(cuStreamQuery(a), NOT_READY);
	OK(cuStreamWriteValue32_v2(b, p, 7, 0));
	OK(cuStreamSynchronize(a));
	ck_assert_uint_eq(word(p), 7);
	ck_assert_uint_eq(word(p + 12), 1u << 8);
	OK(cuStreamWaitValue32_v2(a, (uintptr_t)host, 4, CU_STREAM_WAIT_VALUE_AND));
	FAILS(cuStreamQuery(a), NOT_READY);
	__atomic_store_n(host, 6, __ATOMIC_RELEASE);
	OK(cuStreamSynchronize(a));
	FAILS(cuStreamWriteValue32_v2(a, p + 2, 1, 0), INVALID_VALUE);
	FAILS(cuStreamWriteValue32_v2(a, 64, 1, 0), INVALID_VALUE);
	teardown();
}
END_TEST

/* Cases: the kernel and its argument, and the error that the context keeps. */
static const struct {
	const char *kernel;
	uint64_t offset;
	CUresult error;
} failures[] = {
	{ "store", 4096 * 1024, CUDA_ERROR_ILLEGAL_ADDRESS },
	{ "store", 4, CUDA_ERROR_ILLEGAL_ADDRESS },	/* just past the allocation */
	{ "store", 1, CUDA_ERROR_MISALIGNED_ADDRESS },
	{ "fail", 0, CUDA_ERROR_LAUNCH_FAILED },
};

START_TEST(failed_kernels)
{
	CUmodule module = setup();
	CUdeviceptr p, other = words(1);
	uint32_t value = 1;
	void *params[] = { &p, &value };
	CUcontext ctx;
	int status = 0;

	OK(cuMemAlloc_v2(&p, failures[_i].offset == 1 ? 8 : 4));
	p += failures[_i].offset;
	OK(cuLaunchKernel(function(module, failures[_i].kernel), 1, 1, 1, 1, 1, 1, 0, NULL, params,
			  NULL));
	expect(cuCtxSynchronize(), failures[_i].error, "cuCtxSynchronize", __LINE__);
	/* It sticks, whatever is called. */
	expect(cuCtxSynchronize(), failures[_i].error, "cuCtxSynchronize", __LINE__);
	expect(cuMemAlloc_v2(&p, 4), failures[_i].error, "cuMemAlloc_v2", __LINE__);
	expect(cuMemcpyDtoH_v2(&status, other, 4), failures[_i].error, "cuMemcpyDtoH_v2", __LINE__);
	/* A reset makes the context new. */
	OK(cuDevicePrimaryCtxReset_v2(0));
	OK(cuCtxGetCurrent(&ctx));
	OK(cuCtxSynchronize());
	OK(cuModuleLoadData(&module, test_ptx));
	other = words(1);
	launch_store(module, NULL, other, 8);
	ck_assert_uint_eq(word(other), 8);
	teardown();
}
END_TEST

START_TEST(freed_memory_is_out_of_bounds)
{
	CUmodule module = setup();
	CUdeviceptr p = words(1);

	launch_store(module, NULL, p, 1);
	OK(cuMemFree_v2(p));
	launch_store(module, NULL, p, 1);
	FAILS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
	OK(cuDevicePrimaryCtxReset_v2(0));
	teardown();
}
END_TEST

START_TEST(unusual_handles)
{
	CUstream s;
	CUevent e;
	int least, greatest, priority;
	unsigned flags;

	setup();
	FAILS(cuStreamCreate(&s, 4), INVALID_VALUE);
	FAILS(cuStreamCreate(NULL, 0), INVALID_VALUE);
	FAILS(cuEventCreate(&e, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), NOT_SUPPORTED);
	FAILS(cuEventRecord(NULL, NULL), INVALID_HANDLE);
	FAILS(cuStreamWaitEvent(NULL, NULL, 0), INVALID_HANDLE);
	FAILS(cuStreamDestroy_v2(NULL), INVALID_HANDLE);
	FAILS(cuStreamSynchronize((CUstream)&s), INVALID_HANDLE);
	OK(cuCtxGetStreamPriorityRange(&least, &greatest));
	ck_assert_int_eq(least, 0);
	ck_assert_int_eq(greatest, -5);
	OK(cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -9));
	OK(cuStreamGetPriority(s, &priority));
	ck_assert_int_eq(priority, -5);
	OK(cuStreamGetFlags(s, &flags));
	ck_assert_uint_eq(flags, CU_STREAM_NON_BLOCKING);
	teardown();
}
END_TEST

static void *storm(void *data)
{
	CUmodule module = ((void **)data)[0];
	CUdeviceptr p = (uintptr_t)((void **)data)[1];
	CUcontext ctx;
	CUstream s;

	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 250; i++)
		launch_add(module, s, p, 1);
	OK(cuStreamSynchronize(s));
	OK(cuStreamDestroy_v2(s));
	OK(cuDevicePrimaryCtxRelease_v2(0));
	return NULL;
}

START_TEST(many_threads)
{
	CUmodule module = setup();
	CUdeviceptr p = words(4);
	void *data[4][2];
	pthread_t threads[4];

	for (unsigned i = 0; i < 4; i++) {
		data[i][0] = module;
		data[i][1] = (void *)(uintptr_t)(p + 4 * i);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, storm, data[i]), 0);
	}
	for (unsigned i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_uint_eq(word(p + 4 * i), 250);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-stream");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, saxpy);
	tcase_add_test(tc, refused_launches);
	tcase_add_test(tc, grid_ids_count_launches);
	tcase_add_test(tc, launch_returns_at_once);
	tcase_add_test(tc, streams_run_at_once);
	tcase_add_test(tc, events_order_streams);
	tcase_add_test(tc, event_states);
	tcase_add_test(tc, legacy_stream);
	tcase_add_test(tc, per_thread_stream);
	tcase_add_test(tc, host_functions);
	tcase_add_test(tc, values_in_streams);
	tcase_add_loop_test(tc, failed_kernels, 0, sizeof(failures) / sizeof(*failures));
	tcase_add_test(tc, freed_memory_is_out_of_bounds);
	tcase_add_test(tc, unusual_handles);
	tcase_add_test(tc, many_threads);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
