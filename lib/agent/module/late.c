/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/module/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/build.h"
#include "lib/agent/build/parts.h"
#include "lib/agent/grow.h"
#include "lib/agent/instrument/instrument.h"
#include "lib/agent/lock.h"
#include "lib/agent/module/ask.h"
#include "lib/agent/module/embedded.h"
#include "lib/agent/module/module.h"

#define WHY 192

/* One at a time: what two threads launch first at the same time is loaded once. */
static GT_LOCK(lock);

bool gt_late_wanted(void)
{
	return atomic_load_explicit(&gt_active, memory_order_relaxed) && gt_session.flags & GT_CONFIG_COPIES &&
	       gt_session.probe_count;
}

void gt_late_prepare(void)
{
	gt_lock(&lock);
	if (gt_session.flags & GT_CONFIG_COPIES && gt_session.probe_count)
		gt_embedded_find();
	gt_unlock(&lock);
}

void gt_late_forget(void)
{
	gt_lock(&lock);
	gt_embedded_forget();
	gt_unlock(&lock);
}

/* ---- all kernels of a module, by which it can be told from others ---- */

struct names {
	char **all;
	size_t count, room;
	bool failed;
};

static void add_name(struct names *names, const char *name)
{
	char **all = gt_room_for_one_more(names->all, names->count, &names->room, sizeof(*all));
	char *copy = all && name ? strdup(name) : NULL;

	if (all)
		names->all = all;
	if (copy)
		names->all[names->count++] = copy;
	names->failed |= !copy;
}

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->all[i]);
	free(names->all);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool are_same(struct names *a, struct names *b)
{
	bool same = a->count == b->count && !a->failed && !b->failed;

	if (!same || !a->count)
		return same;
	qsort(a->all, a->count, sizeof(*a->all), compare_strings);
	qsort(b->all, b->count, sizeof(*b->all), compare_strings);
	for (size_t i = 0; same && i < a->count; i++)
		same = !strcmp(a->all[i], b->all[i]);
	return same;
}

/* False: this driver does not tell. */
static bool ask_names(void *handle, enum gt_handle kind, struct names *names)
{
	const struct gt_lister driver = gt_ask_lister(kind);
	void **functions;
	unsigned count;
	bool told;

	if (!driver.count || !driver.list || driver.count(&count, handle))
		return false;
	functions = calloc(count + (size_t)1, sizeof(*functions));
	told = functions && !driver.list(functions, count, handle);
	for (unsigned i = 0; told && i < count; i++)
		add_name(names, gt_ask_name(functions[i]));
	free(functions);
	return told;
}

/* ---- is this the image? ---- */

/* What the program launched, as the driver tells it. */
struct wanted {
	const char *name;
	void *function;
	unsigned arch;
	bool listed;		/* names are all of its module's */
	struct names names;
	char differs[96];	/* from the image that was looked at last: in what */
};

/* What an image says of it. */
struct found {
	struct wanted *wanted;
	struct names names;
	bool has_code, has_text;
	struct gt_cubin_kernel code;	/* has_code */
	size_t params, end;		/* has_text: how many parameters, where the last one ends */
};

static int take_code(void *data, const struct gt_cubin_kernel *kernel)
{
	struct found *found = data;

	add_name(&found->names, kernel->name);
	if (!strcmp(kernel->name, found->wanted->name)) {
		found->code = *kernel;
		found->has_code = true;
	}
	return 0;
}

static void take_text(struct found *found, const char *text, size_t size)
{
	struct gt_ptx_error error;
	struct gt_ptx *ptx;

	if (gt_ptx_parse(text, size, &ptx, &error))
		return;
	for (unsigned i = 0; i < gt_ptx_kernel_count(ptx); i++) {
		const struct gt_ptx_kernel *kernel = gt_ptx_kernel(ptx, i);

		add_name(&found->names, kernel->name);
		if (strcmp(kernel->name, found->wanted->name))
			continue;
		found->has_text = true;
		found->params = kernel->param_count;
		found->end = kernel->param_bytes;
	}
	gt_ptx_free(ptx);
}

