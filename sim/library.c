/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries: an image that every context loads by itself when it first uses it.
 * Code is compiled at cuLibraryLoadData, so that an error in it shows there, or when it
 * is first asked for; the module made then goes to the first context of the same device.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/module.h"
#include "sim/stream.h"

/* The device a library is compiled for at first: the current context's, else the first one. */
static struct sim_gpu *home(void)
{
	CUcontext ctx = NULL;

	if (sim_cuCtxGetCurrent(&ctx) == CUDA_SUCCESS && ctx)
		return ctx->gpu;
	return sim_gpu(0);
}

static void adopt(struct CUlib_st *library, struct CUmod_st *module)
{
	module->library = library;
	for (unsigned i = 0; i < module->function_count && i < library->kernel_count; i++) {
		int set = library->kernels[i].max_dynamic[module->gpu->ordinal];

		module->functions[i].kern = &library->kernels[i];
		if (set >= 0)
			module->functions[i].max_dynamic = set;
	}
}

/* Keep what can be asked of a kernel while no context has it loaded. */
static bool describe(struct CUkern_st *kern, const struct sim_kernel_info *info)
{
	struct sim_param *params = calloc(info->param_count + 1, sizeof(*params));
	char *name = strdup(info->name);

	kern->info = *info;
	kern->info.name = name;
	kern->info.params = params;
	if (params && info->param_count)
		memcpy(params, info->params, info->param_count * sizeof(*params));
	return name && params;
}

static CUresult make_kernels(struct CUlib_st *library)
{
	struct CUmod_st *module = library->first;

	library->kernels = calloc(module->function_count + 1, sizeof(*library->kernels));
	if (!library->kernels)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; library->kernel_count < module->function_count; library->kernel_count++) {
		struct CUkern_st *kern = &library->kernels[library->kernel_count];

		kern->library = library;
		kern->index = library->kernel_count;
		memset(kern->max_dynamic, 0xff, sizeof(kern->max_dynamic));
		if (!describe(kern, module->functions[kern->index].info) ||
		    !sim_handle_add(kern, SIM_KERNEL)) {
			library->kernel_count++;	/* for library_free() */
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	adopt(library, module);
	return CUDA_SUCCESS;
}

static void drop_code(struct CUlib_st *library)
{
	for (unsigned i = 0; i < library->kernel_count; i++) {
		sim_handle_remove(&library->kernels[i]);
		free((char *)library->kernels[i].info.name);
		free((struct sim_param *)library->kernels[i].info.params);
	}
	free(library->kernels);
	library->kernels = NULL;
	library->kernel_count = 0;
	if (library->first)
		sim_module_free(library->first);
	library->first = NULL;
}

static void library_free(struct CUlib_st *library)
{
	sim_handle_remove(library);
	drop_code(library);
	for (unsigned i = 0; i < SIM_MAX_DEVICES; i++)
		free(library->texts[i].text);
	free(library);
}

static CUresult compile(struct CUlib_st *library, struct sim_jit *jit)
{
	CUresult r = sim_module_new(NULL, library->home, &library->texts[library->home->ordinal], jit, &library->first);

	r = r ? r : make_kernels(library);
	if (r != CUDA_SUCCESS)
		drop_code(library);
	return r;
}

/* With sim_modules_lock held. */
static CUresult compile_late(struct CUlib_st *library)
{
	struct sim_jit jit = { .buffer = { NULL } };

	return library->kernels ? CUDA_SUCCESS : compile(library, &jit);
}

/* What each device would run.  The home one must have something. */
static CUresult read_texts(struct CUlib_st *library, const struct sim_gpu *gpu, const void *image, const char *path)
{
	CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;

	for (unsigned i = 0; i < sim_device_count(); i++) {
		unsigned arch = sim_gpu((CUdevice)i)->machine.arch;
		CUresult r = path ? sim_image_file(path, arch, &library->texts[i])
				  : sim_image_text(image, SIM_IMAGE_UNBOUNDED, arch, &library->texts[i]);

		if (sim_gpu((CUdevice)i) == gpu)
			result = r;
	}
	return result;
}

static CUresult load(CUlibrary *ret_library, const void *image, const char *path,
		     const CUjit_option *options, void **values, unsigned count)
{
	CUresult r = sim_ready();
	struct CUlib_st *library;
	struct sim_jit jit;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_library || (!image && !path))
		return CUDA_ERROR_INVALID_VALUE;
	r = sim_jit_open(&jit, count, options, values);
	if (r != CUDA_SUCCESS)
		return r;
	library = calloc(1, sizeof(*library));
	if (!library)
		return CUDA_ERROR_OUT_OF_MEMORY;
	library->home = home();
	r = read_texts(library, library->home, image, path);
	if (r == CUDA_SUCCESS && !sim_is_lazy())
		r = compile(library, &jit);
	if (r == CUDA_SUCCESS && !sim_handle_add(library, SIM_LIBRARY))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		library_free(library);
		return r;
	}
	*ret_library = library;
	return CUDA_SUCCESS;
}

/* The options only say how to keep the image, of which there is a copy. */
CUresult sim_cuLibraryLoadData(CUlibrary *ret_library, const void *code, CUjit_option *options,
			       void **values, unsigned count, CUlibraryOption *library_options,
			       void **library_values, unsigned library_count)
{
	(void)library_options;
	(void)library_values;
	(void)library_count;
	return load(ret_library, code, NULL, options, values, count);
}

