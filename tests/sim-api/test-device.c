/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisation, devices, contexts, and how functions are found. */
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
#include <sys/wait.h>

#include "sim/entries.h"
#include "tests/sim-api/common.h"

START_TEST(before_init)
{
	CUcontext ctx;
	int n;

	FAILS(cuDeviceGetCount(&n), NOT_INITIALIZED);
	FAILS(cuCtxGetCurrent(&ctx), NOT_INITIALIZED);
	FAILS(cuCtxSynchronize(), NOT_INITIALIZED);
	FAILS(cuInit(1), INVALID_VALUE);
	OK(cuDriverGetVersion(&n));
	ck_assert_int_eq(n, 13000);
}
END_TEST

START_TEST(one_device)
{
	char name[64], bus[16];
	size_t bytes;
	CUdevice dev;
	CUuuid uuid;
	int n, minor;

	OK(cuInit(0));
	OK(cuInit(0));
	OK(cuDeviceGetCount(&n));
	ck_assert_int_eq(n, 1);
	OK(cuDeviceGet(&dev, 0));
	FAILS(cuDeviceGet(&dev, 1), INVALID_DEVICE);
	OK(cuDeviceGetName(name, sizeof(name), 0));
	ck_assert_str_eq(name, "gputrace software device");
	OK(cuDeviceGetName(name, 9, 0));
	ck_assert_str_eq(name, "gputrace");
	OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
	ck_assert_int_eq(n, 32);
	OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
	ck_assert_int_eq(n, 4);
	FAILS(cuDeviceGetAttribute(&n, (CUdevice_attribute)0, 0), INVALID_VALUE);
	FAILS(cuDeviceGetAttribute(&n, (CUdevice_attribute)4000, 0), INVALID_VALUE);
	OK(cuDeviceComputeCapability(&n, &minor, 0));
	ck_assert_int_eq(n, 9);
	ck_assert_int_eq(minor, 0);
	OK(cuDeviceGetPCIBusId(bus, sizeof(bus), 0));
	ck_assert_str_eq(bus, "0000:F0:00.0");
	OK(cuDeviceGetByPCIBusId(&dev, bus));
	ck_assert_int_eq(dev, 0);
	OK(cuDeviceGetUuid_v2(&uuid, 0));
	ck_assert_int_eq(uuid.bytes[0], 'g');
	OK(cuDeviceTotalMem_v2(&bytes, 0));
	ck_assert_uint_eq(bytes, 8ull << 30);
}
END_TEST

START_TEST(contexts)
{
	unsigned long long id, other_id;
	CUcontext primary, again, own, now;
	unsigned flags;
	CUdevice dev;
	int active;

	OK(cuInit(0));
	FAILS(cuCtxGetDevice(&dev), INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 0);
	OK(cuDevicePrimaryCtxRetain(&primary, 0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	ck_assert_ptr_eq(primary, again);
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	ck_assert_int_eq(active, 1);
	OK(cuCtxPushCurrent_v2(primary));
	OK(cuCtxCreate_v4(&own, NULL, CU_CTX_SCHED_YIELD, 0));
	OK(cuCtxGetCurrent(&now));
	ck_assert_ptr_eq(now, own);
	OK(cuCtxGetFlags(&flags));
	ck_assert_uint_eq(flags, CU_CTX_SCHED_YIELD);
	OK(cuCtxGetDevice(&dev));
	ck_assert_int_eq(dev, 0);
	OK(cuCtxGetId(primary, &id));
	OK(cuCtxGetId(NULL, &other_id));
	ck_assert_uint_ne(id, other_id);
	OK(cuCtxDestroy_v2(own));
	OK(cuCtxGetCurrent(&now));
	ck_assert_ptr_eq(now, primary);
	FAILS(cuCtxSetCurrent(own), CONTEXT_IS_DESTROYED);
	FAILS(cuCtxDestroy_v2(own), CONTEXT_IS_DESTROYED);
	FAILS(cuCtxDestroy_v2(primary), INVALID_CONTEXT);
	FAILS(cuCtxSetCurrent((CUcontext)&now), INVALID_CONTEXT);
	OK(cuCtxPopCurrent_v2(&now));
	ck_assert_ptr_eq(now, primary);
	FAILS(cuCtxPopCurrent_v2(&now), INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRelease_v2(0));
	OK(cuCtxSetCurrent(primary));
	OK(cuCtxSynchronize());
	OK(cuDevicePrimaryCtxRelease_v2(0));
	FAILS(cuCtxSynchronize(), CONTEXT_IS_DESTROYED);
	FAILS(cuDevicePrimaryCtxRelease_v2(0), INVALID_CONTEXT);
	OK(cuCtxSetCurrent(NULL));
}
END_TEST

static void *other_thread(void *ret)
{
	CUcontext ctx = (CUcontext)1;

	if (cuCtxGetCurrent(&ctx) == CUDA_SUCCESS && !ctx)
		*(bool *)ret = true;
	return NULL;
}

START_TEST(current_is_per_thread)
{
	pthread_t thread;
	bool none = false;

	setup();
	ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, &none), 0);
	pthread_join(thread, NULL);
	ck_assert(none);
	teardown();
}
END_TEST

