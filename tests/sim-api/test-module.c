/* SPDX-License-Identifier: Apache-2.0 */
/* Modules, libraries, functions, images, the linker, compiler logs. */
#include <lz4.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "tests/sim-api/common.h"

static const char broken_ptx[] =
	".version 7.0\n"
	".target sm_75\n"
	".address_size 64\n"
	".visible .entry broken()\n"
	"{\n"
	"	bogus.op %r1, %r2;\n"	/* line 6 */
	"	ret;\n"
	"}\n";

/* A module whose only kernel has the given name. */
static void one_kernel(char *text, size_t size, const char *version, const char *target,
		       const char *name)
{
	snprintf(text, size,
		 ".version %s\n.target %s\n.address_size 64\n.visible .entry %s()\n{\n\tret;\n}\n",
		 version, target, name);
}

static unsigned count_kernels(CUmodule module)
{
	unsigned count;

	OK(cuModuleGetFunctionCount(&count, module));
	return count;
}

START_TEST(functions)
{
	CUmodule module = setup(), other;
	CUfunction list[10] = { NULL }, f;
	const char *name;
	size_t offset, size;
	int value;

	ck_assert_uint_eq(count_kernels(module), 7);
	OK(cuModuleEnumerateFunctions(list, 10, module));
	OK(cuFuncGetName(&name, list[0]));
	ck_assert_str_eq(name, "saxpy");
	OK(cuFuncGetName(&name, list[6]));
	ck_assert_str_eq(name, "shared");
	ck_assert_ptr_null(list[7]);
	FAILS(cuModuleGetFunction(&f, module, "nothing"), NOT_FOUND);
	FAILS(cuModuleGetFunction(&f, (CUmodule)list, "saxpy"), INVALID_HANDLE);
	f = function(module, "saxpy");
	ck_assert_ptr_eq(f, list[0]);
	OK(cuFuncGetModule(&other, f));
	ck_assert_ptr_eq(other, module);
	OK(cuFuncGetParamInfo(f, 0, &offset, &size));
	ck_assert_uint_eq(offset, 0);
	ck_assert_uint_eq(size, 4);
	OK(cuFuncGetParamInfo(f, 1, &offset, &size));
	ck_assert_uint_eq(offset, 4);
	OK(cuFuncGetParamInfo(f, 3, &offset, &size));
	ck_assert_uint_eq(offset, 16);
	ck_assert_uint_eq(size, 8);
	FAILS(cuFuncGetParamInfo(f, 4, &offset, &size), INVALID_VALUE);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	ck_assert_int_eq(value, 1024);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f));
	ck_assert_int_eq(value, 70);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, f));
	ck_assert_int_eq(value, 90);
	f = function(module, "shared");
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
	ck_assert_int_eq(value, 128);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
	ck_assert_int_eq(value, 64);
	OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	ck_assert_int_eq(value, 48 * 1024 - 64);
	/* 16 blocks of 128 threads are 2,048. */
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 0));
	ck_assert_int_eq(value, 16);
	OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 128, 100 * 1024));
	ck_assert_int_eq(value, 2);
	OK(cuModuleUnload(module));
	FAILS(cuModuleUnload(module), INVALID_HANDLE);
	FAILS(cuFuncGetName(&name, f), INVALID_HANDLE);
	teardown();
}
END_TEST

START_TEST(globals)
{
	CUmodule a = setup(), b;
	CUdeviceptr pa, pb;
	uint32_t value;
	size_t size;

	OK(cuModuleLoadData(&b, test_ptx));
	OK(cuModuleGetGlobal_v2(&pa, &size, a, "counter"));
	OK(cuModuleGetGlobal_v2(&pb, NULL, b, "counter"));
	ck_assert_uint_eq(size, 4);
	ck_assert_uint_ne(pa, pb);
	FAILS(cuModuleGetGlobal_v2(&pa, &size, a, "saxpy"), NOT_FOUND);
	launch_add(a, NULL, pa, 1);
	OK(cuMemcpyDtoH_v2(&value, pa, 4));
	ck_assert_uint_eq(value, 42);
	OK(cuMemcpyDtoH_v2(&value, pb, 4));
	ck_assert_uint_eq(value, 41);
	OK(cuModuleUnload(b));
	FAILS(cuMemcpyDtoH_v2(&value, pb, 4), INVALID_VALUE);
	teardown();
}
END_TEST

