/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: one image loaded into one context. */
#include <stdlib.h>
#include <string.h>

#include "sim/module.h"
#include "sim/stream.h"

pthread_mutex_t sim_modules_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult make_functions(struct CUmod_st *module)
{
	unsigned count = 0;

	while (sim_module_kernel(module->machine, count))
		count++;
	module->functions = calloc(count ? count : 1, sizeof(*module->functions));
	if (!module->functions)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (; module->function_count < count; module->function_count++) {
		struct CUfunc_st *f = &module->functions[module->function_count];

		f->module = module;
		f->kernel = sim_module_kernel(module->machine, module->function_count);
		f->info = sim_kernel_info(f->kernel);
		f->max_dynamic = 48 * 1024 - (int)f->info->static_shared;
		if (f->max_dynamic < 0)
			f->max_dynamic = 0;
		f->carveout = -1;
		if (!sim_handle_add(f, SIM_FUNCTION))
			return CUDA_ERROR_OUT_OF_MEMORY;
	}
	return CUDA_SUCCESS;
}

bool sim_is_lazy(void)
{
	const char *mode = getenv("CUDA_MODULE_LOADING");

	return mode && !strcmp(mode, "LAZY");
}

static void drop_code(struct CUmod_st *module)
{
	for (unsigned i = 0; i < module->function_count; i++)
		sim_handle_remove(&module->functions[i]);
	free(module->functions);
	module->functions = NULL;
	module->function_count = 0;
	if (module->machine)
		sim_module_unload(module->machine);
	module->machine = NULL;
}

static CUresult compile(struct CUmod_st *module, const struct sim_text *text, struct sim_jit *jit)
{
	struct sim_error err = { .kind = SIM_OK };
	CUresult r;

	if (sim_module_load(&module->gpu->machine, text->text, text->length, &module->machine, &err) != 0)
		r = sim_jit_error(jit, &err);
	else
		r = make_functions(module);
	if (r != CUDA_SUCCESS)
		drop_code(module);
	return r;
}

/* jit NULL: compiled later, from the text that it takes over. */
static CUresult module_new(struct CUctx_st *ctx, struct sim_gpu *gpu, struct sim_text *text, struct sim_jit *jit,
			   struct CUmod_st **ret_module)
{
	struct CUmod_st *module = calloc(1, sizeof(*module));
	CUresult r = CUDA_SUCCESS;

	if (!module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	module->ctx = ctx;
	module->gpu = gpu;
	if (jit)
		r = compile(module, text, jit);
	if (r == CUDA_SUCCESS && !sim_handle_add(module, SIM_MODULE))
		r = CUDA_ERROR_OUT_OF_MEMORY;
	if (r != CUDA_SUCCESS) {
		sim_module_free(module);
		return r;
	}
	if (!jit) {
		module->text = *text;
		text->text = NULL;
	}
	*ret_module = module;
	return CUDA_SUCCESS;
}

CUresult sim_module_new(struct CUctx_st *ctx, struct sim_gpu *gpu, const struct sim_text *text,
			struct sim_jit *jit, struct CUmod_st **ret_module)
{
	struct sim_text kept = *text;

	return module_new(ctx, gpu, &kept, jit, ret_module);
}

static CUresult compile_late(struct CUmod_st *module)
{
	struct sim_jit jit = { .buffer = { NULL } };
	CUresult r = CUDA_SUCCESS;

	pthread_mutex_lock(&sim_modules_lock);
	if (!module->machine)
		r = compile(module, &module->text, &jit);
	pthread_mutex_unlock(&sim_modules_lock);
	return r;
}

void sim_module_free(struct CUmod_st *module)
{
	sim_handle_remove(module);
	drop_code(module);
	free(module->text.text);
	free(module);
}

static void unlink_module(struct CUmod_st *module)
{
	struct CUmod_st **at = &module->ctx->modules;

	while (*at && *at != module)
		at = &(*at)->next;
	if (*at)
		*at = module->next;
}

void sim_context_free_modules(struct CUctx_st *ctx)
{
	pthread_mutex_lock(&sim_modules_lock);
	while (ctx->modules) {
		struct CUmod_st *module = ctx->modules;

		ctx->modules = module->next;
		sim_module_free(module);
	}
	pthread_mutex_unlock(&sim_modules_lock);
}

static CUresult load(CUmodule *ret_module, const void *image, const char *path, unsigned count,
		     CUjit_option *options, void **values)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct CUmod_st *module;
	struct sim_text text;
	struct sim_jit jit;

