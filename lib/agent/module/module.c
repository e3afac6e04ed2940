/* SPDX-License-Identifier: Apache-2.0 */
/* Handles of the driver and what they stand for. */
#include "lib/agent/module/module.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/cache.h"
#include "lib/agent/module/late.h"
#include "lib/agent/module/own.h"
#include "lib/agent/module/unseen.h"
#include "lib/agent/module/variants.h"
#include "lib/agent/table.h"

/* A module or library handle of the driver. */
struct loaded {
	struct loaded *next, **link;
	void *handle;
	struct gt_module *module;
	bool library;		/* a CUlibrary */
	CUcontext context;	/* of a module: it ends with it */
	CUlibrary own;		/* the program's code once more, when that was needed; NULL: not yet */
	CUlibrary copies;	/* of code loaded unseen: ours, with the copies of its kernels; NULL: they are beside them */
	void **functions;	/* handles got through it */
	unsigned function_count, function_room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct loaded *all_loaded;
static struct gt_table *loaded_by_handle;
static struct gt_table *kernel_by_function;
static struct gt_table *loaded_by_function;
static struct gt_table *copy_by_function, *function_by_copy;
static _Atomic unsigned replaced;	/* handles whose kernels may take the hidden parameter */

struct gt_module *gt_module_of(struct gt_source *source)
{
	struct gt_module *module;

	pthread_mutex_lock(&lock);
	module = gt_cache_get(source);
	pthread_mutex_unlock(&lock);
	return module;
}

struct gt_module *gt_module_get(const void *code)
{
	struct gt_source source;
	struct gt_module *module;

	if (!gt_source_open(code, gt_device_arch(), &source))
		return NULL;
	module = gt_module_of(&source);
	gt_source_close(&source);
	return module;
}

static bool add_part(struct gt_module *library, struct gt_source *source)
{
	struct gt_module *part;

	pthread_mutex_lock(&lock);
	part = gt_cache_get(source);
	if (part)
		library->parts[library->part_count++] = part;
	pthread_mutex_unlock(&lock);
	return part;
}

struct gt_module *gt_library_get(const void *code)
{
	unsigned archs[GT_ARCHS_MAX], count = gt_device_archs(archs);
	struct gt_source sources[GT_ARCHS_MAX];
	struct gt_module *library;

