/* SPDX-License-Identifier: Apache-2.0 */
/* The attached programs in PTX: which kernels get which, and what became of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/compile.h"
#include "lib/agent/build/parts.h"
#include "lib/agent/graft/registers.h"
#include "lib/agent/instrument/instrument.h"

/* What the program calls a kernel plus this is what the copy with probes is called. */
#define COPY_SUFFIX "__gputrace"

struct ptx_kernel {
	bool wanted;			/* some program is meant for it */
	uint32_t links;			/* of these programs, as a bit mask */
	uint64_t places;		/* those of the session's programs that have one in it */
	char *copy;
	unsigned indices[GT_PROBES_MAX];
	enum gt_reason reason;		/* why it stays without them */
	char why[512];
	struct gt_cubin_kernel code, copy_code;	/* as compiled; no name: not known */
	unsigned own_registers;		/* in the program's machine code; 0: there is none */
};

struct ptx_build {
	struct gt_source *source;
	unsigned arch;
	struct gt_ptx *ptx;
	struct gt_ptx_plan *plans;
	struct ptx_kernel *kernels;
	unsigned count, wanted;
	unsigned planned;		/* of those wanted, not refused */
	struct gt_compiled compiled;
};

/* ---- plans ---- */

static bool plan_kernel(struct ptx_build *build, unsigned k)
{
	const char *name = gt_ptx_kernel(build->ptx, k)->name;
	struct ptx_kernel *kernel = &build->kernels[k];
	struct gt_ptx_plan *plan = &build->plans[k];

	plan->probes = kernel->indices;
	plan->kernel_id = gt_next_kernel_id() + k;	/* as gt_module_add_kernel() will number them */
	for (unsigned i = 0; i < gt_session.probe_count; i++) {
		if (!gt_kernel_matches(gt_session.probes[i].kernel, name))
			continue;
		kernel->indices[plan->probe_count++] = i;
		kernel->links |= 1u << gt_session.probes[i].link;
	}
	kernel->wanted = plan->probe_count;
	build->wanted += kernel->wanted;
	if (!kernel->wanted)
		return true;
	kernel->copy = malloc(strlen(name) + sizeof(COPY_SUFFIX));
	if (!kernel->copy)
		return false;
	strcpy(stpcpy(kernel->copy, name), COPY_SUFFIX);
	plan->copy = kernel->copy;
	return true;
}

static bool make_plans(struct ptx_build *build)
{
	build->count = gt_ptx_kernel_count(build->ptx);
	build->plans = calloc(build->count + 1, sizeof(*build->plans));
	build->kernels = calloc(build->count + 1, sizeof(*build->kernels));
	if (!build->plans || !build->kernels)
		return false;
	for (unsigned k = 0; k < build->count; k++) {
		if (!plan_kernel(build, k))
			return false;
	}
	build->planned = build->wanted;
	return true;
}

static void build_done(struct ptx_build *build)
{
	for (unsigned k = 0; build->kernels && k < build->count; k++)
		free(build->kernels[k].copy);
	free(build->kernels);
	free(build->plans);
	free(build->compiled.code);
	gt_ptx_free(build->ptx);
}

static void refuse(struct ptx_build *build, unsigned k, enum gt_reason reason, const char *why)
{
	struct ptx_kernel *kernel = &build->kernels[k];

	if (!build->plans[k].probe_count)
		return;
	build->plans[k].probe_count = 0;
	build->planned--;
	kernel->reason = reason;
	snprintf(kernel->why, sizeof(kernel->why), "%s", why);
}

static void refuse_all(struct ptx_build *build, enum gt_reason reason, const char *why)
{
	for (unsigned k = 0; k < build->count; k++)
		refuse(build, k, reason, why);
}

