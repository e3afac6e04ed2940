/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation, registered memory, copies, fills, pointer attributes. */
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sim-api/common.h"

static void start(void)
{
	CUcontext ctx;

	OK(cuInit(0));
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
}

START_TEST(allocation)
{
	CUdeviceptr p, q, base;
	size_t before, after, total, size, pitch;
	unsigned char zeros[64], bytes[64] = { 0 };

	start();
	OK(cuMemGetInfo_v2(&before, &total));
	FAILS(cuMemAlloc_v2(&p, 0), INVALID_VALUE);
	FAILS(cuMemAlloc_v2(NULL, 4), INVALID_VALUE);
	FAILS(cuMemAlloc_v2(&p, total + 1), OUT_OF_MEMORY);
	OK(cuMemAlloc_v2(&p, 1000));
	OK(cuMemAlloc_v2(&q, 1 << 20));
	ck_assert_uint_eq(p % 256, 0);
	ck_assert_uint_eq(q % 256, 0);
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before - after, 1000 + (1 << 20));
	OK(cuMemGetAddressRange_v2(&base, &size, p + 999));
	ck_assert_uint_eq(base, p);
	ck_assert_uint_eq(size, 1000);
	FAILS(cuMemGetAddressRange_v2(&base, &size, p + 1000), NOT_FOUND);
	memset(zeros, 0, sizeof(zeros));
	OK(cuMemcpyDtoH_v2(bytes, q + 1000, sizeof(bytes)));
	ck_assert_mem_eq(bytes, zeros, sizeof(bytes));
	FAILS(cuMemFree_v2(p + 8), INVALID_VALUE);
	OK(cuMemFree_v2(p));
	FAILS(cuMemFree_v2(p), INVALID_VALUE);
	OK(cuMemFree_v2(q));
	OK(cuMemFree_v2(0));
	OK(cuMemAllocPitch_v2(&p, &pitch, 600, 10, 4));
	ck_assert_uint_eq(pitch, 1024);
	OK(cuMemFree_v2(p));
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
	teardown();
}
END_TEST

START_TEST(host_memory)
{
	long page = sysconf(_SC_PAGESIZE);
	CUmodule module = setup();
	unsigned flags;
	CUdeviceptr p;
	uint32_t *words;
	void *memory;
	int fd;

	OK(cuMemHostAlloc(&memory, 100, CU_MEMHOSTALLOC_PORTABLE));
	OK(cuMemHostGetDevicePointer_v2(&p, memory, 0));
	ck_assert_uint_eq(p, (uintptr_t)memory);
	OK(cuMemHostGetFlags(&flags, memory));
	ck_assert_uint_eq(flags, CU_MEMHOSTALLOC_PORTABLE);
	FAILS(cuMemFree_v2(p), INVALID_VALUE);
	OK(cuMemFreeHost(memory));
	FAILS(cuMemFreeHost(memory), INVALID_VALUE);

	/* Shared memory of a file, as another process would map it. */
	fd = memfd_create("test", 0);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(ftruncate(fd, page), 0);
	words = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne(words, MAP_FAILED);
	FAILS(cuMemHostUnregister(words), HOST_MEMORY_NOT_REGISTERED);
	OK(cuMemHostRegister_v2(words, (size_t)page, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE));
	FAILS(cuMemHostRegister_v2(words + 1, 4, 0), HOST_MEMORY_ALREADY_REGISTERED);
	FAILS(cuMemHostRegister_v2(NULL, 4, 0), INVALID_VALUE);
	FAILS(cuMemHostRegister_v2((void *)64, 4096, 0), INVALID_VALUE);
	OK(cuMemHostGetDevicePointer_v2(&p, words, 0));
	launch_store(module, NULL, p + 8, 17);
	OK(cuCtxSynchronize());
	ck_assert_uint_eq(words[2], 17);
	OK(cuMemHostUnregister(words));
	FAILS(cuMemHostGetDevicePointer_v2(&p, words, 0), INVALID_VALUE);
	launch_store(module, NULL, (uintptr_t)words, 18);
	FAILS(cuCtxSynchronize(), ILLEGAL_ADDRESS);
	ck_assert_uint_eq(words[0], 0);
	munmap(words, (size_t)page);
	close(fd);
	OK(cuDevicePrimaryCtxReset_v2(0));
	teardown();
}
END_TEST

