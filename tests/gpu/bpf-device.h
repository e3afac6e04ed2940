/* SPDX-License-Identifier: Apache-2.0 */
/* The driver as tests/gpu/bpf uses it: found at run time, any failure ends the program. */
#ifndef TESTS_GPU_BPF_DEVICE_H
#define TESTS_GPU_BPF_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FUNCTIONS(X) \
	X(cuInit, (unsigned)) \
	X(cuDeviceGet, (int *, int)) \
	X(cuDeviceGetName, (char *, int, int)) \
	X(cuDeviceGetAttribute, (int *, int, int)) \
	X(cuDevicePrimaryCtxRetain, (void **, int)) \
	X(cuCtxSetCurrent, (void *)) \
	X(cuCtxSynchronize, (void)) \
	X(cuGetErrorName, (int, const char **)) \
	X(cuModuleLoadData, (void **, const void *)) \
	X(cuModuleUnload, (void *)) \
	X(cuModuleGetFunction, (void **, void *, const char *)) \
	X(cuLinkCreate_v2, (unsigned, int *, void **, void **)) \
	X(cuLinkAddData_v2, (void *, int, void *, size_t, const char *, unsigned, int *, void **)) \
	X(cuLinkComplete, (void *, void **, size_t *)) \
	X(cuLinkDestroy, (void *)) \
	X(cuFuncGetAttribute, (int *, int, void *)) \
	X(cuMemAlloc_v2, (uint64_t *, size_t)) \
	X(cuMemFree_v2, (uint64_t)) \
	X(cuMemsetD8_v2, (uint64_t, unsigned char, size_t)) \
	X(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
	X(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
	X(cuMemHostRegister_v2, (void *, size_t, unsigned)) \
	X(cuMemHostUnregister, (void *)) \
	X(cuMemHostGetDevicePointer_v2, (uint64_t *, void *, unsigned)) \
	X(cuEventCreate, (void **, unsigned)) \
	X(cuEventRecord, (void *, void *)) \
	X(cuEventSynchronize, (void *)) \
	X(cuEventElapsedTime, (float *, void *, void *)) \
	X(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
			   void **, void **))

#define DECLARE(name, parameters) extern int (*name) parameters;
FUNCTIONS(DECLARE)
#undef DECLARE

struct device {
	char name[96];
	bool software;	/* the software device: smaller amounts, no times */
	unsigned arch;	/* compute capability times ten */
	unsigned sms;
};
extern struct device device;

/* The first device with its primary context; false: there is none. */
bool device_open(void);

/* What is being tested, for failures; then the failure itself, which ends the program. */
void begin_part(const char *name);
void stop(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The line of a part. */
void end_part(bool passed, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Ends the program unless result is 0. */
void must(int result, const char *what);
#define CU(call) must(call, #call)

/* PTX through the driver's linker, as the agent compiles; malloc'd machine code, or NULL with a line printed. */
void *link_ptx(const char *text, size_t *ret_size);
/* Machine code or PTX. */
void *load_module(const void *image);
void *find_function(void *module, const char *name);

/* A one-dimensional grid on the default stream. */
void launch(void *function, unsigned blocks, unsigned threads, void **params);

/* Zeroed device memory. */
uint64_t device_memory(size_t size);

#endif