/* A copy in another module must do without the variables of the kernel's own. */
static bool refuse_bound(struct ptx_build *build)
{
	struct gt_ptx_apart *aparts = calloc(build->count + 1, sizeof(*aparts));
	bool known = aparts && !gt_ptx_apart(build->ptx, aparts);
	char why[256];

	for (unsigned k = 0; known && k < build->count; k++) {
		if (aparts[k].possible)
			continue;
		snprintf(why, sizeof(why), GT_LOADED_BEFORE ", and cannot be run as a copy: %s", aparts[k].why);
		refuse(build, k, GT_REASON_BEFORE, why);
	}
	free(aparts);
	return known;
}

/* ---- from text to code ---- */

/* A kernel at fault is left out, so that the others get theirs.  NULL: none can. */
static char *instrument(struct ptx_build *build)
{
	while (build->planned) {
		struct gt_ptx_error error = { .kernel = -1 };
		size_t length;
		char *text;
		int r = gt_ptx_instrument(build->ptx, gt_session.text, gt_session.probes, gt_session.probe_count,
					  build->plans, &text, &length, &error);
		enum gt_reason reason = r == -E2BIG ? GT_REASON_PARAMS : GT_REASON_PARSE;

		if (!r)
			return text;
		if (!error.text[0])
			refuse_all(build, GT_REASON_PARSE, "out of memory");
		else if (error.kernel >= 0 && build->plans[error.kernel].probe_count)
			refuse(build, (unsigned)error.kernel, reason, error.text);
		else
			refuse_all(build, reason, error.text);
	}
	return NULL;
}

static int take_code(void *data, const struct gt_cubin_kernel *code)
{
	struct ptx_build *build = data;

	for (unsigned k = 0; k < build->count; k++) {
		struct ptx_kernel *kernel = &build->kernels[k];

		if (!strcmp(code->name, gt_ptx_kernel(build->ptx, k)->name))
			kernel->code = *code;
		else if (kernel->copy && !strcmp(code->name, kernel->copy))
			kernel->copy_code = *code;
		else
			continue;
		break;
	}
	return 0;
}

/* The probes as a module of their own.  NULL: out of memory. */
static char *probes_alone(void)
{
	char *text = malloc(sizeof(GT_PTX_PROBES_HEADER) + strlen(gt_session.text));

	if (text)
		strcpy(stpcpy(text, GT_PTX_PROBES_HEADER), gt_session.text);
	return text;
}

/* False: `why` says why not; it is empty when all kernels have been refused before. */
static bool compile(struct ptx_build *build, char *why, size_t why_size)
{
	char *text = instrument(build), *probes = NULL;
	const char *ignored;
	bool ok = false;

	why[0] = 0;
	if (text && gt_ptx_links_probes(build->ptx)) {
		probes = probes_alone();
		if (!probes)
			snprintf(why, why_size, "out of memory");
	}
	if (text && !why[0])
		ok = gt_compile(text, probes, build->arch, &build->compiled, why, why_size);
	if (ok)
		gt_cubin_kernels(build->compiled.code, build->compiled.size, take_code, build, &ignored);
	free(probes);
	free(text);
	return ok;
}

/* Blocks of a kernel can be as large as its registers allow, unless it says so itself; 0: not known. */
static unsigned warps_wanted(const struct ptx_build *build, unsigned k)
{
	unsigned said = (gt_ptx_kernel(build->ptx, k)->max_threads + 31) / 32;
	unsigned possible = build->kernels[k].code.name ? gt_warps_for(build->kernels[k].code.registers) : 0;

	return said && said < possible ? said : possible;
}

static int take_own(void *data, const struct gt_cubin_kernel *own)
{
	struct ptx_build *build = data;

	for (unsigned k = 0; k < build->count; k++) {
		if (!strcmp(own->name, gt_ptx_kernel(build->ptx, k)->name))
			build->kernels[k].own_registers = own->registers;
	}
	return 0;
}

/* As few as the kernel has in the program's machine code, where it says how large its blocks are. */
static unsigned registers_alike(const struct ptx_build *build, unsigned k, unsigned registers)
{
	const struct ptx_kernel *kernel = &build->kernels[k];

	return kernel->code.name && gt_ptx_kernel(build->ptx, k)->max_threads ?
		       gt_registers_alike(kernel->own_registers, kernel->code.registers, registers) : 0;
}

