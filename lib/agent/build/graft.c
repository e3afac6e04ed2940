/* SPDX-License-Identifier: Apache-2.0 */
/* The attached programs on machine code: which kernels get which stubs, and what became of it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/build/parts.h"
#include "lib/agent/build/stubs.h"
#include "lib/agent/graft/graft.h"
#include "lib/agent/graft/registers.h"

/* ---- plans ---- */

struct kernel_plan {
	struct gt_cubin_kernel code;	/* name owned */
	uint64_t probes[GT_GRAFT_POINTS];	/* to graft, by point */
	bool bound;			/* a copy of it would not do */
	uint32_t links;			/* of which these are */
	bool wanted, left_out;		/* some program asks for it; some of them cannot be had */
	bool no_accesses;		/* among them those at accesses, for the reason below */
	/* What became of it. */
	bool done;
	uint64_t places;		/* programs with one at least */
	uint32_t param_count, hidden_offset;
	enum gt_reason reason;
	char why[640];
};

struct gt_graft_build {
	struct gt_source *source;
	bool programs;			/* else only listed */
	struct kernel_plan *kernels;
	unsigned count, room;
	unsigned wanted, complete;
	void *image;
	size_t image_size;
	const char *damage;		/* why not all of its kernels are known; NULL: they are */
};

/*
 * Where there is PTX it is the better place for programs at memory accesses, unless it is long: they cost less, and see all
 * that the text does.
 */
static bool grafts_accesses(const struct gt_graft_build *build, const struct kernel_plan *plan)
{
	return plan->code.arch == GT_GRAFT_ACCESSES_ARCH &&
	       (!gt_source_has_ptx(build->source) || gt_source_has_long_ptx(build->source) ||
		gt_session.flags & GT_CONFIG_ONLY_GRAFT);
}

static bool can_be_grafted(const struct gt_graft_build *build, const struct kernel_plan *plan, const struct gt_probe *probe)
{
	if (probe->point == GT_POINT_ENTRY || probe->point == GT_POINT_EXIT)
		return true;
	return probe->point < GT_GRAFT_POINTS && grafts_accesses(build, plan) && !plan->no_accesses;
}

/* A program with probes at other points as well is left out as a whole: half of it would tell lies. */
static void plan_kernel(const struct gt_graft_build *build, struct kernel_plan *plan)
{
	uint64_t matching = 0;
	uint32_t impossible = 0;

	plan->links = 0;
	memset(plan->probes, 0, sizeof(plan->probes));
	for (unsigned i = 0; i < gt_session.probe_count; i++) {
		const struct gt_probe *probe = &gt_session.probes[i];

		if (!gt_kernel_matches(probe->kernel, plan->code.name))
			continue;
		matching |= 1ull << i;
		if (!can_be_grafted(build, plan, probe))
			impossible |= 1u << probe->link;
	}
	plan->wanted = matching;
	plan->left_out = impossible;
	for (unsigned i = 0; i < gt_session.probe_count; i++) {
		const struct gt_probe *probe = &gt_session.probes[i];

		if (!(matching >> i & 1) || impossible >> probe->link & 1)
			continue;
		plan->links |= 1u << probe->link;
		plan->probes[probe->point] |= 1ull << i;
	}
}

__attribute__((format(printf, 3, 4)))
static void refuse(struct kernel_plan *plan, enum gt_reason reason, const char *format, ...)
{
	va_list args;

	plan->reason = reason;
	va_start(args, format);
	vsnprintf(plan->why, sizeof(plan->why), format, args);
	va_end(args);
}

/* At which points programs must have PTX, rather than this machine code. */
static const char *ptx_points(const struct gt_graft_build *build, const struct kernel_plan *plan)
{
	return grafts_accesses(build, plan) ? "instructions and blocks" : "memory accesses, instructions and blocks";
}

/* What the image's PTX is good for, as the end of a sentence that asks for some; source->ptx_useless comes behind it. */
static const char *say_ptx(const struct gt_graft_build *build)
{
	if (build->source->ptx_useless[0])
		return ", and the image's is of no use: ";
	if (gt_source_has_long_ptx(build->source))
		return ", and the image's would take long to compile";
	return build->source->ptx_member ? "" : ", and the image has none";
}

