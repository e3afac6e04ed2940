/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/build/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/parts.h"
#include "lib/agent/image/image.h"

static uint32_t next_module = 1, next_kernel = 1;	/* under the module lock */

bool gt_kernel_is_probed(const struct gt_kernel *kernel)
{
	return kernel && kernel->probed && kernel->module->config == gt_session.config_hash;
}

void gt_kernel_tell(const struct gt_kernel *kernel)
{
	static const char earlier[] = "it carries programs of an earlier controller, and cannot be changed while it is loaded";
	bool stale = kernel->probed && !gt_kernel_is_probed(kernel);
	const char *why = stale ? earlier : kernel->why;
	size_t name_size = strlen(kernel->name) + 1;
	size_t why_size = why ? strlen(why) + 1 : 0;
	struct gt_rec_function *record;

	if (name_size > 32768)
		name_size = 32768;
	record = calloc(1, sizeof(*record) + name_size + why_size);
	if (!record)
		return;
	*record = kernel->told;
	if (stale) {
		record->route = GT_ROUTE_NONE;
		record->reason = GT_REASON_BEFORE;
		record->links = 0;
		record->places = 0;
	}
	record->name_size = (uint32_t)name_size;
	record->reason_size = (uint32_t)why_size;
	memcpy((char *)(record + 1), kernel->name, name_size - 1);
	if (why_size)
		memcpy((char *)(record + 1) + name_size, why, why_size);
	gt_emit(GT_REC_FUNCTION, record, sizeof(*record) + name_size + why_size);
	free(record);
}

/* By the controller's numbers, what is by index. */
static uint64_t numbers_of(uint64_t programs)
{
	uint64_t numbers = 0;

	for (unsigned i = 0; i < gt_session.probe_count; i++)
		numbers |= (programs >> i & 1) << gt_session.probes[i].number;
	return numbers;
}

void gt_report_kernel(struct gt_kernel *kernel, const struct gt_report *report)
{
	kernel->told = (struct gt_rec_function){
		.kernel = kernel->id,
		.module = kernel->module ? kernel->module->id : report->module,
		.route = kernel->probed ? report->route : GT_ROUTE_NONE,
		.reason = report->reason,
		.arch = report->arch,
		.links = report->links,
		.places = numbers_of(report->places),
	};
	if (report->code) {
		kernel->told.registers = report->code->registers;
		kernel->told.static_shared = report->code->static_shared;
		kernel->told.local_bytes = report->code->local_bytes;
	}
	free(kernel->why);
	kernel->why = report->text ? strdup(report->text) : NULL;
	gt_kernel_tell(kernel);
}

static int compare_kernels(const void *a, const void *b)
{
	return strcmp(((const struct gt_kernel *)a)->name, ((const struct gt_kernel *)b)->name);
}

void gt_module_sort(struct gt_module *module)
{
	qsort(module->kernels, module->kernel_count, sizeof(*module->kernels), compare_kernels);
}

static int compare_name(const void *key, const void *element)
{
	return strcmp(key, ((const struct gt_kernel *)element)->name);
}

struct gt_kernel *gt_module_find_kernel(const struct gt_module *module, const char *name)
{
	if (!module->kernel_count)
		return NULL;
	return bsearch(name, module->kernels, module->kernel_count, sizeof(*module->kernels), compare_name);
}

uint32_t gt_next_kernel_id(void)
{
	return next_kernel;
}

uint32_t gt_take_kernel_id(void)
{
	return next_kernel++;
}

struct gt_module *gt_module_new(const struct gt_source *source, unsigned room)
{
	struct gt_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	memcpy(module->hash, source->hash, sizeof(module->hash));
	module->arch = source->arch;
	module->config = gt_session.config_hash;
	module->id = next_module++;
	module->kernels = calloc(room + 1, sizeof(*module->kernels));
	if (!module->kernels) {
		free(module);
		return NULL;
	}
	return module;
}

void gt_module_leave_as_it_is(struct gt_module *module, const char *format, ...)
{
	char why[512];
	va_list args;

	va_start(args, format);
	vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	gt_note(4, "%s", why);
	module->unlisted = strdup(why);
}