CUresult sim_cuLibraryLoadFromFile(CUlibrary *ret_library, const char *path, CUjit_option *options,
				   void **values, unsigned count, CUlibraryOption *library_options,
				   void **library_values, unsigned library_count)
{
	(void)library_options;
	(void)library_values;
	(void)library_count;
	return load(ret_library, NULL, path, options, values, count);
}

static CUresult check(CUlibrary library, bool arguments)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!arguments)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_handle_is(library, SIM_LIBRARY) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* With sim_modules_lock held: take the library's modules out of all contexts. */
static struct CUmod_st *detach(struct CUlib_st *library, struct CUctx_st *ctx)
{
	for (struct CUmod_st **at = &ctx->modules; *at; at = &(*at)->next)
		if ((*at)->library == library) {
			struct CUmod_st *module = *at;

			*at = module->next;
			return module;
		}
	return NULL;
}

CUresult sim_cuLibraryUnload(CUlibrary library)
{
	CUresult r = check(library, true);
	struct CUctx_st *ctx = NULL;

	if (r != CUDA_SUCCESS)
		return r;
	while ((ctx = sim_context_next(ctx)) != NULL) {
		struct CUmod_st *module;

		if (!atomic_load(&ctx->alive))
			continue;
		pthread_mutex_lock(&sim_modules_lock);
		module = detach(library, ctx);
		pthread_mutex_unlock(&sim_modules_lock);
		if (module) {
			sim_context_drain(ctx);
			sim_module_free(module);
		}
	}
	library_free(library);
	return CUDA_SUCCESS;
}

/* The library's module in a context, loaded if need be. */
static CUresult module_in(struct CUlib_st *library, struct CUctx_st *ctx, struct CUmod_st **ret_module)
{
	struct sim_jit jit = { .buffer = { NULL } };
	struct CUmod_st *m;
	CUresult r;

	pthread_mutex_lock(&sim_modules_lock);
	r = compile_late(library);
	for (m = ctx->modules; m && m->library != library; m = m->next)
		;
	if (r == CUDA_SUCCESS && !m) {
		if (library->first && library->first->gpu == ctx->gpu) {
			m = library->first;
			m->ctx = ctx;
			library->first = NULL;
		} else if (!library->texts[ctx->gpu->ordinal].text) {
			r = CUDA_ERROR_NO_BINARY_FOR_GPU;
		} else {
			r = sim_module_new(ctx, ctx->gpu, &library->texts[ctx->gpu->ordinal], &jit, &m);
			if (r == CUDA_SUCCESS)
				adopt(library, m);
		}
		if (r == CUDA_SUCCESS) {
			m->next = ctx->modules;
			ctx->modules = m;
		}
	}
	pthread_mutex_unlock(&sim_modules_lock);
	if (r == CUDA_SUCCESS)
		*ret_module = m;
	return r;
}

CUresult sim_kernel_function(CUkernel kern, struct CUctx_st *ctx, struct CUfunc_st **ret_function)
{
	struct CUmod_st *module;
	CUresult r = module_in(kern->library, ctx, &module);

	if (r != CUDA_SUCCESS)
		return r;
	if (kern->index >= module->function_count)
		return CUDA_ERROR_NOT_FOUND;
	*ret_function = &module->functions[kern->index];
	return CUDA_SUCCESS;
}

/* For what is asked of its kernels. */
static CUresult check_kernels(CUlibrary library, bool arguments)
{
	CUresult r = check(library, arguments);

	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_modules_lock);
	r = compile_late(library);
	pthread_mutex_unlock(&sim_modules_lock);
	return r;
}

CUresult sim_cuLibraryGetKernel(CUkernel *ret_kernel, CUlibrary library, const char *name)
{
	CUresult r = check_kernels(library, ret_kernel && name);

	if (r != CUDA_SUCCESS)
		return r;
	for (unsigned i = 0; i < library->kernel_count; i++)
		if (!strcmp(library->kernels[i].info.name, name)) {
			*ret_kernel = &library->kernels[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuLibraryGetKernelCount(unsigned *ret_count, CUlibrary library)
{
	CUresult r = check_kernels(library, ret_count);

	if (r == CUDA_SUCCESS)
		*ret_count = library->kernel_count;
	return r;
}

CUresult sim_cuLibraryEnumerateKernels(CUkernel *ret_kernels, unsigned count, CUlibrary library)
{
	CUresult r = check_kernels(library, ret_kernels || !count);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < count && i < library->kernel_count; i++)
		ret_kernels[i] = &library->kernels[i];
	return r;
}

CUresult sim_cuLibraryGetModule(CUmodule *ret_module, CUlibrary library)
{
	struct CUctx_st *ctx;
	CUresult r = check(library, ret_module);

	r = r ? r : sim_current(&ctx);
	return r ? r : module_in(library, ctx, ret_module);
}

CUresult sim_cuLibraryGetGlobal(CUdeviceptr *ret_ptr, size_t *ret_size, CUlibrary library,
				const char *name)
{
	CUmodule module;
	CUresult r = sim_cuLibraryGetModule(&module, library);

	return r ? r : sim_cuModuleGetGlobal_v2(ret_ptr, ret_size, module, name);
}