/* For blocks as large as the kernel can have, and as many at a time; 0: as it is. */
static unsigned limit_for_copy(const struct ptx_build *build, unsigned k)
{
	const struct gt_cubin_kernel *copy = &build->kernels[k].copy_code;
	unsigned warps = warps_wanted(build, k), limit = 0, alike;

	if (!copy->name)
		return 0;
	if (warps && gt_warps_for(copy->registers) < warps)
		limit = gt_registers_for(warps);
	alike = registers_alike(build, k, copy->registers);
	return alike && (!limit || alike < limit) ? alike : limit;
}

/* Copies, and kernels compiled anew beside them, that have too many registers are made to do with fewer. */
static void fit_registers(struct ptx_build *build)
{
	struct gt_compiled before = build->compiled;
	const char *ignored;
	bool again = false;
	char why[512];

	if (gt_source_cubin(build->source))
		gt_cubin_kernels(build->source->cubin, build->source->cubin_size, take_own, build, &ignored);
	for (unsigned k = 0; k < build->count; k++) {
		struct gt_ptx_plan *plan = &build->plans[k];

		plan->max_registers = limit_for_copy(build, k);
		plan->own_max_registers = registers_alike(build, k, build->kernels[k].code.registers);
		again |= plan->max_registers || plan->own_max_registers;
	}
	if (!again)
		return;
	build->compiled = (struct gt_compiled){ 0 };
	if (compile(build, why, sizeof(why)))
		free(before.code);
	else
		build->compiled = before;
}

/* Could the kernel with programs in it be launched in every way that the program's own can? */
static bool is_launched_alike(const struct gt_cubin_kernel *own, const struct gt_cubin_kernel *probed, unsigned warps,
			      const char *text)
{
	if (!own->name)
		return true;	/* this driver's code does not say */
	if (gt_warps_for(probed->registers) < warps || probed->static_shared > own->static_shared)
		return false;
	/* Where the driver puts what such kernels meet at. */
	return !strstr(text, "%envreg") || (probed->registers + 7) / 8 <= (own->registers + 7) / 8;
}

/*
 * Some of the vendor's libraries count the kernels of a module by private ways, and
 * expect one where there was one.  A kernel that is alone takes its programs in place,
 * if it is sure to be launched like the program's own.
 */
static void put_in_place(struct ptx_build *build, const char *text)
{
	struct ptx_kernel *kernel = &build->kernels[0];
	struct gt_compiled before = build->compiled;
	struct gt_cubin_kernel own = kernel->code;
	unsigned warps = build->count == 1 ? warps_wanted(build, 0) : 0;
	char why[512];

	if (build->count != 1 || !build->planned)
		return;
	build->plans[0].copy = NULL;
	build->compiled = (struct gt_compiled){ 0 };
	if (compile(build, why, sizeof(why)) && is_launched_alike(&own, &kernel->code, warps, text)) {
		free(before.code);
		return;
	}
	free(build->compiled.code);
	build->compiled = before;
	build->plans[0].copy = kernel->copy;
	kernel->code = own;
}

/* ---- the module ---- */

