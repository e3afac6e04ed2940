/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that load and unload code. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/module/module.h"

/* Is there a reason to look at images at all? */
static bool curious(void)
{
	return atomic_load_explicit(&gt_active, memory_order_relaxed) &&
	       (gt_session.probe_count || gt_session.flags & GT_CONFIG_LIST);
}

#define IS_LIBRARY(handle) _Generic(*(handle), CUlibrary: true, default: false)
#define UNLOAD(handle) _Generic(*(handle), CUlibrary: gt_cu.cuLibraryUnload, default: gt_cu.cuModuleUnload)(*(handle))

/*
 * Every load hook is the same: have the image looked at, give the driver the
 * replacement if there is one, and the original when there is none, the driver
 * will not have it or there is no memory to know it by: its kernels could not be
 * launched as they must be.  LOOK looks at it, CALL_NEW loads `use`, CALL_OLD is
 * what the program asked for.
 */
#define LOAD(handle, code, LOOK, CALL_NEW, CALL_OLD) \
	int saved = errno; \
	struct gt_module *module = NULL; \
	const void *use = NULL; \
	CUresult result; \
	\
	if (!gt_enter() || !handle || !(code) || !curious()) { \
		result = CALL_OLD; \
		gt_leave(); \
		return result; \
	} \
	gt_context_current();	/* now rather than at a launch, which may be captured */ \
	module = LOOK(code); \
	use = module ? module->replacement : NULL; \
	errno = saved; \
	result = CUDA_ERROR_INVALID_IMAGE; \
	if (use) { \
		result = CALL_NEW; \
		if (result) { \
			gt_module_give_up(module, result); \
		} else { \
			if (!gt_module_loaded(*handle, module, IS_LIBRARY(handle), NULL)) { \
				UNLOAD(handle); \
				result = CUDA_ERROR_OUT_OF_MEMORY; \
			} \
			module = NULL; \
		} \
	} \
	if (result) \
		result = CALL_OLD; \
	saved = errno; \
	if (module && !result) \
		gt_module_loaded(*handle, module, IS_LIBRARY(handle), NULL); \
	else if (module) \
		gt_module_put(module); \
	gt_leave(); \
	errno = saved; \
	return result

static CUresult hook_cuModuleLoadData(CUmodule *handle, const void *image)
{
	LOAD(handle, image, gt_module_get, gt_cu.cuModuleLoadData(handle, use), gt_cu.cuModuleLoadData(handle, image));
}

static CUresult hook_cuModuleLoadDataEx(CUmodule *handle, const void *image, unsigned int count,
					CUjit_option *options, void **values)
{
	LOAD(handle, image, gt_module_get, gt_cu.cuModuleLoadDataEx(handle, use, count, options, values),
	     gt_cu.cuModuleLoadDataEx(handle, image, count, options, values));
}

static CUresult hook_cuModuleLoadFatBinary(CUmodule *handle, const void *image)
{
	LOAD(handle, image, gt_module_get, gt_cu.cuModuleLoadData(handle, use),
	     gt_cu.cuModuleLoadFatBinary(handle, image));
}

static CUresult hook_cuLibraryLoadData(CUlibrary *handle, const void *image, CUjit_option *options,
				       void **values, unsigned int count,
				       CUlibraryOption *library_options, void **library_values,
				       unsigned int library_count)
{
	LOAD(handle, image, gt_library_get,
	     gt_cu.cuLibraryLoadData(handle, use, options, values, count, library_options,
				     library_values, library_count),
	     gt_cu.cuLibraryLoadData(handle, image, options, values, count, library_options,
				     library_values, library_count));
}

static bool read_all(int fd, char *bytes, size_t size)
{
	ssize_t n;

	for (; size; bytes += n, size -= (size_t)n) {
		n = read(fd, bytes, size);
		if (n <= 0)
			return false;
	}
	return true;
}

static bool is_image(const struct stat *file)
{
	return S_ISREG(file->st_mode) && file->st_size > 16 && file->st_size < 1l << 31;
}

/* The file's bytes, with a NUL behind them for PTX text; NULL if it cannot be read.  What is no file is not opened. */
static void *read_file(const char *path)
{
	char *bytes = NULL;
	struct stat file;
	int fd;

	if (!path || stat(path, &file) || !is_image(&file))
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &file) && is_image(&file))
		bytes = calloc(1, (size_t)file.st_size + 1);
	if (bytes && !read_all(fd, bytes, (size_t)file.st_size)) {
		free(bytes);
		bytes = NULL;
	}
	close(fd);
	return bytes;
}

/* From a file: looked at from our own copy, which is no longer needed once the driver has returned. */
static CUresult load_module_file(CUmodule *handle, const char *path, void *code)
{
	LOAD(handle, code, gt_module_get, gt_cu.cuModuleLoadData(handle, use), gt_cu.cuModuleLoad(handle, path));
}

static CUresult hook_cuModuleLoad(CUmodule *handle, const char *path)
{
	void *code = !gt_is_inside() && curious() ? read_file(path) : NULL;
	CUresult result = load_module_file(handle, path, code);

	free(code);
	return result;
}

static CUresult load_library_file(CUlibrary *handle, const char *path, void *code,
				  CUjit_option *options, void **values, unsigned int count,
				  CUlibraryOption *library_options, void **library_values,
				  unsigned int library_count)
{
	LOAD(handle, code, gt_library_get,
	     gt_cu.cuLibraryLoadData(handle, use, options, values, count, library_options,
				     library_values, library_count),
	     gt_cu.cuLibraryLoadFromFile(handle, path, options, values, count, library_options,
					 library_values, library_count));
}

static CUresult hook_cuLibraryLoadFromFile(CUlibrary *handle, const char *path, CUjit_option *options,
					   void **values, unsigned int count,
					   CUlibraryOption *library_options, void **library_values,
					   unsigned int library_count)
{
	void *code = !gt_is_inside() && curious() ? read_file(path) : NULL;
	CUresult result = load_library_file(handle, path, code, options, values, count,
					    library_options, library_values, library_count);

	free(code);
	return result;
}

static CUresult hook_cuModuleUnload(CUmodule handle)
{
	GT_AROUND(gt_module_unloaded(handle), gt_cu.cuModuleUnload(handle), (void)0);
}

static CUresult hook_cuLibraryUnload(CUlibrary handle)
{
	GT_AROUND(gt_module_unloaded(handle), gt_cu.cuLibraryUnload(handle), (void)0);
}

const struct gt_hook gt_load_hooks[] = {
	GT_HOOK(cuModuleUnload, true),
	GT_HOOK(cuLibraryUnload, true),
	GT_HOOK(cuModuleLoadData, false),
	GT_HOOK(cuModuleLoadDataEx, false),
	GT_HOOK(cuModuleLoadFatBinary, false),
	GT_HOOK(cuModuleLoad, false),
	GT_HOOK(cuLibraryLoadData, false),
	GT_HOOK(cuLibraryLoadFromFile, false),
	{ 0 },
};