START_TEST(compiler_log)
{
	char errors[200] = "", info[100] = "x";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
				   CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { errors, (void *)sizeof(errors), info, (void *)sizeof(info) };
	CUmodule module;
	CUlibrary library;

	setup();
	FAILS(cuModuleLoadDataEx(&module, broken_ptx, 4, options, values), INVALID_PTX);
	ck_assert_msg(strstr(errors, "line 6") != NULL, "log: %s", errors);
	ck_assert_uint_eq((uintptr_t)values[1], strlen(errors));
	ck_assert_str_eq(info, "");
	ck_assert_ptr_null(values[3]);
	/* A small buffer gets what fits, and never more. */
	memset(errors, 'x', sizeof(errors));
	values[1] = (void *)10;
	FAILS(cuLibraryLoadData(&library, broken_ptx, options, values, 2, NULL, NULL, 0), INVALID_PTX);
	ck_assert_uint_eq(strlen(errors), 9);
	ck_assert_int_eq(errors[10], 'x');
	FAILS(cuModuleLoadDataEx(&module, broken_ptx, 2, NULL, NULL), INVALID_VALUE);
	FAILS(cuModuleLoadData(&module, broken_ptx), INVALID_PTX);
	teardown();
}
END_TEST

/* Code that is compiled when it is asked for: what is wrong with it shows then, each time. */
START_TEST(lazy)
{
	CUmoduleLoadingMode mode;
	CUlibrary library;
	CUfunction function;
	CUmodule module;
	CUkernel kernel;
	unsigned count;
	char text[200];

	setenv("CUDA_MODULE_LOADING", "LAZY", 1);
	setup();
	OK(cuModuleGetLoadingMode(&mode));
	ck_assert_int_eq(mode, CU_MODULE_LAZY_LOADING);
	OK(cuModuleLoadData(&module, broken_ptx));
	FAILS(cuModuleGetFunction(&function, module, "broken"), INVALID_PTX);
	FAILS(cuModuleGetFunctionCount(&count, module), INVALID_PTX);
	OK(cuModuleUnload(module));
	OK(cuLibraryLoadData(&library, broken_ptx, NULL, NULL, 0, NULL, NULL, 0));
	FAILS(cuLibraryGetKernel(&kernel, library, "broken"), INVALID_PTX);
	FAILS(cuLibraryGetModule(&module, library), INVALID_PTX);
	OK(cuLibraryUnload(library));
	/* Code that is right; nothing in it need be asked for. */
	one_kernel(text, sizeof(text), "7.0", "sm_75", "late");
	OK(cuModuleLoadData(&module, text));
	ck_assert_uint_eq(count_kernels(module), 1);
	OK(cuModuleGetFunction(&function, module, "late"));
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuModuleUnload(module));
	OK(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryUnload(library));
	teardown();
}
END_TEST

START_TEST(images_refused)
{
	CUmodule module;

	setup();
	FAILS(cuModuleLoadData(&module, NULL), INVALID_VALUE);
	FAILS(cuModuleLoadData(&module, ""), INVALID_IMAGE);
	FAILS(cuModuleLoadData(&module, "hello"), INVALID_IMAGE);
	FAILS(cuModuleLoadData(&module, "\177ELF\2\1\1"), NO_BINARY_FOR_GPU);
	FAILS(cuModuleLoad(&module, "/no/such/file"), FILE_NOT_FOUND);
	teardown();
}
END_TEST

