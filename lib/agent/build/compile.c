/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/build/compile.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"

#define LOG_SIZE 4096

/*
 * The linker works for the current context's device.  A program may load code
 * before it has a context; then the primary one of device 0 serves meanwhile.
 */
static bool borrow_context(bool *ret_borrowed)
{
	CUcontext context = NULL;

	*ret_borrowed = false;
	if (!gt_cu.cuCtxGetCurrent(&context) && context)
		return true;
	if (gt_cu.cuDevicePrimaryCtxRetain(&context, 0))
		return false;
	if (gt_cu.cuCtxPushCurrent_v2(context)) {
		gt_cu.cuDevicePrimaryCtxRelease_v2(0);
		return false;
	}
	*ret_borrowed = true;
	return true;
}

static void return_context(void)
{
	CUcontext context;

	gt_cu.cuCtxPopCurrent_v2(&context);
	gt_cu.cuDevicePrimaryCtxRelease_v2(0);
}

static void first_line(const char *log, CUresult result, char *why, size_t why_size)
{
	log += strspn(log, " \n\r\t");
	if (*log)
		snprintf(why, why_size, "the driver's compiler says: %.*s", (int)strcspn(log, "\n"), log);
	else
		snprintf(why, why_size, "the driver's compiler failed (CUresult %d)", (int)result);
}

static CUresult add_ptx(CUlinkState state, const char *ptx)
{
	return gt_cu.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)ptx, strlen(ptx) + 1,
				      "gputrace", 0, NULL, NULL);
}

/* Without a target the linker works for the current device, whatever suffixes its architecture has. */
static bool link_ptx(const char *ptx, const char *other, unsigned arch, struct gt_compiled *compiled,
		     char *why, size_t why_size)
{
	char log[LOG_SIZE] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_TARGET };
	void *values[] = { log, (void *)(uintptr_t)sizeof(log), (void *)(uintptr_t)arch };
	CUlinkState state;
	CUresult result;
	void *code = NULL;
	size_t size = 0;

	result = gt_cu.cuLinkCreate_v2(arch == gt_device_arch() ? 2 : 3, options, values, &state);
	if (result) {
		first_line("", result, why, why_size);
		return false;
	}
	result = add_ptx(state, ptx);
	if (!result && other)
		result = add_ptx(state, other);
	if (!result)
		result = gt_cu.cuLinkComplete(state, &code, &size);
	if (!result && code && size) {
		compiled->code = malloc(size);
		compiled->size = size;
		if (compiled->code)
			memcpy(compiled->code, code, size);
	} else {
		log[sizeof(log) - 1] = 0;
		first_line(log, result, why, why_size);
	}
	gt_cu.cuLinkDestroy(state);
	return compiled->code;
}

bool gt_compile(const char *ptx, const char *other, unsigned arch, struct gt_compiled *ret_compiled,
		char *why, size_t why_size)
{
	bool borrowed, ok;

	if (!borrow_context(&borrowed)) {
		snprintf(why, why_size, "there is no CUDA context to compile for");
		return false;
	}
	ok = link_ptx(ptx, other, arch, ret_compiled, why, why_size);
	if (borrowed)
		return_context();
	return ok;
}

static unsigned arch_of(CUdevice device)
{
	int major = 0, minor = 0;

	gt_cu.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	gt_cu.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	return (unsigned)(major * 10 + minor);
}

unsigned gt_device_arch(void)
{
	CUdevice device = 0;

	if (gt_cu.cuCtxGetDevice(&device))
		device = 0;
	return arch_of(device);
}

unsigned gt_device_archs(unsigned archs[GT_ARCHS_MAX])
{
	int devices = 0;
	unsigned count = 1, i;

	archs[0] = gt_device_arch();
	if (!gt_cu.cuDeviceGetCount || gt_cu.cuDeviceGetCount(&devices))
		return count;
	for (CUdevice device = 0; device < devices && count < GT_ARCHS_MAX; device++) {
		archs[count] = arch_of(device);
		for (i = 0; archs[i] != archs[count]; i++)
			;
		count += i == count && archs[i];
	}
	return count;
}