START_TEST(managed_memory)
{
	CUmodule module = setup();
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, 8, CU_MEM_ATTACH_GLOBAL));
	*(uint32_t *)(uintptr_t)p = 5;
	launch_add(module, NULL, p, 6);
	OK(cuCtxSynchronize());
	ck_assert_uint_eq(*(uint32_t *)(uintptr_t)p, 11);
	FAILS(cuMemAllocManaged(&p, 8, 0), INVALID_VALUE);
	OK(cuMemFree_v2(p));
	teardown();
}
END_TEST

START_TEST(copies)
{
	unsigned char in[256], out[256];
	CUdeviceptr a, b;

	start();
	for (int i = 0; i < 256; i++)
		in[i] = (unsigned char)i;
	OK(cuMemAlloc_v2(&a, 256));
	OK(cuMemAlloc_v2(&b, 256));
	OK(cuMemcpyHtoD_v2(a, in, 256));
	OK(cuMemcpyDtoD_v2(b + 16, a + 1, 100));
	memset(out, 0xee, sizeof(out));
	OK(cuMemcpyDtoH_v2(out, b, 256));
	ck_assert_uint_eq(out[15], 0);
	ck_assert_uint_eq(out[16], 1);
	ck_assert_uint_eq(out[115], 100);
	ck_assert_uint_eq(out[116], 0);
	/* Unified: the kind of each side is found by its address. */
	OK(cuMemcpy((uintptr_t)out, a + 200, 8));
	ck_assert_uint_eq(out[0], 200);
	OK(cuMemcpy_ptds(b, (uintptr_t)in + 3, 1));
	OK(cuMemcpyDtoH_v2_ptds(out, b, 1));
	ck_assert_uint_eq(out[0], 3);
	FAILS(cuMemcpyHtoD_v2(a, in, 257), INVALID_VALUE);
	FAILS(cuMemcpyHtoD_v2(a + 250, in, 7), INVALID_VALUE);
	FAILS(cuMemcpyDtoH_v2(out, (uintptr_t)in, 4), INVALID_VALUE);
	FAILS(cuMemcpyDtoD_v2(b, 0, 4), INVALID_VALUE);
	OK(cuMemcpyHtoD_v2(a, in, 0));
	teardown();
}
END_TEST

/* The source may be changed as soon as the call is back, though a kernel holds up the stream. */
START_TEST(async_copies)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new(), value = 1, *pinned;
	CUdeviceptr p;
	CUstream s;
	void *memory;

	OK(cuMemAlloc_v2(&p, 8));
	OK(cuMemAllocHost_v2(&memory, 4));
	pinned = memory;
	*pinned = 0;
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	launch_spin(module, s, (uintptr_t)gate, 1);
	OK(cuMemcpyHtoDAsync_v2(p, &value, 4, s));
	value = 2;
	launch_add(module, s, p, 10);
	OK(cuMemcpyDtoHAsync_v2(pinned, p, 4, s));
	ck_assert_uint_eq(*pinned, 0);
	gate_open(gate);
	OK(cuStreamSynchronize(s));
	ck_assert_uint_eq(*pinned, 11);
	/* To ordinary memory: done when the call is back. */
	launch_add(module, s, p, 10);
	OK(cuMemcpyDtoHAsync_v2(&value, p, 4, s));
	ck_assert_uint_eq(value, 21);
	teardown();
}
END_TEST

