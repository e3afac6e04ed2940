/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that name kernels, tell of them and set what they are launched with. */
#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/module.h"

/* When the call succeeds, learn from what it returned. */
#define LEARN(CALL, LESSON) GT_AROUND((void)0, CALL, LESSON)

/* A function that is got: when the driver does not give it, something may stand in for it. */
#define GET(to, CALL, LESSON, STAND_IN) \
	bool own = gt_enter(); \
	void *stand_in = NULL; \
	CUresult result = CALL; \
	int saved = errno; \
	\
	if (own && !result) \
		LESSON; \
	else if (own && to) \
		stand_in = STAND_IN; \
	if (stand_in) { \
		*to = stand_in; \
		result = CUDA_SUCCESS; \
	} \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult hook_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	GET(function, gt_cu.cuModuleGetFunction(function, module, name),
	    gt_function_named(*function, module, name, GT_HANDLE_MODULE),
	    gt_function_stand_in(module, name, GT_HANDLE_MODULE, result));
}

static CUresult hook_cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	GET(kernel, gt_cu.cuLibraryGetKernel(kernel, library, name),
	    gt_function_named(*kernel, library, name, GT_HANDLE_LIBRARY),
	    gt_function_stand_in(library, name, GT_HANDLE_LIBRARY, result));
}

static CUresult hook_cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
	GET(function, gt_cu.cuKernelGetFunction(function, kernel), gt_function_alias(*function, kernel),
	    gt_function_stand_in_here(kernel, result));
}

static CUresult hook_cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	LEARN(gt_cu.cuLibraryGetModule(module, library), gt_module_alias(*module, library));
}

/* ---- lists: our copies are not the program's ---- */

static CUresult hook_cuModuleGetFunctionCount(unsigned int *count, CUmodule module)
{
	LEARN(gt_cu.cuModuleGetFunctionCount(count, module), *count -= gt_module_copies(module));
}

static CUresult hook_cuLibraryGetKernelCount(unsigned int *count, CUlibrary library)
{
	LEARN(gt_cu.cuLibraryGetKernelCount(count, library), *count -= gt_module_copies(library));
}

/* Learn the program's own functions among all of them and put these into its list. */
static void sift(void **list, unsigned int room, void *const *all, unsigned int count, void *handle,
		 enum gt_handle kind, const struct gt_lister *driver)
{
	unsigned int kept = 0;
	const char *name;

	for (unsigned int i = 0; i < count && kept < room; i++) {
		bool named = all[i] && driver->name && !driver->name(&name, all[i]);

		if (!all[i] || (named && gt_module_has_copy(handle, name)))
			continue;
		list[kept++] = all[i];
		if (named)
			gt_function_named(all[i], handle, name, kind);
	}
}

#define FEW 128u

/* The program's list may have more room than there are functions, and holds anything there. */
static CUresult list_own(void **list, unsigned int room, void *handle, enum gt_handle kind)
{
	const struct gt_lister driver = gt_ask_lister(kind);
	void *few[FEW] = { NULL }, **all = few;
	unsigned int count = 0;
	CUresult result;

	if (!list || !room || !driver.count || driver.count(&count, handle))
		return driver.list(list, room, handle);
	if (count > FEW)
		all = calloc(count, sizeof(*all));
	if (!all)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = driver.list(all, count, handle);
	if (!result)
		sift(list, room, all, count, handle, kind, &driver);
	if (all != few)
		free(all);
	return result;
}

static CUresult hook_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module)
{
	CUresult result = gt_enter() ? list_own((void **)functions, count, module, GT_HANDLE_MODULE) :
			  gt_cu.cuModuleEnumerateFunctions(functions, count, module);

	gt_leave();
	return result;
}

static CUresult hook_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library)
{
	CUresult result = gt_enter() ? list_own((void **)kernels, count, library, GT_HANDLE_LIBRARY) :
			  gt_cu.cuLibraryEnumerateKernels(kernels, count, library);

	gt_leave();
	return result;
}