static bool is_same(struct wanted *wanted, const char *what, size_t told, size_t has)
{
	if (told != has)
		snprintf(wanted->differs, sizeof(wanted->differs), "%s: %zu, in the image %zu", what, told, has);
	return told == has;
}

static bool is_value(struct wanted *wanted, const char *what, CUfunction_attribute which, unsigned value)
{
	int told;

	return !gt_ask_attribute(wanted->function, which, &told) || is_same(wanted, what, (unsigned)told, value);
}

static bool has_local(struct wanted *wanted, unsigned bytes)
{
	int told;

	/* The driver may need some for itself. */
	return !gt_ask_attribute(wanted->function, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &told) ||
	       (unsigned)told >= bytes || is_same(wanted, "bytes of local memory", (unsigned)told, bytes);
}

/* Sizes are rounded up in some places. */
static size_t words(size_t bytes)
{
	return (bytes + 3) / 4;
}

/* Whatever the driver tells must fit.  What it compiled itself, from text, has registers that the text does not tell. */
static bool fits(struct wanted *wanted, const struct found *found)
{
	static const char size[] = "words of parameters";
	size_t params, end;
	bool told = gt_ask_params(wanted->function, &params, &end);

	if (!found->has_code)
		return !told || (is_same(wanted, "parameters", params, found->params) &&
				 is_same(wanted, size, words(end), words(found->end)));
	return (!told || is_same(wanted, size, words(end), words(found->code.param_bytes))) &&
	       is_value(wanted, "registers", CU_FUNC_ATTRIBUTE_NUM_REGS, found->code.registers) &&
	       is_value(wanted, "bytes of shared memory", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, found->code.static_shared) &&
	       is_value(wanted, "architecture", CU_FUNC_ATTRIBUTE_BINARY_VERSION, found->code.arch) &&
	       has_local(wanted, found->code.local_bytes);
}

static bool is_module(struct wanted *wanted, struct found *found)
{
	if (!wanted->listed || are_same(&wanted->names, &found->names))
		return true;
	if (is_same(wanted, "kernels in the module", wanted->names.count, found->names.count))
		snprintf(wanted->differs, sizeof(wanted->differs), "names of the kernels in the module");
	return false;
}

static bool is_it(struct wanted *wanted, struct gt_source *source)
{
	struct found found = { .wanted = wanted };
	const char *why;
	bool it;

	/* As the driver: text when there is no machine code. */
	if (gt_source_cubin(source))
		gt_cubin_kernels(source->cubin, source->cubin_size, take_code, &found, &why);
	else if (gt_source_ptx(source))
		take_text(&found, source->ptx, source->ptx_size);
	it = (found.has_code || found.has_text) && is_module(wanted, &found) && fits(wanted, &found);
	free_names(&found.names);
	return it;
}

/* An image, opened. */
struct image {
	void *bytes;
	struct gt_source source;
};

static void close_image(struct image *image)
{
	if (image->bytes)
		gt_source_close(&image->source);
	free(image->bytes);
	image->bytes = NULL;
}

static bool open_image(uint64_t address, struct wanted *wanted, struct image *image)
{
	image->bytes = gt_embedded_copy(address, wanted->arch);
	if (!image->bytes)
		return false;
	if (gt_source_open(image->bytes, wanted->arch, &image->source)) {
		if (is_it(wanted, &image->source))
			return true;
		gt_source_close(&image->source);
	}
	free(image->bytes);
	image->bytes = NULL;
	return false;
}

static bool are_alike(const struct image *a, const struct image *b)
{
	return !memcmp(a->source.hash, b->source.hash, sizeof(a->source.hash));
}

