/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/handle.h"

#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"
#include "lib/agent/module/cache.h"
#include "lib/agent/table.h"

struct gt_loaded *gt_all_loaded;
static struct gt_table *loaded_by_handle;
_Atomic unsigned gt_loaded_replaced;

struct gt_loaded *gt_loaded_get(const void *handle)
{
	return gt_table_get(&loaded_by_handle, handle);
}

static struct gt_kernel *find_kernel(const struct gt_module *module, const char *name)
{
	struct gt_kernel *kernel = gt_module_find_kernel(module, name);

	for (unsigned i = 0; i < module->part_count && !kernel; i++)
		kernel = find_kernel(module->parts[i], name);
	return kernel;
}

struct gt_kernel *gt_loaded_kernel(const struct gt_loaded *loaded, const char *name)
{
	return find_kernel(loaded->module, name);
}

bool gt_module_is_known(void *handle)
{
	return gt_loaded_get(handle);
}

bool gt_module_loaded(void *handle, struct gt_module *module, bool library, CUlibrary copies)
{
	struct gt_loaded *loaded = calloc(1, sizeof(*loaded));
	bool known = false;

	gt_lock(&gt_modules_lock);
	if (!loaded || gt_table_set(&loaded_by_handle, handle, loaded)) {
		free(loaded);
		gt_cache_put(module);
	} else {
		*loaded = (struct gt_loaded){ .next = gt_all_loaded, .link = &gt_all_loaded, .handle = handle,
					   .module = module, .library = library, .copies = copies };
		if (!library && gt_cu.cuCtxGetCurrent(&loaded->context))
			loaded->context = NULL;
		gt_loaded_replaced += module->replacement != NULL;
		if (gt_all_loaded)
			gt_all_loaded->link = &loaded->next;
		gt_all_loaded = loaded;
		known = true;
	}
	gt_unlock(&gt_modules_lock);
	if (!known)
		gt_note(4, "out of memory for what is known of a module: its kernels run without programs");
	return known;
}

void gt_module_alias(void *handle, void *known)
{
	struct gt_module *module = NULL;
	const struct gt_loaded *loaded;

	if (gt_loaded_get(handle))
		return;
	gt_lock(&gt_modules_lock);
	loaded = gt_loaded_get(known);
	/* Copies of its own belong to one handle. */
	if (loaded && !loaded->copies) {
		module = loaded->module;
		module->users++;
	}
	gt_unlock(&gt_modules_lock);
	if (module)
		gt_module_loaded(handle, module, false, NULL);
}

static void forget(struct gt_loaded *loaded)
{
	if (gt_loaded_get(loaded->handle) == loaded)
		gt_table_set(&loaded_by_handle, loaded->handle, NULL);
	gt_loaded_replaced -= loaded->module->replacement != NULL;
	gt_functions_forget(loaded);
	*loaded->link = loaded->next;
	if (loaded->next)
		loaded->next->link = loaded->link;
	gt_cache_put(loaded->module);
	if (loaded->copies)
		gt_cu.cuLibraryUnload(loaded->copies);
	if (loaded->own)
		gt_cu.cuLibraryUnload(loaded->own);
	free(loaded);
}

/* Which of the unseen ones went is not known, and their handles may come back for others: they are met again. */
void gt_module_unloaded(void *handle)
{
	struct gt_loaded *loaded;

	gt_lock(&gt_modules_lock);
	loaded = gt_loaded_get(handle);
	if (loaded)
		forget(loaded);
	else
		gt_functions_forget_unseen();
	gt_unlock(&gt_modules_lock);
}

void gt_modules_context_gone(CUcontext context)
{
	struct gt_loaded *next;

	gt_lock(&gt_modules_lock);
	for (struct gt_loaded *loaded = gt_all_loaded; loaded; loaded = next) {
		next = loaded->next;
		if (!loaded->library && loaded->context == context)
			forget(loaded);
	}
	gt_functions_forget_unseen();
	gt_unlock(&gt_modules_lock);
}

enum gt_leaving gt_modules_leave(void)
{
	enum gt_leaving leaving = GT_LEAVE_NOTHING;
	struct gt_loaded *loaded, *next;

	gt_lock(&gt_modules_lock);
	for (loaded = gt_all_loaded; loaded; loaded = loaded->next) {
		if (gt_module_is_changed(loaded->module))
			leaving = GT_LEAVE_CHANGED;
	}
	for (loaded = gt_all_loaded; loaded && leaving != GT_LEAVE_CHANGED; loaded = next) {
		next = loaded->next;
		if (loaded->module->replacement && gt_loaded_has_copies_beside(loaded))
			leaving = GT_LEAVE_COPIES;
		else
			forget(loaded);
	}
	if (leaving != GT_LEAVE_CHANGED)
		gt_functions_forget_unseen();
	gt_unlock(&gt_modules_lock);
	return leaving;
}