static bool add_kernel(struct ptx_build *build, unsigned k, struct gt_module *module)
{
	const struct gt_ptx_kernel *info = gt_ptx_kernel(build->ptx, k);
	struct gt_kernel *kernel = gt_module_add_kernel(module, info->name);
	struct gt_report report = { .route = GT_ROUTE_PTX, .arch = gt_ptx_target(build->ptx) };
	struct ptx_kernel *built = &build->kernels[k];

	if (!kernel)
		return false;
	kernel->param_count = info->param_count;
	kernel->hidden_offset = info->hidden_offset;
	kernel->probed = build->plans[k].probe_count;
	report.places = built->places;
	if (kernel->probed && !build->plans[k].copy) {
		report.links = built->links;
		report.code = built->code.name ? &built->code : NULL;
	} else if (kernel->probed) {
		kernel->copy = built->copy;
		built->copy = NULL;
		report.links = built->links;
		report.code = built->copy_code.name ? &built->copy_code : NULL;
	} else {
		report.reason = built->wanted ? built->reason : GT_REASON_NOT_ASKED;
		report.text = built->wanted ? built->why : "no attached program asks for it";
		report.code = built->code.name ? &built->code : NULL;
	}
	if (kernel->copy && report.code)
		kernel->max_threads = 32 * gt_warps_for(report.code->registers);
	gt_report_kernel(kernel, &report);
	return true;
}

/* False: out of memory. */
static bool find_places(struct ptx_build *build)
{
	uint64_t *places = calloc(build->count + 1, sizeof(*places));
	bool found = places && !gt_ptx_places(build->ptx, gt_session.probes, gt_session.probe_count, build->plans, places);

	for (unsigned k = 0; found && k < build->count; k++)
		build->kernels[k].places = places[k];
	free(places);
	return found;
}

static struct gt_module *finish(struct ptx_build *build, struct gt_source *source)
{
	struct gt_module *module = find_places(build) ? gt_module_new(source, build->count) : NULL;

	if (!module)
		return NULL;
	if (build->planned) {
		module->replacement = build->compiled.code;
		module->replacement_size = build->compiled.size;
		build->compiled.code = NULL;
	}
	for (unsigned k = 0; k < build->count; k++) {
		/* Of a kernel that is not known nobody would know that it takes the hidden parameter. */
		if (!add_kernel(build, k, module)) {
			gt_build_free(module);
			return NULL;
		}
	}
	gt_module_sort(module);
	return module;
}

/* The first of the reasons why kernels that programs are meant for do without them. */
static const char *first_refusal(const struct ptx_build *build)
{
	unsigned k = 0;

	while (k < build->count && !build->kernels[k].why[0])
		k++;
	return k < build->count ? build->kernels[k].why : "no attached program asks for its kernels";
}

static void set_useless(struct gt_source *source, const char *some, const char *why)
{
	snprintf(source->ptx_useless, sizeof(source->ptx_useless), "%s%s", some, why);
}

/* Text that cannot be read has no kernels that are known. */
static struct gt_module *build_unread(struct gt_source *source, const char *why, enum gt_ptx_least least)
{
	struct gt_module *module;

	set_useless(source, "", why);
	if (least != GT_PTX_NONE)
		return NULL;
	module = gt_module_new(source, 0);
	if (module)
		gt_module_leave_as_it_is(module, "PTX of %zu bytes left as it is: %s", source->ptx_size, why);
	return module;
}

static bool is_enough(const struct ptx_build *build, enum gt_ptx_least least)
{
	return least == GT_PTX_NONE || (build->planned && (least == GT_PTX_SOME || build->planned == build->wanted));
}

struct gt_module *gt_build_from_ptx(struct gt_source *source, enum gt_ptx_least least)
{
	const char *text = gt_source_ptx(source);
	struct gt_ptx_error error = { 0 };
	struct ptx_build build = { .source = source, .arch = source->arch };
	struct gt_module *module = NULL;
	char why[512];

	if (!text || gt_ptx_parse(text, source->ptx_size, &build.ptx, &error))
		return build_unread(source, text ? error.text : source->damage, least);
	if (make_plans(&build) && (!source->apart || refuse_bound(&build))) {
		if (compile(&build, why, sizeof(why))) {
			fit_registers(&build);
			if (!source->apart)
				put_in_place(&build, text);
		} else {
			refuse_all(&build, GT_REASON_COMPILE, why);
		}
		if (is_enough(&build, least))
			module = finish(&build, source);
		else
			set_useless(source, build.planned ? "some kernels would be without theirs: " : "", first_refusal(&build));
	}
	build_done(&build);
	return module;
}
