/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of functions, and of kernels of libraries, and what they stand for. */
#include <stdlib.h>

#include "lib/agent/agent.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/handle.h"
#include "lib/agent/module/late.h"
#include "lib/agent/module/learn.h"
#include "lib/agent/module/unseen.h"
#include "lib/agent/module/variants.h"
#include "lib/agent/table.h"

static struct gt_table *kernel_by_function;
static struct gt_table *loaded_by_function;
static struct gt_table *copy_by_function, *function_by_copy;
static struct gt_loaded unseen;	/* those of images that were loaded unseen */

static bool remember_function(struct gt_loaded *loaded, void *function)
{
	if (loaded->function_count == loaded->function_room) {
		unsigned room = loaded->function_room ? 2 * loaded->function_room : 8;
		void **more = realloc(loaded->functions, room * sizeof(*more));

		if (!more)
			return false;
		loaded->functions = more;
		loaded->function_room = room;
	}
	loaded->functions[loaded->function_count++] = function;
	return true;
}

void gt_functions_add(void *function, struct gt_loaded *loaded, struct gt_kernel *kernel)
{
	/* A handle of ours still in the table belongs to code that was unloaded unseen. */
	if (gt_table_get(&kernel_by_function, function) == kernel &&
	    gt_table_get(&loaded_by_function, function) == loaded)
		return;
	gt_table_set(&copy_by_function, function, NULL);
	gt_table_set(&function_by_copy, function, NULL);
	if (remember_function(loaded, function) &&
	    !gt_table_set(&loaded_by_function, function, loaded))
		gt_table_set(&kernel_by_function, function, kernel);
}

void gt_functions_add_copy(void *function, void *copy, struct gt_loaded *loaded, struct gt_kernel *kernel)
{
	gt_functions_add(copy, loaded, kernel);
	if (!gt_table_set(&function_by_copy, copy, function))
		gt_table_set(&copy_by_function, function, copy);
}

struct gt_loaded *gt_functions_loaded(const void *function)
{
	struct gt_loaded *loaded = gt_table_get(&loaded_by_function, function);

	return loaded != &unseen ? loaded : NULL;
}

void gt_functions_forget(struct gt_loaded *loaded)
{
	for (unsigned i = 0; i < loaded->function_count; i++) {
		if (gt_table_get(&loaded_by_function, loaded->functions[i]) != loaded)
			continue;
		gt_table_set(&kernel_by_function, loaded->functions[i], NULL);
		gt_table_set(&loaded_by_function, loaded->functions[i], NULL);
		gt_table_set(&copy_by_function, loaded->functions[i], NULL);
		gt_table_set(&function_by_copy, loaded->functions[i], NULL);
	}
	free(loaded->functions);
	loaded->functions = NULL;
	loaded->function_count = loaded->function_room = 0;
}

void gt_functions_forget_unseen(void)
{
	gt_functions_forget(&unseen);
	gt_unseen_forget();
}

/* It, or a part of it, that does not list its kernels; NULL: all are listed. */
static const struct gt_module *unlisted_in(const struct gt_module *module)
{
	if (module->unlisted)
		return module;
	for (unsigned i = 0; i < module->part_count; i++) {
		if (module->parts[i]->unlisted)
			return module->parts[i];
	}
	return NULL;
}

/* A kernel is made of it when it is launched. */
static void add_unlisted(void *function, struct gt_loaded *loaded)
{
	if (gt_table_get(&loaded_by_function, function) != loaded)
		gt_functions_add(function, loaded, NULL);
}

void gt_function_named(void *function, void *handle, const char *name, enum gt_handle kind)
{
	struct gt_loaded *loaded;
	struct gt_kernel *kernel;
	void *copy = NULL;

	gt_lock(&gt_modules_lock);
	loaded = gt_loaded_get(handle);
	kernel = loaded ? gt_loaded_kernel(loaded, name) : NULL;
	if (!kernel && loaded && unlisted_in(loaded->module))
		add_unlisted(function, loaded);
	if (kernel) {
		gt_functions_add(function, loaded, kernel);
		if (kernel->copy)
			copy = loaded->copies ? gt_ask_function_apart(loaded->copies, function, kernel->copy, kind) :
						gt_ask_function(handle, kernel->copy, kind);
		if (copy)
			gt_functions_add_copy(function, copy, loaded, kernel);
	}
	gt_unlock(&gt_modules_lock);
}

/* known: a CUkernel; function: what it is in the current context. */
void gt_function_alias(void *function, void *known)
{
	struct gt_loaded *loaded;
	struct gt_kernel *kernel;
	CUfunction copy;

	gt_lock(&gt_modules_lock);
	kernel = gt_table_get(&kernel_by_function, known);
	loaded = gt_table_get(&loaded_by_function, known);
	if (loaded && !kernel)
		add_unlisted(function, loaded);
	if (kernel) {
		void *known_copy = gt_table_get(&copy_by_function, known);

		gt_functions_add(function, loaded, kernel);
		if (known_copy && !gt_cu.cuKernelGetFunction(&copy, known_copy))
			gt_functions_add_copy(function, copy, loaded, kernel);
	}
	gt_unlock(&gt_modules_lock);
}

static struct gt_kernel *known_or_asked(void *handle)
{
	struct gt_kernel *kernel = gt_table_get(&kernel_by_function, handle);

	if (kernel || !handle)
		return kernel;
	if (atomic_load_explicit(&gt_loaded_replaced, memory_order_relaxed))
		gt_function_learn(handle);
	if (gt_late_wanted() && !gt_function_is_known(handle))
		gt_late_learn(handle);
	return gt_table_get(&kernel_by_function, handle);
}

bool gt_function_is_known(const void *function)
{
	return gt_table_get(&kernel_by_function, function);
}

struct gt_kernel *gt_function_find(const void *function)
{
	struct gt_kernel *kernel = known_or_asked((void *)(uintptr_t)function);

	return kernel ? gt_variant_here(kernel) : NULL;
}

void *gt_function_copy(const void *function)
{
	return gt_table_get(&copy_by_function, function);
}

void *gt_function_original(const void *copy)
{
	return gt_table_get(&function_by_copy, copy);
}

struct gt_kernel *gt_function_discover(void *function, const char *why)
{
	const struct gt_module *module;
	struct gt_loaded *loaded;
	struct gt_kernel *kernel;

	gt_lock(&gt_modules_lock);
	kernel = gt_table_get(&kernel_by_function, function);
	if (!kernel) {
		loaded = gt_functions_loaded(function);
		module = loaded ? unlisted_in(loaded->module) : NULL;
		kernel = gt_unseen_kernel(function, module ? module->id : 0, GT_REASON_BEFORE, module ? module->unlisted : why);
		if (kernel)
			gt_functions_add(function, loaded ? loaded : &unseen, kernel);
	}
	gt_unlock(&gt_modules_lock);
	return kernel;
}
