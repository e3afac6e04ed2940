/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of kernels, with programs in them, as the driver knows them by name: beside the program's, or in a library of ours. */
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/handle.h"

/* ---- beside the program's ---- */

/* Its kernels; those of a library's parts have the same names. */
static const struct gt_module *named_in(const struct gt_loaded *loaded)
{
	return loaded->module->part_count ? loaded->module->parts[0] : loaded->module;
}

bool gt_loaded_has_copies_beside(const struct gt_loaded *loaded)
{
	return loaded && !loaded->copies;
}

const struct gt_kernel *gt_loaded_copied(const struct gt_loaded *loaded, const char *name)
{
	for (unsigned i = 0; gt_loaded_has_copies_beside(loaded) && i < named_in(loaded)->kernel_count; i++) {
		const struct gt_kernel *kernel = &named_in(loaded)->kernels[i];

		if (kernel->copy && !strcmp(kernel->copy, name))
			return kernel;
	}
	return NULL;
}

unsigned gt_module_copies(void *handle)
{
	const struct gt_loaded *loaded;
	unsigned count = 0;

	gt_lock(&gt_modules_lock);
	loaded = gt_loaded_get(handle);
	for (unsigned i = 0; gt_loaded_has_copies_beside(loaded) && i < named_in(loaded)->kernel_count; i++)
		count += named_in(loaded)->kernels[i].copy != NULL;
	gt_unlock(&gt_modules_lock);
	return count;
}

bool gt_module_has_copy(void *handle, const char *name)
{
	bool found;

	gt_lock(&gt_modules_lock);
	found = gt_loaded_copied(gt_loaded_get(handle), name);
	gt_unlock(&gt_modules_lock);
	return found;
}

/* ---- in a library of ours ---- */

/* Whose copies are in this library, or in this module that the driver made of it? */
static struct gt_loaded *find_owner(void *handle, enum gt_handle kind)
{
	CUmodule its;

	for (struct gt_loaded *loaded = gt_all_loaded; loaded; loaded = loaded->next) {
		if (!loaded->copies)
			continue;
		if (kind == GT_HANDLE_LIBRARY ? loaded->copies == handle :
		    !gt_cu.cuLibraryGetModule(&its, loaded->copies) && its == handle)
			return loaded;
	}
	return NULL;
}

bool gt_function_is_copy(void *function, void *handle, const char *name, enum gt_handle kind)
{
	struct gt_loaded *loaded;
	struct gt_kernel *kernel = NULL;
	void *own = NULL;

	gt_lock(&gt_modules_lock);
	loaded = find_owner(handle, kind);
	for (unsigned i = 0; loaded && i < loaded->module->kernel_count; i++) {
		if (loaded->module->kernels[i].copy && !strcmp(loaded->module->kernels[i].copy, name))
			kernel = &loaded->module->kernels[i];
	}
	if (kernel && kind == GT_HANDLE_MODULE)
		own = gt_ask_function_here(loaded->handle, kernel->name, loaded->library ? GT_HANDLE_LIBRARY : GT_HANDLE_MODULE);
	if (own) {
		gt_functions_add(own, loaded, kernel);
		gt_functions_add_copy(own, function, loaded, kernel);
	}
	gt_unlock(&gt_modules_lock);
	return loaded;
}