	if (count == 1)
		return gt_module_get(code);
	library = calloc(1, sizeof(*library));
	if (!library)
		return NULL;
	for (unsigned i = 0; i < count; i++) {
		struct gt_source *source = &sources[library->part_count];

		/* Devices that nothing in it is for do not matter. */
		if (gt_source_open(code, archs[i], source) && !add_part(library, source))
			gt_source_close(source);
	}
	if (!library->part_count) {
		free(library);
		return NULL;
	}
	library->users = 1;
	pthread_mutex_lock(&lock);
	gt_variants_join(library, sources);
	pthread_mutex_unlock(&lock);
	for (unsigned i = 0; i < library->part_count; i++)
		gt_source_close(&sources[i]);
	return library;
}

void gt_module_put(struct gt_module *module)
{
	pthread_mutex_lock(&lock);
	gt_cache_put(module);
	pthread_mutex_unlock(&lock);
}

void gt_module_give_up(struct gt_module *module, CUresult why)
{
	pthread_mutex_lock(&lock);
	gt_build_refused(module, why);
	for (unsigned i = 0; i < module->part_count; i++)
		gt_build_refused(module->parts[i], why);
	pthread_mutex_unlock(&lock);
}

bool gt_module_loaded(void *handle, struct gt_module *module, bool library, CUlibrary copies)
{
	struct loaded *loaded = calloc(1, sizeof(*loaded));
	bool known = false;

	pthread_mutex_lock(&lock);
	if (!loaded || gt_table_set(&loaded_by_handle, handle, loaded)) {
		free(loaded);
		gt_cache_put(module);
	} else {
		*loaded = (struct loaded){ .next = all_loaded, .link = &all_loaded, .handle = handle,
					   .module = module, .library = library, .copies = copies };
		if (!library && gt_cu.cuCtxGetCurrent(&loaded->context))
			loaded->context = NULL;
		replaced += module->replacement != NULL;
		if (all_loaded)
			all_loaded->link = &loaded->next;
		all_loaded = loaded;
		known = true;
	}
	pthread_mutex_unlock(&lock);
	if (!known)
		gt_note(4, "out of memory for what is known of a module: its kernels run without programs");
	return known;
}

void gt_module_alias(void *handle, void *known)
{
	struct loaded *loaded;

	if (gt_table_get(&loaded_by_handle, handle))
		return;
	pthread_mutex_lock(&lock);
	loaded = gt_table_get(&loaded_by_handle, known);
	/* Copies of its own belong to one handle. */
	if (loaded && loaded->copies)
		loaded = NULL;
	if (loaded)
		loaded->module->users++;
	pthread_mutex_unlock(&lock);
	if (loaded)
		gt_module_loaded(handle, loaded->module, false, NULL);
}

/* The driver gives a handle to somebody else when it is free. */
static void forget_functions(struct loaded *loaded)
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

static void forget(struct loaded *loaded)
{
	if (gt_table_get(&loaded_by_handle, loaded->handle) == loaded)
		gt_table_set(&loaded_by_handle, loaded->handle, NULL);
	replaced -= loaded->module->replacement != NULL;
	forget_functions(loaded);
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

/* Those of images that were loaded unseen. */
static struct loaded unseen;

static void forget_unseen(void)
{
	forget_functions(&unseen);
	gt_unseen_forget();
}

/* Which of the unseen ones went is not known, and their handles may come back for others: they are met again. */
void gt_module_unloaded(void *handle)
{
	struct loaded *loaded;

	pthread_mutex_lock(&lock);
	loaded = gt_table_get(&loaded_by_handle, handle);
	if (loaded)
		forget(loaded);
	else
		forget_unseen();
	pthread_mutex_unlock(&lock);
}

void gt_modules_context_gone(CUcontext context)
{
	struct loaded *next;

	pthread_mutex_lock(&lock);
	for (struct loaded *loaded = all_loaded; loaded; loaded = next) {
		next = loaded->next;
		if (!loaded->library && loaded->context == context)
			forget(loaded);
	}
	forget_unseen();
	pthread_mutex_unlock(&lock);
}

static bool remember_function(struct loaded *loaded, void *function)
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

static void add_function(void *function, struct loaded *loaded, struct gt_kernel *kernel)
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

static void add_copy(void *function, void *copy, struct loaded *loaded, struct gt_kernel *kernel)
{
	add_function(copy, loaded, kernel);
	if (!gt_table_set(&function_by_copy, copy, function))
		gt_table_set(&copy_by_function, function, copy);
}

static void *get_function(void *handle, const char *name, enum gt_handle kind)
{
	CUfunction function;
	CUkernel kernel;

	if (kind == GT_HANDLE_LIBRARY)
		return gt_cu.cuLibraryGetKernel(&kernel, handle, name) ? NULL : (void *)kernel;
	return gt_cu.cuModuleGetFunction(&function, handle, name) ? NULL : (void *)function;
}

static struct gt_kernel *find_kernel(const struct gt_module *module, const char *name)
{
	struct gt_kernel *kernel = gt_module_find_kernel(module, name);

	for (unsigned i = 0; i < module->part_count && !kernel; i++)
		kernel = find_kernel(module->parts[i], name);
	return kernel;
}

static const char *unlisted_in(const struct gt_module *module)
{
	const char *why = module->unlisted;

	for (unsigned i = 0; i < module->part_count && !why; i++)
		why = module->parts[i]->unlisted;
	return why;
}

/* A kernel is made of it when it is launched. */
static void add_unlisted(void *function, struct loaded *loaded)
{
	if (gt_table_get(&loaded_by_function, function) != loaded)
		add_function(function, loaded, NULL);
}

/* In a library of ours, set like the function that it stands in for. */
static void *get_apart(CUlibrary library, void *function, const char *name, enum gt_handle kind)
{
	CUkernel copy;
	CUfunction copied;

	if (gt_cu.cuLibraryGetKernel(&copy, library, name))
		return NULL;
	if (kind == GT_HANDLE_LIBRARY) {
		gt_ask_same_for_kernels(function, copy);
		return copy;
	}
	if (gt_cu.cuKernelGetFunction(&copied, copy))
		return NULL;
	gt_ask_same_for_functions(function, copied);
	return copied;
}

void gt_function_named(void *function, void *handle, const char *name, enum gt_handle kind)
{
	struct loaded *loaded;
	struct gt_kernel *kernel;
	void *copy = NULL;

	pthread_mutex_lock(&lock);
	loaded = gt_table_get(&loaded_by_handle, handle);
	kernel = loaded ? find_kernel(loaded->module, name) : NULL;
	if (!kernel && loaded && unlisted_in(loaded->module))
		add_unlisted(function, loaded);
	if (kernel) {
		add_function(function, loaded, kernel);
		if (kernel->copy)
			copy = loaded->copies ? get_apart(loaded->copies, function, kernel->copy, kind) :
						get_function(handle, kernel->copy, kind);
		if (copy)
			add_copy(function, copy, loaded, kernel);
	}
	pthread_mutex_unlock(&lock);
}

/* known: a CUkernel; function: what it is in the current context. */
void gt_function_alias(void *function, void *known)
{
	struct loaded *loaded;
	struct gt_kernel *kernel;
	CUfunction copy;

	pthread_mutex_lock(&lock);
	kernel = gt_table_get(&kernel_by_function, known);
	loaded = gt_table_get(&loaded_by_function, known);
	if (loaded && !kernel)
		add_unlisted(function, loaded);
	if (kernel) {
		void *known_copy = gt_table_get(&copy_by_function, known);

		add_function(function, loaded, kernel);
		if (known_copy && !gt_cu.cuKernelGetFunction(&copy, known_copy))
			add_copy(function, copy, loaded, kernel);
	}
	pthread_mutex_unlock(&lock);
}

/* Its kernels; those of a library's parts have the same names. */
static const struct gt_module *named_in(const struct loaded *loaded)
{
	return loaded->module->part_count ? loaded->module->parts[0] : loaded->module;
}

static bool has_copies_beside(const struct loaded *loaded)
{
	return loaded && !loaded->copies;
}

/* The kernel beside which there is a copy with this name; NULL: none. */
static const struct gt_kernel *find_copied(const struct loaded *loaded, const char *name)
{
	for (unsigned i = 0; has_copies_beside(loaded) && i < named_in(loaded)->kernel_count; i++) {
		const struct gt_kernel *kernel = &named_in(loaded)->kernels[i];

		if (kernel->copy && !strcmp(kernel->copy, name))
			return kernel;
	}
	return NULL;
}

/* ---- handles that came by a way that nobody watches, as the vendor's libraries have them ---- */

static void learn(void *function, void *handle, const char *name, enum gt_handle kind)
{
	const struct gt_kernel *kernel;
	void *original;

	pthread_mutex_lock(&lock);
	kernel = find_copied(gt_table_get(&loaded_by_handle, handle), name);
	pthread_mutex_unlock(&lock);
	if (!kernel) {
		gt_function_named(function, handle, name, kind);
		return;
	}
	/* It is a copy, which is got to know with the program's own. */
	original = get_function(handle, kernel->name, kind);
	if (original)
		gt_function_named(original, handle, kernel->name, kind);
}

/* The library of ours that this is the module of; NULL: none.  Asking may load it, so only those with such a kernel. */
static void *find_library(CUmodule module, const char *name)
{
	void *found = NULL;
	CUmodule its;

	pthread_mutex_lock(&lock);
	for (struct loaded *loaded = all_loaded; loaded && !found; loaded = loaded->next) {
		if (loaded->library && has_copies_beside(loaded) && loaded->module->replacement && gt_cu.cuLibraryGetModule &&
		    (find_kernel(loaded->module, name) || find_copied(loaded, name)) &&
		    !gt_cu.cuLibraryGetModule(&its, loaded->handle) && its == module)
			found = loaded->handle;
	}
	pthread_mutex_unlock(&lock);
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
	if (!gt_table_get(&loaded_by_handle, module)) {
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

static struct gt_kernel *known_or_asked(void *handle)
{
	struct gt_kernel *kernel = gt_table_get(&kernel_by_function, handle);

	if (kernel || !handle)
		return kernel;
	if (atomic_load_explicit(&replaced, memory_order_relaxed)) {
		ask_for_module(handle);
		if (!gt_function_is_known(handle))
			ask_for_library(handle);
	}
	if (gt_late_wanted() && !gt_function_is_known(handle))
		gt_late_learn(handle);
	return gt_table_get(&kernel_by_function, handle);
}

bool gt_function_is_known(const void *function)
{
	return gt_table_get(&kernel_by_function, function);
}

bool gt_module_is_known(void *handle)
{
	return gt_table_get(&loaded_by_handle, handle);
}

/* Whose copies are in this library, or in this module that the driver made of it? */
static struct loaded *find_owner(void *handle, enum gt_handle kind)
{
	CUmodule its;

	for (struct loaded *loaded = all_loaded; loaded; loaded = loaded->next) {
		if (!loaded->copies)
			continue;
		if (kind == GT_HANDLE_LIBRARY ? loaded->copies == handle :
		    !gt_cu.cuLibraryGetModule(&its, loaded->copies) && its == handle)
			return loaded;
	}
	return NULL;
}

/* The program's kernel of this name, as a function in the current context. */
static void *get_own(const struct loaded *loaded, const char *name)
{
	void *kernel = get_function(loaded->handle, name, loaded->library ? GT_HANDLE_LIBRARY : GT_HANDLE_MODULE);
	CUfunction function;

	if (!kernel || !loaded->library)
		return kernel;
	return gt_cu.cuKernelGetFunction(&function, kernel) ? NULL : (void *)function;
}

bool gt_function_is_copy(void *function, void *handle, const char *name, enum gt_handle kind)
{
	struct loaded *loaded;
	struct gt_kernel *kernel = NULL;
	void *own;

	pthread_mutex_lock(&lock);
	loaded = find_owner(handle, kind);
	for (unsigned i = 0; loaded && i < loaded->module->kernel_count; i++) {
		if (loaded->module->kernels[i].copy && !strcmp(loaded->module->kernels[i].copy, name))
			kernel = &loaded->module->kernels[i];
	}
	own = kernel && kind == GT_HANDLE_MODULE ? get_own(loaded, kernel->name) : NULL;
	if (own) {
		add_function(own, loaded, kernel);
		add_copy(own, function, loaded, kernel);
	}
	pthread_mutex_unlock(&lock);
	return loaded;
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

/* Under the lock. */
static CUlibrary own_code(struct loaded *loaded, struct gt_kernel *kernel, char *why, size_t why_size)
{
	if (kernel->own == GT_OWN_UNKNOWN)
		kernel->own = gt_own_fits(loaded->module, kernel->name, why, why_size) ? GT_OWN_FITS : GT_OWN_DOES_NOT;
	if (kernel->own == GT_OWN_DOES_NOT)
		return NULL;
	if (!loaded->own)
		loaded->own = gt_own_load(loaded->module, why, why_size);
	return loaded->own;
}

void *gt_function_own(void *function, char *why, size_t why_size)
{
	struct gt_kernel *kernel = gt_function_find(function);
	enum gt_handle kind = GT_HANDLE_MODULE;
	struct loaded *loaded;
	CUlibrary library;
	void *own = NULL;

	snprintf(why, why_size, "the driver does not tell what it belongs to");
	if (gt_cu.cuKernelGetLibrary && !gt_cu.cuKernelGetLibrary(&library, function))
		kind = GT_HANDLE_LIBRARY;
	pthread_mutex_lock(&lock);
	loaded = gt_table_get(&loaded_by_function, function);
	if (loaded && loaded != &unseen && kernel && own_code(loaded, kernel, why, why_size))
		own = get_apart(loaded->own, function, kernel->name, kind);
	pthread_mutex_unlock(&lock);
	return own;
}

unsigned gt_module_copies(void *handle)
{
	const struct loaded *loaded;
	unsigned count = 0;

	pthread_mutex_lock(&lock);
	loaded = gt_table_get(&loaded_by_handle, handle);
	for (unsigned i = 0; has_copies_beside(loaded) && i < named_in(loaded)->kernel_count; i++)
		count += named_in(loaded)->kernels[i].copy != NULL;
	pthread_mutex_unlock(&lock);
	return count;
}

bool gt_module_has_copy(void *handle, const char *name)
{
	bool found;

	pthread_mutex_lock(&lock);
	found = find_copied(gt_table_get(&loaded_by_handle, handle), name);
	pthread_mutex_unlock(&lock);
	return found;
}

struct gt_kernel *gt_function_discover(void *function, const char *why)
{
	struct loaded *loaded;
	struct gt_kernel *kernel;

	pthread_mutex_lock(&lock);
	kernel = gt_table_get(&kernel_by_function, function);
	if (!kernel) {
		loaded = gt_table_get(&loaded_by_function, function);
		if (loaded && loaded != &unseen && unlisted_in(loaded->module))
			why = unlisted_in(loaded->module);
		kernel = gt_unseen_kernel(function, why);
		if (kernel)
			add_function(function, loaded ? loaded : &unseen, kernel);
	}
	pthread_mutex_unlock(&lock);
	return kernel;
}

/* ---- controllers come and go ---- */

void gt_modules_announce(void)
{
	pthread_mutex_lock(&lock);
	gt_cache_tell();
	gt_unseen_tell();
	pthread_mutex_unlock(&lock);
}

enum gt_leaving gt_modules_leave(void)
{
	enum gt_leaving leaving = GT_LEAVE_NOTHING;
	struct loaded *loaded, *next;

	pthread_mutex_lock(&lock);
	for (loaded = all_loaded; loaded; loaded = loaded->next) {
		if (gt_module_is_changed(loaded->module))
			leaving = GT_LEAVE_CHANGED;
	}
	for (loaded = all_loaded; loaded && leaving != GT_LEAVE_CHANGED; loaded = next) {
		next = loaded->next;
		if (loaded->module->replacement && has_copies_beside(loaded))
			leaving = GT_LEAVE_COPIES;
		else
			forget(loaded);
	}
	if (leaving != GT_LEAVE_CHANGED)
		forget_unseen();
	pthread_mutex_unlock(&lock);
	return leaving;
}