void gt_build_free(struct gt_module *module)
{
	for (unsigned i = 0; i < module->kernel_count; i++) {
		free(module->kernels[i].name);
		free(module->kernels[i].copy);
		free(module->kernels[i].why);
	}
	free(module->kernels);
	free(module->replacement);
	free(module->own);
	free(module->unlisted);
	free(module);
}

struct gt_kernel *gt_module_add_kernel(struct gt_module *module, const char *name)
{
	struct gt_kernel *kernel = &module->kernels[module->kernel_count];

	kernel->name = strdup(name);
	if (!kernel->name)
		return NULL;
	kernel->module = module;
	kernel->id = gt_take_kernel_id();
	module->kernel_count++;
	return kernel;
}

/* Some kernel could not take its programs, or some of them, by machine code; where others could, long PTX is not worth it. */
static bool ptx_may_do_more(const struct gt_source *source, const struct gt_graft_build *graft)
{
	unsigned complete = gt_graft_build_complete(graft);

	return source->ptx_member && !(gt_session.flags & GT_CONFIG_ONLY_GRAFT) && complete < gt_graft_build_wanted(graft) &&
	       !(complete && gt_source_has_long_ptx(source));
}

/*
 * Machine code first.  When some kernel could not take its programs that way, or has programs at other points than
 * entry and exit, the PTX may still do; and if that is of no use at all, machine code once more, with more of them.
 */
static struct gt_module *build_from_cubin(struct gt_source *source)
{
	bool programs = !(gt_session.flags & GT_CONFIG_NO_GRAFT);
	struct gt_graft_build *graft = gt_graft_build_new(source, programs);
	struct gt_module *module = NULL;

	if (!graft)
		return NULL;
	if (ptx_may_do_more(source, graft)) {
		module = gt_build_from_ptx(source, gt_graft_build_complete(graft) ? GT_PTX_ALL : GT_PTX_SOME);
		if (!module && !gt_source_has_ptx(source)) {
			gt_graft_build_free(graft);
			graft = gt_graft_build_new(source, programs);
		}
	}
	if (!module && graft)
		module = gt_graft_build_finish(graft);
	gt_graft_build_free(graft);
	return module;
}

static struct gt_module *build_nothing(const struct gt_source *source)
{
	struct gt_module *module = gt_module_new(source, 0);

	if (module)
		gt_module_leave_as_it_is(module, "an image without machine code for this GPU is left as it is");
	return module;
}

static struct gt_module *build_any(struct gt_source *source)
{
	bool by_ptx = source->ptx_member && gt_session.flags & GT_CONFIG_NO_GRAFT;

	if (!by_ptx && gt_source_cubin(source))
		return build_from_cubin(source);
	if (gt_session.flags & GT_CONFIG_ONLY_GRAFT)
		return build_nothing(source);
	return gt_build_from_ptx(source, GT_PTX_NONE);
}

bool gt_module_is_changed(const struct gt_module *module)
{
	for (unsigned i = 0; i < module->kernel_count; i++) {
		if (module->kernels[i].probed && !module->kernels[i].copy)
			return true;
	}
	for (unsigned i = 0; i < module->part_count; i++) {
		if (gt_module_is_changed(module->parts[i]))
			return true;
	}
	return false;
}

struct gt_module *gt_build(struct gt_source *source)
{
	struct gt_module *module = build_any(source);
	struct gt_fatbin_part members[2] = { { 0 } };
	size_t size;

	if (module && gt_module_is_changed(module))
		module->own = gt_fatbin_write(members, gt_source_members(source, members), &size);
	return module;
}

void gt_build_refused(struct gt_module *module, CUresult why)
{
	struct gt_report report = { .reason = GT_REASON_COMPILE, .arch = module->arch };
	char text[128];

	if (!module->replacement)
		return;
	snprintf(text, sizeof(text), "the driver would not load the code with programs in it (CUresult %d)",
		 (int)why);
	report.text = text;
	free(module->replacement);
	module->replacement = NULL;
	for (unsigned i = 0; i < module->kernel_count; i++) {
		if (!module->kernels[i].probed)
			continue;
		module->kernels[i].probed = false;
		gt_report_kernel(&module->kernels[i], &report);
	}
}