/* A copy in another module must do without the variables of the kernel's own. */
static int refuse_bound(struct gt_graft_build *build)
{
	struct gt_apart *aparts = calloc(build->count + 1, sizeof(*aparts));
	int r = aparts ? 0 : -ENOMEM;

	for (unsigned i = 0; aparts && i < build->count; i++)
		aparts[i].name = build->kernels[i].code.name;
	if (aparts)
		r = gt_cubin_apart(build->source->cubin, build->source->cubin_size, aparts, build->count);
	for (unsigned i = 0; i < build->count; i++) {
		struct kernel_plan *plan = &build->kernels[i];

		if (!plan->wanted || (!r && aparts[i].possible))
			continue;
		refuse(plan, GT_REASON_BEFORE, GT_LOADED_BEFORE "%s%s",
		       r ? ", and its machine code is damaged" : ", and cannot be run as a copy: ", r ? "" : aparts[i].why);
		plan->bound = true;
		memset(plan->probes, 0, sizeof(plan->probes));
	}
	free(aparts);
	return r == -ENOMEM ? r : 0;
}

/* The stub for one point in *ret_stub, NULL when nothing is asked for there.  False: it cannot be had. */
static bool stub_for(struct kernel_plan *plan, unsigned arch, uint32_t point, const struct gt_graft_stub **ret_stub)
{
	const struct gt_cached_stub *cached;

	*ret_stub = NULL;
	if (!plan->probes[point])
		return true;
	cached = gt_stub_get(arch, point, plan->probes[point]);
	if (cached && cached->stub) {
		*ret_stub = cached->stub;
		return true;
	}
	refuse(plan, cached ? cached->reason : GT_REASON_UNSUPPORTED, "%s", cached ? cached->why : "out of memory");
	return false;
}

/* False: this kernel stays as it is. */
static bool plan_graft(struct gt_graft_build *build, unsigned index, struct gt_graft_plan *graft)
{
	struct kernel_plan *plan = &build->kernels[index];
	unsigned arch = build->source->arch;
	uint64_t any = 0;

	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++)
		any |= plan->probes[point];
	if (!any) {
		if (plan->wanted && !plan->reason)
			refuse(plan, GT_REASON_NO_PTX, "programs at %s need PTX%s%s", ptx_points(build, plan), say_ptx(build),
			       build->source->ptx_useless);
		return false;
	}
	graft->name = plan->code.name;
	graft->kernel_id = gt_next_kernel_id() + index;	/* as gt_module_add_kernel() will number them */
	for (unsigned i = 0; i < GT_GRAFT_ACCESSES; i++)
		if (!stub_for(plan, arch, GT_POINT_LOAD + i, &graft->access[i]))
			return false;
	return stub_for(plan, arch, GT_POINT_ENTRY, &graft->entry) && stub_for(plan, arch, GT_POINT_EXIT, &graft->exit);
}

__attribute__((format(printf, 3, 4)))
static void lacks(struct kernel_plan *plan, enum gt_reason reason, const char *format, ...)
{
	size_t length = strlen(plan->why);
	va_list args;

	plan->reason = reason;
	length += (size_t)snprintf(plan->why + length, sizeof(plan->why) - length, length ? ", and without " : "without ");
	va_start(args, format);
	vsnprintf(plan->why + length, sizeof(plan->why) - length, format, args);
	va_end(args);
}

/* What the kernel lacks that has programs, and what its programs at memory accesses do not see. */
static void tell_left_out(const struct gt_graft_build *build, struct kernel_plan *plan, const struct gt_graft_result *result)
{
	unsigned left = gt_graft_result_left(result);
	enum gt_reason reason = left || result->calls_driver ? GT_REASON_UNSUPPORTED : GT_REASON_NO_PTX;
	char elsewhere[64] = "";

	if (result->left_elsewhere)
		snprintf(elsewhere, sizeof(elsewhere), ", in functions with code of their own %u", result->left_elsewhere);
	if (left)
		lacks(plan, reason,
		      "%u of %u instructions that access memory (in shared memory %u, in local memory %u, of other forms %u%s)",
		      left, left + gt_graft_result_accesses(result), result->left_shared, result->left_local,
		      result->left_other, elsewhere);
	if (result->calls_driver)
		lacks(plan, reason, "the accesses of functions that the driver supplies (as for assert, printf, malloc)");
	if (plan->left_out)
		lacks(plan, reason, "programs at %s, which need PTX%s%s", ptx_points(build, plan), say_ptx(build),
		      build->source->ptx_useless);
}

