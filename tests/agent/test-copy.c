/* SPDX-License-Identifier: Apache-2.0 */
/* What calls of the driver's functions copy and set, by their arguments. */
#include <check.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/copy/function.h"
#include "lib/uprobe/api_trace.h"
#include "tests/suite.h"

struct gt_driver gt_cu;

/* Addresses from 1000 on are the device's, those from 500 on registered memory of the host's, and others not known. */
static CUresult get_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr address)
{
	ck_assert_int_eq(attribute, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
	if (address < 500)
		return CUDA_ERROR_INVALID_VALUE;
	*(unsigned *)data = address < 1000 ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	return CUDA_SUCCESS;
}

static void setup(void)
{
	gt_cu.cuPointerGetAttribute = get_attribute;
}

static struct gt_copy_function function(const char *name)
{
	for (uint32_t i = 0; gt_api_name(i); i++) {
		if (!strcmp(gt_api_name(i), name))
			return gt_copy_function(i);
	}
	ck_abort_msg("there is no function %s", name);
	return (struct gt_copy_function){ 0 };
}

static void check_work(const char *name, const uint64_t *args, uint32_t kind, uint64_t bytes, uint64_t stream, bool waits)
{
	struct gt_copy_function f = function(name);
	struct gt_copy_work work = gt_copy_work(&f, args);

	ck_assert_uint_eq(work.kind, kind);
	ck_assert_uint_eq(work.bytes, bytes);
	ck_assert_uint_eq((uintptr_t)gt_copy_stream(&f, args), stream);
	ck_assert_int_eq(work.waits, waits);
}

#define ARGS(...) ((const uint64_t[12]){ __VA_ARGS__ })
#define PER_THREAD 2	/* CU_STREAM_PER_THREAD */

START_TEST(lines)
{
	check_work("cuMemcpyHtoD_v2", ARGS(1000, 1, 77), GT_COPY_HOST_TO_DEVICE, 77, 0, true);
	check_work("cuMemcpyDtoHAsync_v2", ARGS(1, 1000, 77, 0x5555), GT_COPY_DEVICE_TO_HOST, 77, 0x5555, false);
	check_work("cuMemcpyDtoD_v2_ptds", ARGS(2000, 1000, 77), GT_COPY_DEVICE_TO_DEVICE, 77, PER_THREAD, false);
	check_work("cuMemcpyHtoA_v2", ARGS(0xa, 4, 1, 77), GT_COPY_HOST_TO_DEVICE, 77, 0, true);
	check_work("cuMemcpyAtoHAsync_v2_ptsz", ARGS(1, 0xa, 4, 77, 0), GT_COPY_DEVICE_TO_HOST, 77, PER_THREAD, false);
	check_work("cuMemcpyAtoD_v2", ARGS(1000, 0xa, 4, 77), GT_COPY_DEVICE_TO_DEVICE, 77, 0, false);
	check_work("cuMemcpyAtoA_v2", ARGS(0xa, 4, 0xb, 8, 77), GT_COPY_DEVICE_TO_DEVICE, 77, 0, false);
	check_work("cuMemcpyPeerAsync", ARGS(1000, 1, 2000, 2, 77, 0x5555), GT_COPY_PEER, 77, 0x5555, false);
	/* Where the driver finds out by itself. */
	check_work("cuMemcpy", ARGS(1000, 1, 77), GT_COPY_HOST_TO_DEVICE, 77, 0, true);
	check_work("cuMemcpy", ARGS(500, 1000, 77), GT_COPY_DEVICE_TO_HOST, 77, 0, true);
	check_work("cuMemcpyAsync", ARGS(500, 1, 77, 0x5555), GT_COPY_HOST_TO_HOST, 77, 0x5555, false);
	check_work("cuMemcpyAsync_ptsz", ARGS(1000, 2000, 77, 0), GT_COPY_DEVICE_TO_DEVICE, 77, PER_THREAD, false);
}
END_TEST

START_TEST(structures)
{
	CUDA_MEMCPY2D plane = { .srcMemoryType = CU_MEMORYTYPE_DEVICE, .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
				.dstDevice = 1, .WidthInBytes = 7, .Height = 11 };
	CUDA_MEMCPY3D volume = { .srcMemoryType = CU_MEMORYTYPE_HOST, .dstMemoryType = CU_MEMORYTYPE_ARRAY,
				 .WidthInBytes = 7, .Height = 11, .Depth = 13 };
	CUDA_MEMCPY3D_PEER peers = { .WidthInBytes = 7, .Height = 11, .Depth = 17 };

	check_work("cuMemcpy2D_v2", ARGS((uintptr_t)&plane), GT_COPY_DEVICE_TO_HOST, 77, 0, true);
	check_work("cuMemcpy2DUnaligned_v2_ptds", ARGS((uintptr_t)&plane), GT_COPY_DEVICE_TO_HOST, 77, PER_THREAD, true);
	check_work("cuMemcpy2DAsync_v2", ARGS((uintptr_t)&plane, 0x5555), GT_COPY_DEVICE_TO_HOST, 77, 0x5555, false);
	check_work("cuMemcpy3D_v2", ARGS((uintptr_t)&volume), GT_COPY_HOST_TO_DEVICE, 1001, 0, true);
	check_work("cuMemcpy3DPeerAsync", ARGS((uintptr_t)&peers, 0x5555), GT_COPY_PEER, 1309, 0x5555, false);
}
END_TEST

START_TEST(batches)
{
	CUdeviceptr to[] = { 1000, 2000 }, from[] = { 1, 500 }, other[] = { 1, 1000 };
	size_t sizes[] = { 7, 11 };
	CUDA_MEMCPY3D_BATCH_OP ops[2] = { { .extent = { 2, 3, 5 } }, { .extent = { 7, 11, 13 } } };

	check_work("cuMemcpyBatchAsync", ARGS((uintptr_t)to, (uintptr_t)from, (uintptr_t)sizes, 2, 0, 0, 0, 0, 0x5555),
		   GT_COPY_HOST_TO_DEVICE, 18, 0x5555, false);
	/* Its later form has no index of what failed. */
	check_work("cuMemcpyBatchAsync_v2", ARGS((uintptr_t)to, (uintptr_t)other, (uintptr_t)sizes, 2, 0, 0, 0, 0x5555),
		   GT_COPY_UNKNOWN, 18, 0x5555, false);
	ops[0].src.type = ops[0].dst.type = ops[1].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
	ops[0].src.op.ptr.ptr = ops[1].src.op.ptr.ptr = 500;
	ops[0].dst.op.ptr.ptr = 1000;
	/* The size of its elements is the array's. */
	ops[1].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
	check_work("cuMemcpy3DBatchAsync", ARGS(2, (uintptr_t)ops, 0, 0, 0x5555), GT_COPY_HOST_TO_DEVICE, 30, 0x5555, false);
	check_work("cuMemcpy3DBatchAsync_v2", ARGS(1, (uintptr_t)ops, 0, 0x5555), GT_COPY_HOST_TO_DEVICE, 30, 0x5555, false);
}
END_TEST

START_TEST(fills)
{
	check_work("cuMemsetD8_v2", ARGS(1000, 1, 77), GT_COPY_MEMSET, 77, 0, false);
	check_work("cuMemsetD16Async", ARGS(1000, 1, 77, 0x5555), GT_COPY_MEMSET, 154, 0x5555, false);
	check_work("cuMemsetD32_v2_ptds", ARGS(1000, 1, 77), GT_COPY_MEMSET, 308, PER_THREAD, false);
	check_work("cuMemsetD2D8_v2", ARGS(1000, 64, 1, 7, 11), GT_COPY_MEMSET, 77, 0, false);
	check_work("cuMemsetD2D16Async", ARGS(1000, 64, 1, 7, 11, 0x5555), GT_COPY_MEMSET, 154, 0x5555, false);
	check_work("cuMemsetD2D32Async_ptsz", ARGS(1000, 64, 1, 7, 11, 0), GT_COPY_MEMSET, 308, PER_THREAD, false);
}
END_TEST

/* Whose sizes have 32 bits, or are in structures of such. */
static bool is_of_cuda_2(const char *name)
{
	static const char *const names[] = {
		"cuMemcpy2D", "cuMemcpy2DAsync", "cuMemcpy2DUnaligned", "cuMemcpy3D", "cuMemcpy3DAsync", "cuMemcpyAtoA",
		"cuMemcpyAtoD", "cuMemcpyAtoH", "cuMemcpyAtoHAsync", "cuMemcpyDtoA", "cuMemcpyDtoD", "cuMemcpyDtoDAsync",
		"cuMemcpyDtoH", "cuMemcpyDtoHAsync", "cuMemcpyHtoA", "cuMemcpyHtoAAsync", "cuMemcpyHtoD",
		"cuMemcpyHtoDAsync", "cuMemsetD16", "cuMemsetD2D16", "cuMemsetD2D32", "cuMemsetD2D8", "cuMemsetD32",
		"cuMemsetD8",
	};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

/* All that copies and sets memory, and nothing else. */
START_TEST(every_function)
{
	unsigned count = 0;

	for (uint32_t i = 0; gt_api_name(i); i++) {
		bool copies = (!strncmp(gt_api_name(i), "cuMemcpy", 8) || !strncmp(gt_api_name(i), "cuMemset", 8)) &&
			      !is_of_cuda_2(gt_api_name(i));
		struct gt_copy_function f = gt_copy_function(i);

		ck_assert_msg((f.shape != GT_SHAPE_NONE) == copies, "%s", gt_api_name(i));
		/* An asynchronous one names its stream. */
		ck_assert_msg(!copies || f.is_async == (f.stream >= 0), "%s", gt_api_name(i));
		count += copies;
	}
	ck_assert_uint_gt(count, 60);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("copies");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, structures);
	tcase_add_test(tcase, batches);
	tcase_add_test(tcase, fills);
	tcase_add_test(tcase, every_function);
	return run_case("copies", tcase);
}