START_TEST(planes_and_volumes)
{
	unsigned char in[6 * 10], out[64];
	CUDA_MEMCPY2D plane = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 10, .srcXInBytes = 2,
		.srcY = 1, .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstPitch = 8, .dstXInBytes = 1,
		.dstY = 2, .WidthInBytes = 4, .Height = 3,
	};
	CUDA_MEMCPY3D volume = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = in, .srcPitch = 5, .srcHeight = 4,
		.srcZ = 1, .srcY = 1, .dstMemoryType = CU_MEMORYTYPE_UNIFIED, .dstPitch = 8,
		.dstHeight = 2, .WidthInBytes = 3, .Height = 2, .Depth = 2,
	};
	CUdeviceptr p;

	start();
	for (int i = 0; i < 60; i++)
		in[i] = (unsigned char)i;
	OK(cuMemAlloc_v2(&p, 64));
	plane.dstDevice = p;
	OK(cuMemcpy2D_v2(&plane));
	OK(cuMemcpyDtoH_v2(out, p, 64));
	ck_assert_uint_eq(out[2 * 8 + 0], 0);
	ck_assert_uint_eq(out[2 * 8 + 1], 12);	/* row 1, column 2 */
	ck_assert_uint_eq(out[4 * 8 + 4], 35);	/* row 3, column 5 */
	ck_assert_uint_eq(out[4 * 8 + 5], 0);
	plane.dstY = 6;
	FAILS(cuMemcpy2D_v2(&plane), INVALID_VALUE);
	plane.dstMemoryType = CU_MEMORYTYPE_ARRAY;
	FAILS(cuMemcpy2D_v2(&plane), NOT_SUPPORTED);
	FAILS(cuMemcpy2D_v2(NULL), INVALID_VALUE);

	OK(cuMemsetD8_v2(p, 0, 64));
	volume.dstDevice = p;
	OK(cuMemcpy3D_v2(&volume));
	OK(cuMemcpyDtoH_v2(out, p, 64));
	ck_assert_uint_eq(out[0], 25);			/* plane 1, row 1 of 5 by 4 */
	ck_assert_uint_eq(out[8 + 2], 32);		/* next row, column 2 */
	ck_assert_uint_eq(out[16 + 8 + 1], 51);		/* plane 2, row 2, column 1 */
	ck_assert_uint_eq(out[3], 0);
	volume.Height = 3;
	FAILS(cuMemcpy3D_v2(&volume), INVALID_VALUE);
	teardown();
}
END_TEST

START_TEST(fills)
{
	uint32_t out[16];
	CUdeviceptr p;

	start();
	OK(cuMemAlloc_v2(&p, 64));
	OK(cuMemsetD32_v2(p, 0x01020304, 16));
	OK(cuMemsetD16_v2(p + 6, 0xabcd, 1));
	OK(cuMemsetD8_v2(p + 11, 0x7f, 2));
	OK(cuMemcpyDtoH_v2(out, p, 64));
	ck_assert_uint_eq(out[0], 0x01020304);
	ck_assert_uint_eq(out[1], 0xabcd0304);
	ck_assert_uint_eq(out[2], 0x7f020304);
	ck_assert_uint_eq(out[3], 0x0102037f);
	OK(cuMemsetD2D32_v2(p, 16, 9, 2, 3));
	OK(cuMemcpyDtoH_v2(out, p, 64));
	ck_assert_uint_eq(out[1], 9);
	ck_assert_uint_eq(out[2], 0x7f020304);
	ck_assert_uint_eq(out[9], 9);
	ck_assert_uint_eq(out[12], 0x01020304);
	FAILS(cuMemsetD32_v2(p + 2, 0, 1), INVALID_VALUE);
	FAILS(cuMemsetD32_v2(p, 0, 17), INVALID_VALUE);
	FAILS(cuMemsetD2D32_v2(p, 4, 9, 2, 3), INVALID_VALUE);
	FAILS(cuMemsetD8_v2(p + 64, 0, 1), INVALID_VALUE);
	OK(cuMemsetD8Async(p, 1, 64, NULL));
	OK(cuMemsetD2D16Async_ptsz(p, 32, 2, 1, 2, NULL));
	OK(cuCtxSynchronize());
	teardown();
}
END_TEST

