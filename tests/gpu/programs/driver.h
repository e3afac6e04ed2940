/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For traced programs that use the driver API alone: they need no CUDA toolkit
 * and run on the software device as well.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program.h"

/* What a program needs beside what is listed here. */
#ifndef MORE_FUNCTIONS
#define MORE_FUNCTIONS(X)
#endif

/* Handles are pointers, results ints. */
#define FUNCTIONS(X) \
	X(cuInit, (unsigned)) \
	X(cuDeviceGet, (int *, int)) \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuDevicePrimaryCtxRelease_v2, (int)) \
	X(cuCtxSetCurrent, (void *)) \
	X(cuCtxSynchronize, (void)) \
	X(cuModuleLoadData, (void **, const void *)) \
	X(cuModuleUnload, (void *)) \
	X(cuModuleGetFunction, (void **, void *, const char *)) \
	X(cuModuleGetGlobal_v2, (uint64_t *, size_t *, void *, const char *)) \
	X(cuMemAlloc_v2, (uint64_t *, size_t)) \
	X(cuMemFree_v2, (uint64_t)) \
	X(cuMemsetD32_v2, (uint64_t, unsigned, size_t)) \
	X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
	X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
			   void **, void **)) \
	MORE_FUNCTIONS(X)

/* out[i] = out[i] * 1664525 + value for each thread of one-dimensional blocks. */
#define STEP_PTX(name) \
	".version 6.3\n" \
	".target sm_75\n" \
	".address_size 64\n" \
	".visible .entry " name "(.param .u64 out, .param .u32 value)\n" \
	"{\n" \
	"	.reg .b32 %i, %block, %width, %value, %old;\n" \
	"	.reg .b64 %out, %offset;\n" \
	"	mov.u32 %i, %tid.x;\n" \
	"	mov.u32 %block, %ctaid.x;\n" \
	"	mov.u32 %width, %ntid.x;\n" \
	"	mad.lo.u32 %i, %block, %width, %i;\n" \
	"	ld.param.u64 %out, [out];\n" \
	"	cvta.to.global.u64 %out, %out;\n" \
	"	mul.wide.u32 %offset, %i, 4;\n" \
	"	add.u64 %out, %out, %offset;\n" \
	"	ld.param.u32 %value, [value];\n" \
	"	ld.global.u32 %old, [%out];\n" \
	"	mad.lo.u32 %old, %old, 1664525, %value;\n" \
	"	st.global.u32 [%out], %old;\n" \
	"	ret;\n" \
	"}\n"

#define DECLARE(name, parameters) static int (*name) parameters __attribute__((unused));
FUNCTIONS(DECLARE)

static int device;
static void *driver;		/* the library itself */

#define CHECK(call) check(call, #call)
static inline void check(int result, const char *call)
{
	if (!result)
		return;
	fprintf(stderr, "%s: CUDA error %d\n", call, result);
	exit(1);
}

static inline void *driver_symbol(void *library, const char *name)
{
	void *address = library ? dlsym(library, name) : NULL;

	if (!address) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return address;
}

/* The CUresult of cuInit(). */
static inline int driver_find(void)
{
	driver = dlopen("libcuda.so.1", RTLD_NOW);
#define FIND(name, parameters) *(void **)&name = driver_symbol(driver, #name);
	FUNCTIONS(FIND)
	return cuInit(0);
}

static inline void driver_load(void)
{
	CHECK(driver_find());
}

/* For a check of ours, which is left out where there is no GPU. */
static inline void driver_load_or_skip(void)
{
	int result;

	if (!dlopen("libcuda.so.1", RTLD_NOW)) {
		printf("no driver: %s\n", dlerror());
		exit(77);
	}
	result = driver_find();
	if (result) {
		printf("no GPU: cuInit says %d\n", result);
		exit(77);
	}
}

/* Find the driver and make the first GPU current. */
static inline void driver_open(void)
{
	void *context;

	driver_load();
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
}

static inline void driver_close(void)
{
	CHECK(cuDevicePrimaryCtxRelease_v2(device));
}

static inline uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What was launched, all in blocks of whole warps, and a checksum of what it computed. */
static inline void report(unsigned long launches, unsigned long threads, uint64_t sum)
{
	printf("launches %lu\nthreads %lu\nwarps %lu\nchecksum %016llx\n", launches, threads, threads / 32,
	       (unsigned long long)sum);
}

#endif
