/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/learn.h"

#include "lib/agent/agent.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/handle.h"

static void learn(void *function, void *handle, const char *name, enum gt_handle kind)
{
	const struct gt_kernel *kernel;
	void *original;

	gt_lock(&gt_modules_lock);
	kernel = gt_loaded_copied(gt_loaded_get(handle), name);
	gt_unlock(&gt_modules_lock);
	if (!kernel) {
		gt_function_named(function, handle, name, kind);
		return;
	}
	/* It is a copy, which is got to know with the program's own. */
	original = gt_ask_function(handle, kernel->name, kind);
	if (original)
		gt_function_named(original, handle, kernel->name, kind);
}

/* The library of ours that this is the module of; NULL: none.  Asking may load it, so only those with such a kernel. */
static void *find_library(CUmodule module, const char *name)
{
	void *found = NULL;
	CUmodule its;

	gt_lock(&gt_modules_lock);
	for (struct gt_loaded *loaded = gt_all_loaded; loaded && !found; loaded = loaded->next) {
		if (loaded->library && gt_loaded_has_copies_beside(loaded) && loaded->module->replacement && gt_cu.cuLibraryGetModule &&
		    (gt_loaded_kernel(loaded, name) || gt_loaded_copied(loaded, name)) &&
		    !gt_cu.cuLibraryGetModule(&its, loaded->handle) && its == module)
			found = loaded->handle;
	}
	gt_unlock(&gt_modules_lock);
	return found;
}

static void ask_for_module(void *function)
{
	const char *name;
	CUmodule module;
	void *library;

	if (!gt_cu.cuFuncGetModule || !gt_cu.cuFuncGetName || gt_cu.cuFuncGetModule(&module, function) ||
	    gt_cu.cuFuncGetName(&name, function))
		return;
	if (!gt_loaded_get(module)) {
		library = find_library(module, name);
		if (library)
			gt_module_alias(module, library);
	}
	learn(function, module, name, GT_HANDLE_MODULE);
}

/* Launch functions take kernels of libraries too. */
static void ask_for_library(void *kernel)
{
	const char *name;
	CUlibrary library;

	if (gt_cu.cuKernelGetLibrary && gt_cu.cuKernelGetName && !gt_cu.cuKernelGetLibrary(&library, kernel) &&
	    !gt_cu.cuKernelGetName(&name, kernel))
		learn(kernel, library, name, GT_HANDLE_LIBRARY);
}

void gt_function_learn(void *function)
{
	ask_for_module(function);
	if (!gt_function_is_known(function))
		ask_for_library(function);
}
