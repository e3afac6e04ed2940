/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/ask.h"

#include "lib/agent/agent.h"

const char *gt_ask_name(void *function)
{
	const char *name;

	if (gt_cu.cuFuncGetName && !gt_cu.cuFuncGetName(&name, function))
		return name;
	if (gt_cu.cuKernelGetName && !gt_cu.cuKernelGetName(&name, function))
		return name;
	return NULL;
}

void *gt_ask_function(void *handle, const char *name, enum gt_handle kind)
{
	CUfunction function;
	CUkernel kernel;

	if (kind == GT_HANDLE_LIBRARY)
		return gt_cu.cuLibraryGetKernel(&kernel, handle, name) ? NULL : (void *)kernel;
	return gt_cu.cuModuleGetFunction(&function, handle, name) ? NULL : (void *)function;
}

void *gt_ask_function_here(void *handle, const char *name, enum gt_handle kind)
{
	void *found = gt_ask_function(handle, name, kind);
	CUfunction function;

	if (!found || kind == GT_HANDLE_MODULE)
		return found;
	return gt_cu.cuKernelGetFunction(&function, found) ? NULL : (void *)function;
}

#define LISTER(count_of, list_of, name_of) { \
	(__typeof__(((struct gt_lister *)0)->count))gt_cu.count_of, \
	(__typeof__(((struct gt_lister *)0)->list))gt_cu.list_of, \
	(__typeof__(((struct gt_lister *)0)->name))gt_cu.name_of }

struct gt_lister gt_ask_lister(enum gt_handle kind)
{
	const struct gt_lister of_modules = LISTER(cuModuleGetFunctionCount, cuModuleEnumerateFunctions, cuFuncGetName);
	const struct gt_lister of_libraries = LISTER(cuLibraryGetKernelCount, cuLibraryEnumerateKernels, cuKernelGetName);

	return kind == GT_HANDLE_LIBRARY ? of_libraries : of_modules;
}

static bool ask_kernel(void *kernel, CUfunction_attribute which, int *ret_value)
{
	CUdevice device;

	return gt_cu.cuKernelGetAttribute && !gt_cu.cuCtxGetDevice(&device) &&
	       !gt_cu.cuKernelGetAttribute(ret_value, which, kernel, device);
}

bool gt_ask_attribute(void *function, CUfunction_attribute which, int *ret_value)
{
	return (gt_cu.cuFuncGetAttribute && !gt_cu.cuFuncGetAttribute(ret_value, which, function)) ||
	       ask_kernel(function, which, ret_value);
}

typedef CUresult param_fn(void *function, size_t index, size_t *offset, size_t *size);

static bool count_params(param_fn *ask, void *function, size_t *ret_count, size_t *ret_end)
{
	size_t offset, size;
	CUresult result = CUDA_SUCCESS;

	*ret_count = *ret_end = 0;
	while (*ret_count < 4096) {
		result = ask(function, *ret_count, &offset, &size);
		if (result)
			break;
		++*ret_count;
		*ret_end = offset + size;
	}
	/* This is what the driver says of one behind the last. */
	return result == CUDA_ERROR_INVALID_VALUE;
}

bool gt_ask_params(void *function, size_t *ret_count, size_t *ret_end)
{
	return (gt_cu.cuFuncGetParamInfo &&
		count_params((param_fn *)gt_cu.cuFuncGetParamInfo, function, ret_count, ret_end)) ||
	       (gt_cu.cuKernelGetParamInfo &&
		count_params((param_fn *)gt_cu.cuKernelGetParamInfo, function, ret_count, ret_end));
}

static const CUfunction_attribute settings[] = {
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
	CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
	CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
	CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH,
	CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
	CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
};

#define SETTINGS (sizeof(settings) / sizeof(settings[0]))

/* The most dynamic shared memory is, until it is set, what the kernel's own leaves of 48 KiB: programs need some. */
static bool must_be_set(CUfunction_attribute which, int value, int own)
{
	return which == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? value > own : value != own;
}

void gt_ask_same_for_functions(CUfunction function, CUfunction copy)
{
	int value, own;

	if (!gt_cu.cuFuncGetAttribute || !gt_cu.cuFuncSetAttribute)
		return;
	for (unsigned i = 0; i < SETTINGS; i++) {
		if (!gt_cu.cuFuncGetAttribute(&value, settings[i], function) &&
		    !gt_cu.cuFuncGetAttribute(&own, settings[i], copy) && must_be_set(settings[i], value, own))
			gt_cu.cuFuncSetAttribute(copy, settings[i], value);
	}
}

static void same_on_device(CUkernel kernel, CUkernel copy, CUdevice device)
{
	int value, own;

	for (unsigned i = 0; i < SETTINGS; i++) {
		if (!gt_cu.cuKernelGetAttribute(&value, settings[i], kernel, device) &&
		    !gt_cu.cuKernelGetAttribute(&own, settings[i], copy, device) && must_be_set(settings[i], value, own))
			gt_cu.cuKernelSetAttribute(settings[i], value, copy, device);
	}
}

void gt_ask_same_for_kernels(CUkernel kernel, CUkernel copy)
{
	int devices = 0;

	if (!gt_cu.cuKernelGetAttribute || !gt_cu.cuKernelSetAttribute || !gt_cu.cuDeviceGetCount ||
	    gt_cu.cuDeviceGetCount(&devices))
		return;
	for (CUdevice device = 0; device < devices; device++)
		same_on_device(kernel, copy, device);
}

void *gt_ask_function_apart(CUlibrary library, void *function, const char *name, enum gt_handle kind)
{
	void *copy = kind == GT_HANDLE_LIBRARY ? gt_ask_function(library, name, GT_HANDLE_LIBRARY) :
						 gt_ask_function_here(library, name, GT_HANDLE_LIBRARY);

	if (copy && function && kind == GT_HANDLE_LIBRARY)
		gt_ask_same_for_kernels(function, copy);
	else if (copy && function)
		gt_ask_same_for_functions(function, copy);
	return copy;
}
