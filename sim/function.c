/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and kernels: what can be asked of them and set. */
#include "sim/module.h"
#include "sim/stream.h"

#define MAX_SHARED	(227 * 1024)

CUresult sim_function(CUfunction handle, struct CUctx_st *ctx, struct CUfunc_st **ret_function)
{
	if (sim_handle_is(handle, SIM_FUNCTION)) {
		*ret_function = handle;
		return CUDA_SUCCESS;
	}
	if (sim_handle_is(handle, SIM_KERNEL))
		return sim_kernel_function((CUkernel)handle, ctx, ret_function);
	return CUDA_ERROR_INVALID_HANDLE;
}

/* The same where the caller needs no particular context. */
static CUresult find(CUfunction handle, struct CUfunc_st **ret_function)
{
	struct CUctx_st *ctx = NULL;
	CUresult r = sim_ready();

	if (r == CUDA_SUCCESS && !sim_handle_is(handle, SIM_FUNCTION))
		r = sim_current(&ctx);
	return r ? r : sim_function(handle, ctx, ret_function);
}

static unsigned round_up(unsigned value, unsigned step)
{
	return (value + step - 1) / step * step;
}

unsigned sim_occupancy(const struct CUfunc_st *function, unsigned threads, size_t dynamic)
{
	unsigned padded = round_up(threads, 32), blocks;
	unsigned registers = round_up(function->info->registers ? function->info->registers : 16, 8);
	size_t shared = function->info->static_shared + dynamic + 1024;

	if (!threads || threads > function->info->max_threads || threads > 1024)
		return 0;
	blocks = 2048 / padded;
	if (blocks > 65536 / (registers * padded))
		blocks = 65536 / (registers * padded);
	if (blocks > 228 * 1024 / shared)
		blocks = (unsigned)(228 * 1024 / shared);
	return blocks > 32 ? 32 : blocks;
}

CUresult sim_function_attribute(const struct CUfunc_st *function, CUfunction_attribute attribute,
				int *ret_value)
{
	const struct sim_kernel_info *info = function->info;

	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = (int)info->max_threads;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret_value = (int)info->static_shared;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret_value = (int)info->local_bytes;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret_value = (int)info->registers;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret_value = (int)info->ptx_version;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret_value = (int)function->module->gpu->machine.arch;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*ret_value = function->max_dynamic;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*ret_value = function->carveout;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*ret_value = function->non_portable_cluster;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*ret_value = function->cluster_policy;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*ret_value = 0;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_function_set_attribute(struct CUfunc_st *function, CUfunction_attribute attribute,
				    int value)
{
	switch ((int)attribute) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 || value > MAX_SHARED - (int)function->info->static_shared)
			return CUDA_ERROR_INVALID_VALUE;
		function->max_dynamic = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		if (value < -1 || value > 100)
			return CUDA_ERROR_INVALID_VALUE;
		function->carveout = value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		function->non_portable_cluster = value != 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		function->cluster_policy = value;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_param_info(const struct sim_kernel_info *info, size_t index, size_t *ret_offset,
			size_t *ret_size)
{
	if (!ret_offset || index >= info->param_count)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_offset = info->params[index].offset;
	if (ret_size)
		*ret_size = info->params[index].size;
	return CUDA_SUCCESS;
}

/* Unlike others this one takes no CUkernel, as on an H200. */
CUresult sim_cuFuncGetAttribute(int *ret_value, CUfunction_attribute attribute, CUfunction handle)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && !sim_handle_is(handle, SIM_FUNCTION))
		r = CUDA_ERROR_INVALID_HANDLE;
	if (r == CUDA_SUCCESS && !ret_value)
		r = CUDA_ERROR_INVALID_VALUE;
	return r ? r : sim_function_attribute(f, attribute, ret_value);
}

CUresult sim_cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	return r ? r : sim_function_set_attribute(f, attribute, value);
}

CUresult sim_cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && (unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && (unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		r = CUDA_ERROR_INVALID_VALUE;
	return r;
}

CUresult sim_cuFuncGetModule(CUmodule *ret_module, CUfunction handle)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && !ret_module)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_module = f->module;
	return r;
}

CUresult sim_cuFuncGetName(const char **ret_name, CUfunction handle)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && !ret_name)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_name = f->info->name;
	return r;
}

CUresult sim_cuFuncGetParamInfo(CUfunction handle, size_t index, size_t *ret_offset,
				size_t *ret_size)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	return r ? r : sim_param_info(f->info, index, ret_offset, ret_size);
}

CUresult sim_cuFuncIsLoaded(CUfunctionLoadingState *ret_state, CUfunction handle)
{
	struct CUfunc_st *f;
	CUresult r = find(handle, &f);

	if (r == CUDA_SUCCESS && !ret_state)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r == CUDA_SUCCESS)
		*ret_state = CU_FUNCTION_LOADING_STATE_LOADED;
	return r;
}

CUresult sim_cuFuncLoad(CUfunction handle)
{
	struct CUfunc_st *f;

	return find(handle, &f);
}

/* Kernels */

static CUresult check(CUkernel kern, bool arguments)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!arguments)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_handle_is(kern, SIM_KERNEL) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuKernelGetFunction(CUfunction *ret_function, CUkernel kern)
{
	struct CUctx_st *ctx;
	CUresult r = check(kern, ret_function);

	r = r ? r : sim_current(&ctx);
	return r ? r : sim_kernel_function(kern, ctx, ret_function);
}

CUresult sim_cuKernelGetLibrary(CUlibrary *ret_library, CUkernel kern)
{
	CUresult r = check(kern, ret_library);

	if (r == CUDA_SUCCESS)
		*ret_library = kern->library;
	return r;
}

CUresult sim_cuKernelGetName(const char **ret_name, CUkernel kern)
{
	CUresult r = check(kern, ret_name);

	if (r == CUDA_SUCCESS)
		*ret_name = kern->info.name;
	return r;
}

CUresult sim_cuKernelGetParamInfo(CUkernel kern, size_t index, size_t *ret_offset, size_t *ret_size)
{
	CUresult r = check(kern, true);

	return r ? r : sim_param_info(&kern->info, index, ret_offset, ret_size);
}

/* The kernel's function in a context of the device; attributes are kept per device. */
static CUresult on_device(CUkernel kern, CUdevice dev, struct CUfunc_st **ret_function)
{
	struct CUctx_st *ctx;

	if (!sim_gpu(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = sim_context_of(dev);
	return ctx ? sim_kernel_function(kern, ctx, ret_function) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult sim_cuKernelGetAttribute(int *ret_value, CUfunction_attribute attribute, CUkernel kern,
				  CUdevice dev)
{
	struct CUfunc_st *f;
	CUresult r = check(kern, ret_value);

	r = r ? r : on_device(kern, dev, &f);
	return r ? r : sim_function_attribute(f, attribute, ret_value);
}

CUresult sim_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kern,
				  CUdevice dev)
{
	struct CUfunc_st *f;
	CUresult r = check(kern, true);

	r = r ? r : on_device(kern, dev, &f);
	r = r ? r : sim_function_set_attribute(f, attribute, value);
	if (r == CUDA_SUCCESS && attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		kern->max_dynamic[dev] = value;
	return r;
}

CUresult sim_cuKernelSetCacheConfig(CUkernel kern, CUfunc_cache config, CUdevice dev)
{
	CUresult r = check(kern, (unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);

	if (r == CUDA_SUCCESS && !sim_gpu(dev))
		r = CUDA_ERROR_INVALID_DEVICE;
	return r;
}