static void take_without_accesses(struct kernel_plan *plan)
{
	char why[sizeof(plan->why)];

	strcpy(why, plan->why);
	refuse(plan, plan->reason, "without some of its programs: %s", why);
}

static bool has_place(const struct gt_graft_result *result, unsigned point)
{
	if (point >= GT_POINT_LOAD)
		return result->accesses[point - GT_POINT_LOAD];
	return point == GT_POINT_ENTRY || result->exits;
}

static void take_result(const struct gt_graft_build *build, struct kernel_plan *plan, const struct gt_graft_result *result,
			int r, const char *why)
{
	plan->done = result->done;
	plan->places = 0;
	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++)
		plan->places |= result->done && has_place(result, point) ? plan->probes[point] : 0;
	plan->param_count = result->param_count;
	plan->hidden_offset = result->hidden_offset;
	if (!result->done) {
		refuse(plan, result->reason ? result->reason : GT_REASON_IMAGE, "%s", result->why[0] || !r ? result->why : why);
	} else if (plan->no_accesses) {
		take_without_accesses(plan);
	} else {
		refuse(plan, GT_REASON_NONE, "%s", "");
		tell_left_out(build, plan, result);
	}
}

static void graft_planned(struct gt_graft_build *build)
{
	unsigned flags = gt_session.flags & GT_CONFIG_ONLY_GRAFT ? GT_GRAFT_FORCE : 0;
	unsigned count = 0;
	struct gt_graft_plan *plans = calloc(build->count + 1, sizeof(*plans));
	struct gt_graft_result *results = calloc(build->count + 1, sizeof(*results));
	unsigned *indices = calloc(build->count + 1, sizeof(*indices));
	char why[GT_GRAFT_WHY] = "";
	int r = -ENOMEM;

	for (unsigned i = 0; plans && indices && i < build->count; i++) {
		if (plan_graft(build, i, &plans[count]))
			indices[count++] = i;
		else
			plans[count] = (struct gt_graft_plan){ 0 };
	}
	if (plans && results && indices && count)
		r = gt_graft(build->source->cubin, build->source->cubin_size, flags, plans, count,
			     &build->image, &build->image_size, results, why);
	for (unsigned i = 0; results && i < count; i++)
		take_result(build, &build->kernels[indices[i]], &results[i], r, why);
	free(plans);
	free(results);
	free(indices);
}

static bool has_accesses(const struct kernel_plan *plan)
{
	for (unsigned point = GT_POINT_LOAD; point < GT_GRAFT_POINTS; point++)
		if (plan->probes[point])
			return true;
	return false;
}

/*
 * What keeps programs out that have to do with accesses must not keep others out as well, be
 * they in the same kernel or in another one of an image that was refused.  True: there are others.
 */
static bool give_up_accesses(struct gt_graft_build *build)
{
	bool given_up = false, others = false;

	for (unsigned i = 0; i < build->count; i++) {
		struct kernel_plan *plan = &build->kernels[i];

		if (plan->done)
			continue;
		if (has_accesses(plan)) {
			plan->no_accesses = given_up = true;
			plan_kernel(build, plan);
		}
		others |= plan->links;
	}
	return given_up && others;
}

static void graft(struct gt_graft_build *build)
{
	graft_planned(build);
	if (!give_up_accesses(build))
		return;
	free(build->image);
	build->image = NULL;
	graft_planned(build);
}

/* ---- the whole ---- */

static int add_kernel(void *data, const struct gt_cubin_kernel *code)
{
	struct gt_graft_build *build = data;
	struct kernel_plan *plan;

	if (build->count == build->room) {
		unsigned room = build->room ? 2 * build->room : 16;

		plan = realloc(build->kernels, room * sizeof(*plan));
		if (!plan)
			return -ENOMEM;
		build->kernels = plan;
		build->room = room;
	}
	plan = &build->kernels[build->count];
	*plan = (struct kernel_plan){ .code = *code };
	plan->code.name = strdup(code->name);
	if (!plan->code.name)
		return -ENOMEM;
	build->count++;
	return 0;
}

struct gt_graft_build *gt_graft_build_new(struct gt_source *source, bool programs)
{
	struct gt_graft_build *build = calloc(1, sizeof(*build));
	const char *why;
	int r;