/* Of all images with such a kernel the only one that it can be, or several with the same content. */
static bool find_image(struct wanted *wanted, struct image *ret_image, char why[WHY])
{
	unsigned at = 0, seen = 0;
	uint64_t address;
	struct image image;

	ret_image->bytes = NULL;
	for (; (address = gt_embedded_next(wanted->name, wanted->arch, &at)); seen++) {
		if (!open_image(address, wanted, &image))
			continue;
		if (!ret_image->bytes) {
			*ret_image = image;
			continue;
		}
		if (!are_alike(ret_image, &image)) {
			close_image(&image);
			close_image(ret_image);
			snprintf(why, WHY, "several images of the process have a kernel of this name, and the driver does not tell which it was");
			return false;
		}
		close_image(&image);
	}
	if (!ret_image->bytes && seen)
		snprintf(why, WHY, "no image of the process that has a kernel of this name is what it was loaded from (%s)",
			 wanted->differs[0] ? wanted->differs : "it cannot be read any more");
	else if (!ret_image->bytes && gt_embedded_count())
		snprintf(why, WHY, "none of the images in the process's executable and libraries has such a kernel");
	else if (!ret_image->bytes)
		snprintf(why, WHY, "no images were found in the process's executable and libraries");
	return ret_image->bytes;
}

/* ---- the copy ---- */

/* Loading is forbidden in the middle of a capture, unless relaxed. */
static CUresult load(const struct gt_module *module, CUlibrary *ret_library)
{
	if (!gt_cu.cuLibraryLoadData || !gt_cu.cuLibraryUnload || !gt_cu.cuLibraryGetKernel || !gt_cu.cuKernelGetFunction)
		return CUDA_ERROR_NOT_SUPPORTED;
	return gt_cu.cuLibraryLoadData(ret_library, module->replacement, NULL, NULL, 0, NULL, NULL, 0);
}

/* False: out of memory. */
static bool load_copies(void *handle, enum gt_handle kind, struct image *image)
{
	struct gt_module *module;
	CUlibrary copies = NULL;

	gt_source_set_apart(&image->source);
	module = gt_module_of(&image->source);
	if (!module)
		return false;
	if (module->replacement) {
		CUresult result = load(module, &copies);

		if (result) {
			copies = NULL;
			gt_module_give_up(module, result);
		}
	}
	if (gt_module_loaded(handle, module, kind == GT_HANDLE_LIBRARY, copies))
		return true;
	if (copies)
		gt_cu.cuLibraryUnload(copies);
	return false;
}

/* The library or module that the driver has it from; NULL: it does not tell. */
static void *container_of(void *function, enum gt_handle *ret_kind)
{
	CUlibrary library;
	CUmodule module;

	*ret_kind = GT_HANDLE_LIBRARY;
	if (gt_cu.cuKernelGetLibrary && !gt_cu.cuKernelGetLibrary(&library, function))
		return library;
	*ret_kind = GT_HANDLE_MODULE;
	if (gt_cu.cuFuncGetModule && !gt_cu.cuFuncGetModule(&module, function))
		return module;
	return NULL;
}

static bool identify(void *handle, enum gt_handle kind, void *function, const char *name, char why[WHY])
{
	struct wanted wanted = { .name = name, .function = function, .arch = gt_device_arch() };
	struct image image;
	bool found;

	wanted.listed = ask_names(handle, kind, &wanted.names);
	found = find_image(&wanted, &image, why);
	free_names(&wanted.names);
	if (found && !load_copies(handle, kind, &image)) {
		snprintf(why, WHY, "out of memory");
		found = false;
	}
	close_image(&image);
	return found;
}

static void learn(void *function)
{
	char why[WHY] = "the driver does not tell what it belongs to", text[WHY + 64];
	const char *name = gt_ask_name(function);
	enum gt_handle kind;
	void *handle = container_of(function, &kind);

	if (handle && name && gt_function_is_copy(function, handle, name, kind))
		return;
	if (handle && name && (gt_module_is_known(handle) || identify(handle, kind, function, name, why)))
		gt_function_named(function, handle, name, kind);
	if (gt_function_is_known(function))
		return;
	snprintf(text, sizeof(text), GT_LOADED_BEFORE ": %s", why);
	gt_function_discover(function, text);
}

void gt_late_learn(void *function)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	gt_lock(&lock);
	if (!gt_function_is_known(function)) {
		gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
		learn(function);
		gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	}
	gt_unlock(&lock);
}