START_TEST(libraries)
{
	CUlibrary library, of;
	CUkernel kernel, list[10] = { NULL };
	CUfunction f, in_other;
	CUcontext ctx, other;
	CUmodule module;
	CUdeviceptr p;
	const char *name;
	unsigned count;
	size_t offset, size;
	uint32_t value = 5;
	void *params[] = { &p, &value };

	OK(cuInit(0));
	/* No context is needed to load one. */
	OK(cuLibraryLoadData(&library, test_ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&count, library));
	ck_assert_uint_eq(count, 7);
	OK(cuLibraryEnumerateKernels(list, 10, library));
	OK(cuLibraryGetKernel(&kernel, library, "add"));
	ck_assert_ptr_eq(kernel, list[2]);
	FAILS(cuLibraryGetKernel(&kernel, library, "nothing"), NOT_FOUND);
	OK(cuKernelGetName(&name, kernel));
	ck_assert_str_eq(name, "add");
	OK(cuKernelGetParamInfo(kernel, 1, &offset, &size));
	ck_assert_uint_eq(offset, 8);
	ck_assert_uint_eq(size, 4);
	OK(cuKernelGetLibrary(&of, kernel));
	ck_assert_ptr_eq(of, library);
	FAILS(cuKernelGetFunction(&f, kernel), INVALID_CONTEXT);

	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuCtxSetCurrent(ctx));
	OK(cuKernelGetFunction(&f, kernel));
	OK(cuLibraryGetModule(&module, library));
	ck_assert_ptr_eq(function(module, "add"), f);
	FAILS(cuModuleUnload(module), INVALID_HANDLE);
	OK(cuLibraryGetGlobal(&p, &size, library, "counter"));
	ck_assert_uint_eq(size, 4);
	/* As a function, and as a kernel in a function's place. */
	OK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(cuMemcpyDtoH_v2(&value, p, 4));
	ck_assert_uint_eq(value, 51);

	/* Another context has its own function and its own variable. */
	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuKernelGetFunction(&in_other, kernel));
	ck_assert_ptr_ne(in_other, f);
	OK(cuLibraryGetGlobal(&p, &size, library, "counter"));
	OK(cuMemcpyDtoH_v2(&value, p, 4));
	ck_assert_uint_eq(value, 41);
	FAILS(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), INVALID_CONTEXT);
	OK(cuCtxDestroy_v2(other));
	FAILS(cuFuncGetName(&name, in_other), INVALID_HANDLE);

	OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel, 0));
	OK(cuDevicePrimaryCtxReset_v2(0));
	FAILS(cuFuncGetAttribute((int *)&value, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)kernel), INVALID_HANDLE);
	OK(cuKernelGetAttribute((int *)&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
	ck_assert_uint_eq(value, 65536);
	OK(cuLibraryUnload(library));
	FAILS(cuLibraryUnload(library), INVALID_HANDLE);
	FAILS(cuKernelGetName(&name, kernel), INVALID_HANDLE);
	teardown();
}
END_TEST

/* Fatbins made by hand */

struct member {
	const char *version, *target, *name;
	uint16_t kind;
	uint32_t arch;
	uint64_t flags;
};

#define LZ4	0x2000
#define ZSTD	0x8000
#define ONLY	0x100000

static size_t put_member(unsigned char *at, const struct member *m)
{
	char text[512], packed[1024];
	size_t length, padded;
	uint32_t stored = 0;

	one_kernel(text, sizeof(text), m->version, m->target, m->name);
	length = strlen(text) + 1;
	memcpy(packed, text, length);
	if (m->flags & ZSTD)
		stored = (uint32_t)ZSTD_compress(packed, sizeof(packed), text, length, 3);
	else if (m->flags & LZ4)
		stored = (uint32_t)LZ4_compress_default(text, packed, (int)length, sizeof(packed));
	padded = ((stored ? stored : length) + 7) / 8 * 8;
	memset(at, 0, 64 + padded);
	memcpy(at + 64, packed, stored ? stored : length);
#define PUT(type, offset, value) (*(type *)(at + (offset)) = (type)(value))
	PUT(uint16_t, 0, m->kind);
	PUT(uint16_t, 2, 0x101);
	PUT(uint32_t, 4, 64);
	PUT(uint64_t, 8, padded);
	PUT(uint32_t, 16, stored);
	PUT(uint16_t, 24, m->version[2] - '0');
	PUT(uint16_t, 26, m->version[0] - '0');
	PUT(uint32_t, 28, m->arch);
	PUT(uint64_t, 40, 0x11 | m->flags);
	PUT(uint64_t, 56, stored ? length : 0);
#undef PUT
	return 64 + padded;
}

static size_t make_fatbin(unsigned char *out, const struct member *members, size_t count)
{
	size_t size = 16;

	for (size_t i = 0; i < count; i++)
		size += put_member(out + size, &members[i]);
	memcpy(out, "\x50\xed\x55\xba\1\0\x10\0", 8);
	*(uint64_t *)(out + 8) = size - 16;
	return size;
}

static const struct {
	struct member members[4];
	const char *chosen;	/* NULL: no code for this device */
} fatbins[] = {
	/* the newest one that the device (90) can run */
	{ { { "7.0", "sm_75", "a", 1, 75, 0 }, { "7.0", "sm_80", "b", 1, 80, 0 },
	    { "7.8", "sm_100", "c", 1, 100, 0 } }, "b" },
	{ { { "7.0", "sm_80", "a", 1, 80, 0 }, { "7.0", "sm_75", "b", 1, 75, 0 } }, "a" },
	/* of two for one architecture the newer PTX */
	{ { { "7.0", "sm_80", "a", 1, 80, 0 }, { "7.1", "sm_80", "b", 1, 80, 0 } }, "b" },
	/* compressed either way */
	{ { { "7.0", "sm_75", "a", 1, 75, 0 }, { "7.0", "sm_80", "b", 1, 80, LZ4 } }, "b" },
	{ { { "7.0", "sm_75", "a", 1, 75, 0 }, { "7.0", "sm_80", "b", 1, 80, ZSTD } }, "b" },
	/* for exactly one architecture */
	{ { { "7.8", "sm_75", "a", 1, 75, 0 }, { "7.8", "sm_90a", "b", 1, 90, ONLY } }, "b" },
	{ { { "7.8", "sm_75", "a", 1, 75, 0 }, { "7.8", "sm_80", "b", 1, 80, ONLY } }, "a" },
	/* machine code is passed over */
	{ { { "1.8", "sm_90", "a", 2, 90, 0 }, { "7.0", "sm_75", "b", 1, 75, 0 } }, "b" },
	{ { { "1.8", "sm_90", "a", 2, 90, 0 } }, NULL },
	{ { { "7.8", "sm_100", "a", 1, 100, 0 } }, NULL },
};

START_TEST(fatbin_choice)
{
	static _Alignas(8) unsigned char bytes[8192];
	struct {
		uint32_t magic, version;
		const void *data, *second;
	} wrapper = { 0x466243b1, 1, bytes, NULL };
	size_t count = 0;
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;

	while (count < 4 && fatbins[_i].members[count].name)
		count++;
	make_fatbin(bytes, fatbins[_i].members, count);
	setup();
	if (!fatbins[_i].chosen) {
		FAILS(cuModuleLoadData(&module, bytes), NO_BINARY_FOR_GPU);
		FAILS(cuModuleLoadFatBinary(&module, &wrapper), NO_BINARY_FOR_GPU);
	} else {
		OK(cuModuleLoadData(&module, bytes));
		ck_assert_uint_eq(count_kernels(module), 1);
		function(module, fatbins[_i].chosen);
		OK(cuModuleLoadFatBinary(&module, &wrapper));
		function(module, fatbins[_i].chosen);
		OK(cuLibraryLoadData(&library, &wrapper, NULL, NULL, 0, NULL, NULL, 0));
		OK(cuLibraryGetKernel(&kernel, library, fatbins[_i].chosen));
		OK(cuLibraryUnload(library));
	}
	teardown();
}
END_TEST

/* Every field of a fatbin spoilt in turn, in memory that ends with it: an error or not, but no crash. */
START_TEST(fatbin_hostile)
{
	static const struct member members[] = {
		{ "7.0", "sm_75", "a", 1, 75, ZSTD }, { "7.0", "sm_80", "b", 1, 80, LZ4 },
	};
	static const unsigned char values[] = { 0x00, 0x01, 0x7f, 0x80, 0xff };
	static _Alignas(8) unsigned char bytes[4096];
	size_t size = make_fatbin(bytes, members, 2);
	unsigned accepted = 0;
	CUlinkState link;

	setup();
	for (size_t i = 0; i < 16 + 64 + 32; i++)
		for (size_t v = 0; v < sizeof(values); v++) {
			unsigned char *copy = malloc(size);

			memcpy(copy, bytes, size);
			copy[i] = values[v];
			OK(cuLinkCreate_v2(0, NULL, NULL, &link));
			/* Here the size is stated, so that even a spoilt header cannot lead out. */
			if (copy[3] == 0xba && copy[2] == 0x55 && copy[1] == 0xed && copy[0] == 0x50)
				accepted += cuLinkAddData_v2(link, CU_JIT_INPUT_FATBINARY, copy, size,
							     NULL, 0, NULL, NULL) == CUDA_SUCCESS;
			OK(cuLinkDestroy(link));
			free(copy);
		}
	/* Bytes that mean nothing, and a value that was there before, leave it whole. */
	ck_assert_uint_gt(accepted, 16);
	for (size_t cut = 1; cut < size; cut += 7) {
		unsigned char *copy = malloc(cut);

		memcpy(copy, bytes, cut);
		OK(cuLinkCreate_v2(0, NULL, NULL, &link));
		ck_assert_int_ne(cuLinkAddData_v2(link, CU_JIT_INPUT_FATBINARY, copy, cut, NULL, 0,
						  NULL, NULL), CUDA_SUCCESS);
		OK(cuLinkDestroy(link));
		free(copy);
	}
	teardown();
}
END_TEST

START_TEST(linking)
{
	static char second[] = "// two\n/* .version 9.9 */ .version 7.8\n.target\tsm_80\n"
			       ".address_size 64 .visible .entry two() { ret; }\n";
	char errors[300] = "", first[512], path[] = "/tmp/sim-api-XXXXXX";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { errors, (void *)sizeof(errors) };
	CUlinkState link;
	CUmodule module;
	CUlibrary library;
	CUkernel kernel;
	void *image, *copy;
	size_t size;
	int fd;

	setup();
	OK(cuLinkCreate_v2(2, options, values, &link));
	FAILS(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)broken_ptx, sizeof(broken_ptx),
			       "probe", 0, NULL, NULL), INVALID_PTX);
	ck_assert_msg(strstr(errors, "probe") && strstr(errors, "line 6"), "log: %s", errors);
	FAILS(cuLinkComplete(link, &image, &size), INVALID_VALUE);	/* nothing in it */
	OK(cuLinkDestroy(link));
	FAILS(cuLinkDestroy(link), INVALID_HANDLE);

	/* Two texts, their heads in different shape, the newer version second. */
	one_kernel(first, sizeof(first), "7.0", "sm_75", "one");
	OK(cuLinkCreate_v2(0, NULL, NULL, &link));
	OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, first, strlen(first) + 1, "1", 0, NULL, NULL));
	OK(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, second, strlen(second), "2", 0, NULL, NULL));
	FAILS(cuLinkAddData_v2(link, CU_JIT_INPUT_NVVM, first, 4, "3", 0, NULL, NULL), NOT_SUPPORTED);
	FAILS(cuLinkAddData_v2(link, CU_JIT_INPUT_CUBIN, (void *)"\177ELF", 4, "4", 0, NULL, NULL),
	      NO_BINARY_FOR_GPU);
	OK(cuLinkComplete(link, &image, &size));
	copy = malloc(size);
	memcpy(copy, image, size);
	OK(cuLinkDestroy(link));
	/* The product loads as a module, as a library and from a file. */
	OK(cuModuleLoadData(&module, copy));
	ck_assert_uint_eq(count_kernels(module), 2);
	function(module, "one");
	function(module, "two");
	OK(cuLibraryLoadData(&library, copy, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernel(&kernel, library, "two"));
	OK(cuLibraryUnload(library));
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, copy, size), (ssize_t)size);
	close(fd);
	OK(cuModuleLoad(&module, path));
	ck_assert_uint_eq(count_kernels(module), 2);
	OK(cuLinkCreate_v2(0, NULL, NULL, &link));
	OK(cuLinkAddFile_v2(link, CU_JIT_INPUT_PTX, path, 0, NULL, NULL));
	OK(cuLinkDestroy(link));
	unlink(path);
	free(copy);
	teardown();
}
END_TEST

START_TEST(load_and_unload)
{
	CUmodule module = setup();
	size_t before, after, total;

	OK(cuMemGetInfo_v2(&before, &total));
	for (int i = 0; i < 300; i++) {
		OK(cuModuleLoadData(&module, test_ptx));
		function(module, "add");
		OK(cuModuleUnload(module));
	}
	OK(cuMemGetInfo_v2(&after, &total));
	ck_assert_uint_eq(before, after);
	teardown();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-module");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, functions);
	tcase_add_test(tc, globals);
	tcase_add_test(tc, compiler_log);
	tcase_add_test(tc, lazy);
	tcase_add_test(tc, images_refused);
	tcase_add_test(tc, libraries);
	tcase_add_loop_test(tc, fatbin_choice, 0, sizeof(fatbins) / sizeof(*fatbins));
	tcase_add_test(tc, fatbin_hostile);
	tcase_add_test(tc, linking);
	tcase_add_test(tc, load_and_unload);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
