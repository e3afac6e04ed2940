/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that carry programs in place have nothing beside them that the driver could
 * launch when it will not launch them, or not even load them: the program's own code is
 * loaded a second time then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/instrument/instrument.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/handle.h"
#include "lib/agent/module/unseen.h"

static bool code_fits(const struct gt_source *source, const char *name, char *why, size_t why_size)
{
	struct gt_apart apart = { .name = name, .why = "its machine code is damaged" };

	gt_cubin_apart(source->cubin, source->cubin_size, &apart, 1);
	snprintf(why, why_size, "%s", apart.why);
	return apart.possible;
}

static bool find_in(const struct gt_ptx *ptx, const char *name, unsigned *ret_index)
{
	unsigned count = gt_ptx_kernel_count(ptx);

	for (*ret_index = 0; *ret_index < count; ++*ret_index) {
		if (!strcmp(gt_ptx_kernel(ptx, *ret_index)->name, name))
			return true;
	}
	return false;
}

static bool text_fits(const struct gt_source *source, const char *name, char *why, size_t why_size)
{
	struct gt_ptx_error error = { .text = "out of memory" };
	struct gt_ptx_apart *aparts;
	bool possible = false;
	struct gt_ptx *ptx;
	unsigned i;

	snprintf(why, why_size, "out of memory");
	if (gt_ptx_parse(source->ptx, source->ptx_size, &ptx, &error))
		return false;
	aparts = calloc(gt_ptx_kernel_count(ptx) + 1, sizeof(*aparts));
	if (aparts && !gt_ptx_apart(ptx, aparts) && find_in(ptx, name, &i)) {
		possible = aparts[i].possible;
		snprintf(why, why_size, "%s", aparts[i].why);
	}
	free(aparts);
	gt_ptx_free(ptx);
	return possible;
}

/* Can that code's kernel of this name stand in?  False: *why says why not. */
static bool fits(const struct gt_module *module, const char *name, char *why, size_t why_size)
{
	struct gt_source source;
	bool possible = false;

	snprintf(why, why_size, "the program's own code was not kept");
	if (!module->own || !gt_source_open(module->own, gt_device_arch(), &source))
		return false;
	/* As the driver: text when there is no machine code. */
	if (gt_source_cubin(&source))
		possible = code_fits(&source, name, why, why_size);
	else if (gt_source_ptx(&source))
		possible = text_fits(&source, name, why, why_size);
	gt_source_close(&source);
	return possible;
}

/* NULL: *why says why not. */
static CUlibrary load(const struct gt_module *module, char *why, size_t why_size)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUlibrary library = NULL;
	CUresult result;

	snprintf(why, why_size, "this driver has no libraries of kernels");
	if (!gt_cu.cuLibraryLoadData || !gt_cu.cuLibraryUnload || !gt_cu.cuLibraryGetKernel || !gt_cu.cuKernelGetFunction)
		return NULL;
	/* Loading is forbidden in the middle of a capture, unless relaxed. */
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	result = gt_cu.cuLibraryLoadData(&library, module->own, NULL, NULL, 0, NULL, NULL, 0);
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	if (!result)
		return library;
	snprintf(why, why_size, "the driver would not load the program's own code a second time (CUresult %d)", (int)result);
	return NULL;
}

/* Under the lock. */
static CUlibrary own_code(struct gt_loaded *loaded, struct gt_kernel *kernel, char *why, size_t why_size)
{
	if (kernel->own == GT_OWN_UNKNOWN)
		kernel->own = fits(loaded->module, kernel->name, why, why_size) ? GT_OWN_FITS : GT_OWN_DOES_NOT;
	if (kernel->own == GT_OWN_DOES_NOT)
		return NULL;
	if (!loaded->own)
		loaded->own = load(loaded->module, why, why_size);
	return loaded->own;
}

void *gt_function_own(void *function, char *why, size_t why_size)
{
	struct gt_kernel *kernel = gt_function_find(function);
	enum gt_handle kind = GT_HANDLE_MODULE;
	struct gt_loaded *loaded;
	CUlibrary library;
	void *own = NULL;

	snprintf(why, why_size, "the driver does not tell what it belongs to");
	if (gt_cu.cuKernelGetLibrary && !gt_cu.cuKernelGetLibrary(&library, function))
		kind = GT_HANDLE_LIBRARY;
	gt_lock(&gt_modules_lock);
	loaded = gt_functions_loaded(function);
	if (loaded && kernel && own_code(loaded, kernel, why, why_size))
		own = gt_ask_function_apart(loaded->own, function, kernel->name, kind);
	gt_unlock(&gt_modules_lock);
	return own;
}

/* ---- not even loaded ---- */

/* Its launches are the program's own; the list of kernels says why. */
static void note_stand_in(struct gt_loaded *loaded, void *function, CUresult result)
{
	struct gt_kernel *kernel;
	char why[128];

	snprintf(why, sizeof(why), "the driver would not load the kernel with programs in it (CUresult %d)", (int)result);
	kernel = gt_unseen_kernel(function, loaded->module->id, GT_REASON_COMPILE, why);
	if (kernel)
		gt_functions_add(function, loaded, kernel);
}

static void note_failure(struct gt_kernel *kernel, CUresult result, const char *why)
{
	if (!atomic_exchange(&kernel->said, true))
		gt_note(4, "%.128s could not be loaded with programs in it (CUresult %d), and cannot be without: %s",
			kernel->name, (int)result, why);
}

/* Of code that ran: the context is done for, and nothing can be loaded any more. */
static bool is_fault(CUresult result)
{
	return result >= CUDA_ERROR_ILLEGAL_ADDRESS && result <= CUDA_ERROR_LAUNCH_FAILED;
}

#define NOT_GIVEN "the driver does not give it from the program's own code either"

void *gt_function_stand_in(void *handle, const char *name, enum gt_handle kind, CUresult result)
{
	struct gt_kernel *kernel = NULL;
	char why[256] = NOT_GIVEN;
	struct gt_loaded *loaded;
	void *own = NULL;

	gt_lock(&gt_modules_lock);
	loaded = name && !is_fault(result) ? gt_loaded_get(handle) : NULL;
	/* Kernels without programs are in the same image. */
	if (loaded && gt_module_is_changed(loaded->module))
		kernel = gt_loaded_kernel(loaded, name);
	if (kernel && own_code(loaded, kernel, why, sizeof(why))) {
		snprintf(why, sizeof(why), NOT_GIVEN);
		own = gt_ask_function_apart(loaded->own, NULL, name, kind);
	}
	if (own)
		note_stand_in(loaded, own, result);
	else if (kernel)
		note_failure(kernel, result, why);
	gt_unlock(&gt_modules_lock);
	return own;
}

void *gt_function_stand_in_here(void *kernel, CUresult result)
{
	struct gt_kernel *known = gt_function_find(kernel);
	char why[256] = NOT_GIVEN;
	CUfunction function = NULL;
	struct gt_loaded *loaded;
	void *own;

	if (!known || !known->module || is_fault(result) || !gt_module_is_changed(known->module))
		return NULL;
	own = gt_function_own(kernel, why, sizeof(why));
	if (own && gt_cu.cuKernelGetFunction(&function, own))
		function = NULL;
	gt_lock(&gt_modules_lock);
	loaded = gt_functions_loaded(kernel);
	if (function && loaded)
		note_stand_in(loaded, function, result);
	else
		note_failure(known, result, why);
	gt_unlock(&gt_modules_lock);
	return function;
}