START_TEST(stream_ordered)
{
	CUmodule module = setup();
	uint32_t *gate = gate_new(), value;
	CUdeviceptr p;
	CUstream s;
	CUmemoryPool pool;
	uint64_t threshold = 5;

	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuMemAllocAsync(&p, 4, s));
	launch_store(module, s, p, 3);
	OK(cuMemcpyDtoHAsync_v2(&value, p, 4, s));
	ck_assert_uint_eq(value, 3);
	launch_spin(module, s, (uintptr_t)gate, 1);
	OK(cuMemFreeAsync(p, s));
	OK(cuMemcpyDtoH_v2(&value, p, 4));	/* another stream, so still there */
	gate_open(gate);
	OK(cuStreamSynchronize(s));
	FAILS(cuMemcpyDtoH_v2(&value, p, 4), INVALID_VALUE);
	FAILS(cuMemFreeAsync(p, s), INVALID_VALUE);
	OK(cuDeviceGetDefaultMemPool(&pool, 0));
	OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	threshold = 0;
	OK(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
	ck_assert_uint_eq(threshold, 5);
	OK(cuMemAllocFromPoolAsync(&p, 4, pool, s));
	OK(cuMemFreeAsync(p, s));
	teardown();
}
END_TEST

START_TEST(pointer_attributes)
{
	CUpointer_attribute list[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
				       CU_POINTER_ATTRIBUTE_RANGE_SIZE,
				       CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
	unsigned type = 99;
	size_t size = 99;
	int ordinal = 99;
	void *data[] = { &type, &size, &ordinal }, *host;
	unsigned long long id, other_id;
	CUcontext ctx, now;
	CUdeviceptr p, base;

	start();
	OK(cuMemAlloc_v2(&p, 100));
	OK(cuMemHostAlloc(&host, 10, 0));
	OK(cuPointerGetAttributes(3, list, data, p + 50));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_DEVICE);
	ck_assert_uint_eq(size, 100);
	ck_assert_int_eq(ordinal, 0);
	OK(cuPointerGetAttributes(3, list, data, (uintptr_t)&type));
	ck_assert_uint_eq(type, 0);
	ck_assert_uint_eq(size, 0);
	ck_assert_int_eq(ordinal, -2);
	FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)&type),
	      INVALID_VALUE);
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)host));
	ck_assert_uint_eq(type, CU_MEMORYTYPE_HOST);
	OK(cuPointerGetAttribute(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 99));
	ck_assert_uint_eq(base, p);
	OK(cuPointerGetAttribute(&ctx, CU_POINTER_ATTRIBUTE_CONTEXT, p));
	OK(cuCtxGetCurrent(&now));
	ck_assert_ptr_eq(ctx, now);
	OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	OK(cuMemFree_v2(p));
	OK(cuMemAlloc_v2(&p, 100));
	OK(cuPointerGetAttribute(&other_id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p));
	ck_assert_uint_ne(id, other_id);
	teardown();
	FAILS(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p), INVALID_VALUE);
}
END_TEST

START_TEST(many_allocations)
{
	enum { N = 2000 };
	static CUdeviceptr p[N];
	size_t before, after, total;

	start();
	OK(cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < N; i++)
		OK(cuMemAlloc_v2(&p[i], 64 + (size_t)i));
	for (int i = 0; i < N; i++) {
		CUdeviceptr base;

		OK(cuMemGetAddressRange_v2(&base, NULL, p[i] + 63));
		ck_assert_uint_eq(base, p[i]);
	}
	for (int i = 0; i < N; i += 2)
		OK(cuMemFree_v2(p[i]));
	for (int i = 1; i < N; i += 2)
		OK(cuMemFree_v2(p[i]));
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-memory");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, allocation);
	tcase_add_test(tc, host_memory);
	tcase_add_test(tc, managed_memory);
	tcase_add_test(tc, copies);
	tcase_add_test(tc, async_copies);
	tcase_add_test(tc, planes_and_volumes);
	tcase_add_test(tc, fills);
	tcase_add_test(tc, stream_ordered);
	tcase_add_test(tc, pointer_attributes);
	tcase_add_test(tc, many_allocations);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
