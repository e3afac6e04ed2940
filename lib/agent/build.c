/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build-parts.h"
#include "lib/agent/compile.h"
#include "lib/agent/image/image.h"
#include "lib/agent/instrument/instrument.h"

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
	}
	record->name_size = (uint32_t)name_size;
	record->reason_size = (uint32_t)why_size;
	memcpy((char *)(record + 1), kernel->name, name_size - 1);
	if (why_size)
		memcpy((char *)(record + 1) + name_size, why, why_size);
	gt_emit(GT_REC_FUNCTION, record, sizeof(*record) + name_size + why_size);
	free(record);
}

void gt_report_kernel(struct gt_kernel *kernel, const struct gt_report *report)
{
	kernel->told = (struct gt_rec_function){
		.kernel = kernel->id,
		.module = kernel->module ? kernel->module->id : 0,
		.route = kernel->probed ? report->route : GT_ROUTE_NONE,
		.reason = report->reason,
		.arch = report->arch,
		.links = report->links,
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

void gt_build_free(struct gt_module *module)
{
	for (unsigned i = 0; i < module->kernel_count; i++) {
		free(module->kernels[i].name);
		free(module->kernels[i].why);
	}
	free(module->kernels);
	free(module->replacement);
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

/* ---- PTX ---- */

/* The probes that each kernel of a PTX module gets. */
struct plans {
	struct gt_ptx_plan *plans;
	uint32_t *links;	/* the same as bit masks of links */
	unsigned *indices;	/* GT_PROBES_MAX for each kernel */
	unsigned wanted;	/* kernels with at least one probe */
};

static bool plans_make(struct plans *plans, const struct gt_ptx *ptx)
{
	unsigned count = gt_ptx_kernel_count(ptx);

	plans->wanted = 0;
	plans->plans = calloc(count + 1, sizeof(*plans->plans));
	plans->links = calloc(count + 1, sizeof(*plans->links));
	plans->indices = calloc((size_t)(count + 1) * GT_PROBES_MAX, sizeof(*plans->indices));
	if (!plans->plans || !plans->links || !plans->indices)
		return false;
	for (unsigned k = 0; k < count; k++) {
		unsigned *indices = plans->indices + (size_t)k * GT_PROBES_MAX;
		struct gt_ptx_plan *plan = &plans->plans[k];

		plan->probes = indices;
		plan->kernel_id = next_kernel + k;	/* as gt_module_add_kernel() will number them */
		for (unsigned i = 0; i < gt_session.probe_count; i++) {
			if (!gt_kernel_matches(gt_session.probes[i].kernel, gt_ptx_kernel(ptx, k)->name))
				continue;
			indices[plan->probe_count++] = i;
			plans->links[k] |= 1u << gt_session.probes[i].link;
		}
		plans->wanted += plan->probe_count > 0;
	}
	return true;
}

static void plans_free(struct plans *plans)
{
	free(plans->plans);
	free(plans->links);
	free(plans->indices);
}

/* NULL with the reason when it cannot be done. */
static char *instrument(const struct gt_ptx *ptx, const struct gt_ptx_plan *plans,
			enum gt_reason *ret_reason, char *why, size_t why_size)
{
	struct gt_ptx_error error = { 0 };
	size_t length;
	char *text;
	int r = gt_ptx_instrument(ptx, gt_session.text, gt_session.probes, gt_session.probe_count,
				  plans, &text, &length, &error);

	if (!r)
		return text;
	*ret_reason = r == -E2BIG ? GT_REASON_PARAMS : GT_REASON_PARSE;
	snprintf(why, why_size, "%s", error.text[0] ? error.text : "out of memory");
	return NULL;
}

/* What the compiled code says of the kernels, by their index in the PTX; no name: nothing. */
struct compiled_kernels {
	const struct gt_ptx *ptx;
	struct gt_cubin_kernel *list;
};

static int take_kernel(void *data, const struct gt_cubin_kernel *kernel)
{
	struct compiled_kernels *compiled = data;

	for (unsigned k = 0; k < gt_ptx_kernel_count(compiled->ptx); k++) {
		if (strcmp(kernel->name, gt_ptx_kernel(compiled->ptx, k)->name))
			continue;
		compiled->list[k] = *kernel;
		break;
	}
	return 0;
}

/* malloc'd; NULL: out of memory, or nothing was compiled. */
static struct gt_cubin_kernel *compiled_kernels(const struct gt_ptx *ptx, const struct gt_compiled *compiled)
{
	struct compiled_kernels kernels = { .ptx = ptx };
	const char *ignored;

	if (!compiled)
		return NULL;
	kernels.list = calloc(gt_ptx_kernel_count(ptx) + 1, sizeof(*kernels.list));
	if (kernels.list)
		gt_cubin_kernels(compiled->code, compiled->size, take_kernel, &kernels, &ignored);
	return kernels.list;
}

static void report_ptx_kernels(struct gt_module *module, const struct gt_ptx *ptx,
			       const struct plans *plans, const struct gt_compiled *compiled,
			       enum gt_reason reason, const char *why)
{
	struct gt_cubin_kernel *codes = compiled_kernels(ptx, compiled);

	for (unsigned k = 0; k < gt_ptx_kernel_count(ptx); k++) {
		const struct gt_ptx_kernel *info = gt_ptx_kernel(ptx, k);
		bool wanted = plans->plans[k].probe_count > 0;
		struct gt_kernel *kernel = gt_module_add_kernel(module, info->name);
		struct gt_report report = { .route = GT_ROUTE_PTX, .arch = gt_ptx_target(ptx) };

		if (!kernel)
			break;
		kernel->param_count = info->param_count;
		kernel->hidden_offset = info->hidden_offset;
		kernel->probed = wanted && module->replacement;
		if (codes && codes[k].name)
			report.code = &codes[k];
		if (kernel->probed) {
			report.links = plans->links[k];
		} else if (wanted) {
			report.reason = reason;
			report.text = why;
		} else {
			report.reason = GT_REASON_NOT_ASKED;
			report.text = "no attached program asks for it";
		}
		gt_report_kernel(kernel, &report);
	}
	free(codes);
}

static void compile_replacement(struct gt_module *module, const char *text,
				struct gt_compiled *compiled, enum gt_reason *ret_reason,
				char *why, size_t why_size)
{
	if (!gt_compile(text, compiled, why, why_size)) {
		*ret_reason = GT_REASON_COMPILE;
		return;
	}
	module->replacement = compiled->code;
}

/*
 * complete: only if every kernel that programs are meant for gets them, since
 * there is another way; else NULL, and nothing has been reported.
 */
static struct gt_module *build_from_ptx(struct gt_source *source, bool complete)
{
	const char *source_text = gt_source_ptx(source);
	struct gt_compiled compiled = { 0 };
	struct gt_ptx_error error = { 0 };
	struct plans plans = { 0 };
	struct gt_module *module;
	struct gt_ptx *ptx;
	enum gt_reason reason = GT_REASON_NONE;
	char why[512] = "", *text = NULL;

	if (!source_text || gt_ptx_parse(source_text, source->ptx_size, &ptx, &error)) {
		if (complete)
			return NULL;
		gt_note(4, "PTX of %zu bytes left as it is: %s", source->ptx_size,
			source_text ? error.text : source->damage);
		return gt_module_new(source, 0);
	}
	module = gt_module_new(source, gt_ptx_kernel_count(ptx));
	if (module && plans_make(&plans, ptx)) {
		if (plans.wanted)
			text = instrument(ptx, plans.plans, &reason, why, sizeof(why));
		if (text)
			compile_replacement(module, text, &compiled, &reason, why, sizeof(why));
		if (complete && !module->replacement) {
			gt_build_free(module);
			module = NULL;
		} else {
			report_ptx_kernels(module, ptx, &plans, compiled.code ? &compiled : NULL, reason, why);
			gt_module_sort(module);
		}
	}
	free(text);
	plans_free(&plans);
	gt_ptx_free(ptx);
	return module;
}

/*
 * Machine code first.  When some kernel could not take its programs that way, or
 * has programs at other points than entry and exit, the PTX may still do.
 */
static struct gt_module *build_from_cubin(struct gt_source *source)
{
	struct gt_graft_build *graft;
	struct gt_module *module = NULL;

	graft = gt_graft_build_new(source, !(gt_session.flags & GT_CONFIG_NO_GRAFT));
	if (!graft)
		return NULL;
	if (source->ptx_member && !(gt_session.flags & GT_CONFIG_ONLY_GRAFT) &&
	    gt_graft_build_complete(graft) < gt_graft_build_wanted(graft))
		module = build_from_ptx(source, gt_graft_build_complete(graft) > 0);
	if (!module)
		module = gt_graft_build_finish(graft);
	gt_graft_build_free(graft);
	return module;
}

struct gt_module *gt_build(struct gt_source *source)
{
	bool by_ptx = source->ptx_member && gt_session.flags & GT_CONFIG_NO_GRAFT;

	if (!by_ptx && gt_source_cubin(source))
		return build_from_cubin(source);
	if (gt_session.flags & GT_CONFIG_ONLY_GRAFT) {
		gt_note(4, "an image without machine code for this GPU is left as it is");
		return gt_module_new(source, 0);
	}
	return build_from_ptx(source, false);
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