START_TEST(child_of_fork)
{
	int status, n;
	pid_t pid;

	OK(cuInit(0));
	pid = fork();
	if (pid == 0)
		_exit(cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED &&
		      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	OK(cuDeviceGetCount(&n));
}
END_TEST

START_TEST(error_names)
{
	const char *text;

	OK(cuGetErrorName(CUDA_ERROR_INVALID_PTX, &text));
	ck_assert_str_eq(text, "CUDA_ERROR_INVALID_PTX");
	OK(cuGetErrorString(CUDA_ERROR_NOT_READY, &text));
	ck_assert_str_eq(text, "not finished yet");
	FAILS(cuGetErrorName((CUresult)12345, &text), INVALID_VALUE);
	ck_assert_ptr_null(text);
}
END_TEST

static const char *const names[] = {
#define X(name, ...) #name,
	GT_CUDA_FUNCTIONS(X)
	SIM_FOREIGN(X)
#undef X
};

START_TEST(entries)
{
	static const unsigned char start[] = { 0x55, 0x48, 0x89, 0xe5, 0x41, 0x54 };

	/* As many as the real driver has for CUDA 13.0. */
	ck_assert_uint_eq(sizeof(names) / sizeof(*names), 637);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const void *entry = dlsym(RTLD_DEFAULT, names[i]);

		ck_assert_msg(entry != NULL, "%s is not exported", names[i]);
		ck_assert_msg(!memcmp(entry, start, sizeof(start)), "%s begins otherwise", names[i]);
	}
}
END_TEST

static void *proc(const char *name, int version, uint64_t flags, int want)
{
	CUdriverProcAddressQueryResult status;
	void *entry = (void *)1;

	OK(cuGetProcAddress_v2(name, &entry, version, flags, &status));
	ck_assert_msg((int)status == want, "%s at %d: status %d", name, version, status);
	return entry;
}

START_TEST(proc_address)
{
	const uint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	void *entry;

#define IS(name, version, flags, symbol) \
	ck_assert_ptr_eq(proc(name, version, flags, CU_GET_PROC_ADDRESS_SUCCESS), \
			 dlsym(RTLD_DEFAULT, symbol))
	IS("cuInit", 13000, 0, "cuInit");
	IS("cuMemAlloc", 13000, 0, "cuMemAlloc_v2");
	IS("cuMemAlloc", 3020, 0, "cuMemAlloc_v2");
	IS("cuMemAlloc", 3010, 0, "cuMemAlloc");
	IS("cuCtxCreate", 11030, 0, "cuCtxCreate_v2");
	IS("cuCtxCreate", 12000, 0, "cuCtxCreate_v3");
	IS("cuCtxCreate", 13000, 0, "cuCtxCreate_v4");
	IS("cuCtxSynchronize", 12000, 0, "cuCtxSynchronize");
	IS("cuCtxSynchronize", 13000, 0, "cuCtxSynchronize_v2");
	IS("cuLaunchKernel", 12000, 0, "cuLaunchKernel");
	IS("cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, "cuLaunchKernel");
	IS("cuLaunchKernel", 12000, per_thread, "cuLaunchKernel_ptsz");
	IS("cuMemcpyHtoD", 12000, per_thread, "cuMemcpyHtoD_v2_ptds");
	IS("cuMemFree", 12000, per_thread, "cuMemFree_v2");
	IS("cuStreamGetCaptureInfo", 12000, per_thread, "cuStreamGetCaptureInfo_v2_ptsz");
	IS("cuGraphAddKernelNode", 11080, 0, "cuGraphAddKernelNode");
	IS("cuGraphAddKernelNode", 12000, 0, "cuGraphAddKernelNode_v2");
	IS("cuTexObjectCreate", 12000, 0, "cuTexObjectCreate");
#undef IS
	ck_assert_ptr_null(proc("cuLibraryLoadData", 11080, 0,
				CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
	ck_assert_ptr_null(proc("cuNoSuchThing", 12000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	ck_assert_ptr_null(proc("cuMemAlloc_v2", 12000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	OK(cuGetProcAddress("cuMemAlloc", &entry, 12000, 0));
	ck_assert_ptr_eq(entry, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"));
	FAILS(cuGetProcAddress("cuNoSuchThing", &entry, 12000, 0), NOT_FOUND);
	ck_assert_ptr_null(entry);
	FAILS(cuGetProcAddress("cuInit", &entry, 13010, 0), INVALID_VALUE);
}
END_TEST

static const char *const lacking[] = {
#define X(name, ...) #name,
	SIM_LACKING(X)
	SIM_FOREIGN(X)
#undef X
};

START_TEST(what_is_lacking)
{
	const void *table = (void *)1;
	CUuuid id = { { 0 } };

	OK(cuInit(0));
	for (size_t i = 0; i < sizeof(lacking) / sizeof(*lacking); i++) {
		CUresult (*call)(uint64_t, uint64_t) =
			(CUresult (*)(uint64_t, uint64_t))dlsym(RTLD_DEFAULT, lacking[i]);

		expect(call(0, 0), CUDA_ERROR_NOT_SUPPORTED, lacking[i], __LINE__);
	}
	FAILS(cuGetExportTable(&table, &id), NOT_FOUND);
	ck_assert_ptr_null(table);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-device");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, before_init);
	tcase_add_test(tc, one_device);
	tcase_add_test(tc, contexts);
	tcase_add_test(tc, current_is_per_thread);
	tcase_add_test(tc, child_of_fork);
	tcase_add_test(tc, error_names);
	tcase_add_test(tc, entries);
	tcase_add_test(tc, proc_address);
	tcase_add_test(tc, what_is_lacking);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