	r = r ? r : sim_capture_allows();
	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_module || (!image && !path))
		return CUDA_ERROR_INVALID_VALUE;
	r = sim_jit_open(&jit, count, options, values);
	if (r == CUDA_SUCCESS && path)
		r = sim_image_file(path, ctx->gpu->machine.arch, &text);
	else if (r == CUDA_SUCCESS)
		r = sim_image_text(image, SIM_IMAGE_UNBOUNDED, ctx->gpu->machine.arch, &text);
	if (r != CUDA_SUCCESS)
		return r;
	r = module_new(ctx, ctx->gpu, &text, sim_is_lazy() ? NULL : &jit, &module);
	free(text.text);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_modules_lock);
	module->next = ctx->modules;
	ctx->modules = module;
	pthread_mutex_unlock(&sim_modules_lock);
	*ret_module = module;
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleLoadData(CUmodule *ret_module, const void *image)
{
	return load(ret_module, image, NULL, 0, NULL, NULL);
}

CUresult sim_cuModuleLoadDataEx(CUmodule *ret_module, const void *image, unsigned count,
				CUjit_option *options, void **values)
{
	return load(ret_module, image, NULL, count, options, values);
}

CUresult sim_cuModuleLoadFatBinary(CUmodule *ret_module, const void *image)
{
	return load(ret_module, image, NULL, 0, NULL, NULL);
}

CUresult sim_cuModuleLoad(CUmodule *ret_module, const char *path)
{
	return load(ret_module, NULL, path, 0, NULL, NULL);
}

CUresult sim_cuModuleUnload(CUmodule module)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(module, SIM_MODULE) || module->library)
		return CUDA_ERROR_INVALID_HANDLE;
	r = sim_context_check(module->ctx);
	if (r != CUDA_SUCCESS)
		return r;
	/* Its kernels may be running. */
	sim_context_drain(module->ctx);
	pthread_mutex_lock(&sim_modules_lock);
	unlink_module(module);
	pthread_mutex_unlock(&sim_modules_lock);
	sim_module_free(module);
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetLoadingMode(CUmoduleLoadingMode *ret_mode)
{
	if (!ret_mode)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_mode = sim_is_lazy() ? CU_MODULE_LAZY_LOADING : CU_MODULE_EAGER_LOADING;
	return CUDA_SUCCESS;
}

static CUresult check(CUmodule module, bool arguments)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!arguments)
		return CUDA_ERROR_INVALID_VALUE;
	return sim_handle_is(module, SIM_MODULE) ? compile_late(module) : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuModuleGetFunction(CUfunction *ret_function, CUmodule module, const char *name)
{
	CUresult r = check(module, ret_function && name && *name);

	if (r != CUDA_SUCCESS)
		return r;
	for (unsigned i = 0; i < module->function_count; i++)
		if (!strcmp(module->functions[i].info->name, name)) {
			*ret_function = &module->functions[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuModuleGetFunctionCount(unsigned *ret_count, CUmodule module)
{
	CUresult r = check(module, ret_count);

	if (r == CUDA_SUCCESS)
		*ret_count = module->function_count;
	return r;
}

CUresult sim_cuModuleEnumerateFunctions(CUfunction *ret_functions, unsigned count, CUmodule module)
{
	CUresult r = check(module, ret_functions || !count);

	for (unsigned i = 0; r == CUDA_SUCCESS && i < count && i < module->function_count; i++)
		ret_functions[i] = &module->functions[i];
	return r;
}

CUresult sim_cuModuleGetGlobal_v2(CUdeviceptr *ret_ptr, size_t *ret_size, CUmodule module,
				  const char *name)
{
	CUresult r = check(module, name != NULL);
	uint64_t addr, size;

	if (r != CUDA_SUCCESS)
		return r;
	if (sim_module_find_variable(module->machine, name, &addr, &size) != 0)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_ptr)
		*ret_ptr = addr;
	if (ret_size)
		*ret_size = size;
	return CUDA_SUCCESS;
}