/* ---- what is set for a kernel holds for its copy ---- */

#define BOTH(handle, CALL, COPY_CALL) \
	GT_AROUND((void)0, CALL, { \
		void *copy = gt_function_copy(handle); \
		\
		if (copy) \
			COPY_CALL; \
	})

static CUresult hook_cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
	BOTH(function, gt_cu.cuFuncSetAttribute(function, attribute, value),
	     gt_cu.cuFuncSetAttribute(copy, attribute, value));
}

static CUresult hook_cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config)
{
	BOTH(function, gt_cu.cuFuncSetCacheConfig(function, config), gt_cu.cuFuncSetCacheConfig(copy, config));
}

static CUresult hook_cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig config)
{
	BOTH(function, gt_cu.cuFuncSetSharedMemConfig(function, config),
	     gt_cu.cuFuncSetSharedMemConfig(copy, config));
}

static CUresult hook_cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
					  CUdevice device)
{
	BOTH(kernel, gt_cu.cuKernelSetAttribute(attribute, value, kernel, device),
	     gt_cu.cuKernelSetAttribute(attribute, value, copy, device));
}

static CUresult hook_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device)
{
	BOTH(kernel, gt_cu.cuKernelSetCacheConfig(kernel, config, device),
	     gt_cu.cuKernelSetCacheConfig(copy, config, device));
}

/* ---- what a kernel's parameters are: the hidden one is not the program's ---- */

static bool is_hidden(const void *function, size_t index)
{
	const struct gt_kernel *kernel = gt_function_find(function);

	return kernel && kernel->probed && !kernel->copy && index >= kernel->param_count;
}

static CUresult hook_cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size)
{
	CUresult result = gt_enter() && is_hidden(function, index) ? CUDA_ERROR_INVALID_VALUE :
			  gt_cu.cuFuncGetParamInfo(function, index, offset, size);

	gt_leave();
	return result;
}

static CUresult hook_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
	CUresult result = gt_enter() && is_hidden(kernel, index) ? CUDA_ERROR_INVALID_VALUE :
			  gt_cu.cuKernelGetParamInfo(kernel, index, offset, size);

	gt_leave();
	return result;
}

/* ---- a program that has a kernel loaded early does not expect that later, while it captures, say ---- */

static void load_copy(const void *function)
{
	void *copy = gt_function_copy(function);

	if (copy && gt_cu.cuFuncLoad)
		gt_cu.cuFuncLoad(copy);
}

static CUresult hook_cuFuncLoad(CUfunction function)
{
	LEARN(gt_cu.cuFuncLoad(function), load_copy(function));
}

static CUresult hook_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	LEARN(gt_cu.cuFuncGetAttribute(value, attribute, function), load_copy(function));
}

const struct gt_hook gt_function_hooks[] = {
	GT_HOOK(cuFuncLoad, false),
	GT_HOOK(cuFuncGetAttribute, false),
	GT_HOOK(cuFuncGetParamInfo, false),
	GT_HOOK(cuKernelGetParamInfo, false),
	GT_HOOK(cuFuncSetAttribute, false),
	GT_HOOK(cuFuncSetCacheConfig, false),
	GT_HOOK(cuFuncSetSharedMemConfig, false),
	GT_HOOK(cuKernelSetAttribute, false),
	GT_HOOK(cuKernelSetCacheConfig, false),
	GT_HOOK(cuModuleGetFunctionCount, false),
	GT_HOOK(cuLibraryGetKernelCount, false),
	GT_HOOK(cuModuleGetFunction, true),
	GT_HOOK(cuLibraryGetKernel, true),
	GT_HOOK(cuKernelGetFunction, true),
	GT_HOOK(cuLibraryGetModule, true),
	GT_HOOK(cuModuleEnumerateFunctions, true),
	GT_HOOK(cuLibraryEnumerateKernels, true),
	{ 0 },
};