	if (!build)
		return NULL;
	build->source = source;
	build->programs = programs;
	r = gt_cubin_kernels(source->cubin, source->cubin_size, add_kernel, build, &why);
	if (r == -ENOMEM) {
		gt_graft_build_free(build);
		return NULL;
	}
	build->damage = r < 0 ? why : NULL;
	for (unsigned i = 0; i < build->count; i++)
		plan_kernel(build, &build->kernels[i]);
	if (source->apart && refuse_bound(build)) {
		gt_graft_build_free(build);
		return NULL;
	}
	for (unsigned i = 0; i < build->count; i++)
		build->wanted += build->kernels[i].wanted && !build->kernels[i].bound;
	if (programs && build->wanted)
		graft(build);
	for (unsigned i = 0; i < build->count; i++)
		build->complete += build->kernels[i].done && !build->kernels[i].left_out;
	return build;
}

void gt_graft_build_free(struct gt_graft_build *build)
{
	if (!build)
		return;
	for (unsigned i = 0; i < build->count; i++)
		free((char *)build->kernels[i].code.name);
	free(build->kernels);
	free(build->image);
	free(build);
}

unsigned gt_graft_build_wanted(const struct gt_graft_build *build)
{
	return build->wanted;
}

unsigned gt_graft_build_complete(const struct gt_graft_build *build)
{
	return build->complete;
}

/* The numbers of the machine code that will run; names come in the same order. */
struct renewal {
	struct gt_graft_build *build;
	unsigned at;
};

static int renew_kernel(void *data, const struct gt_cubin_kernel *code)
{
	struct renewal *renewal = data;
	struct kernel_plan *plan;

	if (renewal->at == renewal->build->count)
		return 1;
	plan = &renewal->build->kernels[renewal->at++];
	plan->code.registers = code->registers;
	plan->code.local_bytes = code->local_bytes;
	return 0;
}

static void report(const struct gt_graft_build *build, struct gt_kernel *kernel,
		   const struct kernel_plan *plan)
{
	struct gt_report report = { .route = GT_ROUTE_GRAFT, .code = &plan->code, .arch = plan->code.arch };

	report.links = plan->done ? plan->links : 0;
	report.places = plan->places;
	if (!plan->wanted) {
		report.reason = GT_REASON_NOT_ASKED;
		report.text = "no attached program asks for it";
	} else if (!build->programs) {
		report.reason = GT_REASON_NO_PTX;
		report.text = "the image has machine code for this GPU but no PTX text to put programs into";
	} else if (plan->reason) {
		report.reason = plan->reason;
		report.text = plan->why;
	}
	gt_report_kernel(kernel, &report);
}

/* The kernel with programs in it is the copy, in a module of its own. */
static bool make_copy(struct gt_kernel *kernel, const struct kernel_plan *plan)
{
	kernel->copy = strdup(kernel->name);
	kernel->max_threads = 32 * gt_warps_for(plan->code.registers);
	return kernel->copy;
}

struct gt_module *gt_graft_build_finish(struct gt_graft_build *build)
{
	struct gt_module *module = gt_module_new(build->source, build->count);
	struct renewal renewal = { build, 0 };
	const char *why;

	if (!module)
		return NULL;
	if (build->image)
		gt_cubin_kernels(build->image, build->image_size, renew_kernel, &renewal, &why);
	module->replacement = build->image;
	module->replacement_size = build->image_size;
	build->image = NULL;
	for (unsigned i = 0; i < build->count; i++) {
		const struct kernel_plan *plan = &build->kernels[i];
		struct gt_kernel *kernel = gt_module_add_kernel(module, plan->code.name);

		if (!kernel) {
			gt_build_free(module);
			return NULL;
		}
		kernel->param_count = plan->param_count;
		kernel->hidden_offset = plan->hidden_offset;
		kernel->probed = plan->done;
		if (build->source->apart && plan->done && !make_copy(kernel, plan)) {
			gt_build_free(module);
			return NULL;
		}
		report(build, kernel, plan);
	}
	if (build->damage)
		gt_module_leave_as_it_is(module, "machine code of %zu bytes left as it is: %s", build->source->cubin_size,
					 build->damage);
	gt_module_sort(module);
	return module;
}
