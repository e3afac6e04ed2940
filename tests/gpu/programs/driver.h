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
			   void **, void **))

#define DECLARE(name, parameters) static int (*name) parameters __attribute__((unused));
FUNCTIONS(DECLARE)

static int device;

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

/* Find the driver and make the first GPU current. */
static inline void driver_open(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *context;

#define FIND(name, parameters) *(void **)&name = driver_symbol(library, #name);
	FUNCTIONS(FIND)
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuDevicePrimaryCtxRetain(&context, device));
	CHECK(cuCtxSetCurrent(context));
}

static inline void driver_close(void)
{
	CHECK(cuDevicePrimaryCtxRelease_v2(device));
}

/* The number after an option, or what to take without it. */
static inline unsigned long option(int argc, char **argv, const char *name, unsigned long otherwise)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtoul(argv[i + 1], NULL, 0);
	return otherwise;
}

#endif
