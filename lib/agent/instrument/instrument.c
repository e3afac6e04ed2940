/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a module anew, in one pass over its text, with probes at their points. */
#include "lib/agent/instrument/instrument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/instrument/holding.h"
#include "lib/agent/instrument/ptx.h"
#include "lib/agent/instrument/reach.h"
#include "lib/agent/instrument/site.h"
#include "lib/agent/instrument/text.h"
#include "lib/wire/wire.h"

/* What probes use is in this PTX ISA; activemask alone needs 6.2. */
#define VERSION_NEEDED 63u

/* Bytes of parameters a kernel may have: since PTX 8.1 on sm_70 the larger number. */
#define PARAMS_MAX 4096u
#define PARAMS_MAX_LARGE 32764u

struct weave {
	const struct gt_ptx *ptx;
	const struct gt_probe *probes;
	unsigned probe_count;
	const struct gt_ptx_plan *plans;
	struct gt_ptx_error *err;
	struct ptx_reach reach;
	struct ptx_inlines inlines;
	struct ptx_text out;
	uint32_t copied;		/* the program's text is written up to here */
	uint32_t alignment;		/* the next one in the text, of ptx->alignments */
	uint32_t alignment_count;	/* 0: the text stays what it is */
	unsigned *here;			/* scratch: probes that run at one place */
	/* The function at hand. */
	const struct ptx_function *function;
	const unsigned *which;		/* the probes it gets */
	unsigned which_count;
	int fault;			/* kernel to name in errors */
	struct ptx_site site;
	/*
	 * Copies of kernels call copies of the functions, so that their own stay what they
	 * are; not where pointers are called, which lead to the functions themselves.
	 */
	int copying;
	int renaming;			/* what is written is within a copy */
	uint32_t call;			/* the next one in the text, of ptx->calls */
	struct ptx_holding holding;	/* of the kernel at hand */
};

#define COPY_SUFFIX "__gt_copy"		/* of functions; kernels' copies have names from outside */

static int is_copied(const struct weave *w, uint32_t function)
{
	return w->copying && function != PTX_NONE && w->reach.reached[function];
}

static void write_copy_name(struct weave *w, uint32_t function)
{
	const struct ptx_range *name = &w->ptx->functions[function].name;

	gt_text_add(&w->out, w->ptx->text + name->at, name->length);
	gt_text_puts(&w->out, COPY_SUFFIX);
}

/* Up to there, with alignments raised. */
static void copy_aligned(struct weave *w, uint32_t at)
{
	const struct ptx_range *alignments = w->ptx->alignments;

	/* Functions may be copied more than once. */
	while (w->alignment && alignments[w->alignment - 1].at >= w->copied)
		w->alignment--;
	for (; w->alignment < w->alignment_count && alignments[w->alignment].at < at; w->alignment++) {
		gt_text_add(&w->out, w->ptx->text + w->copied, alignments[w->alignment].at - w->copied);
		gt_text_printf(&w->out, "%u", PTX_SHARED_ALIGN);
		w->copied = alignments[w->alignment].at + alignments[w->alignment].length;
	}
	gt_text_add(&w->out, w->ptx->text + w->copied, at - w->copied);
	w->copied = at;
}

/* Up to there, with the calls in it changed to ones of copies. */
static void rename_calls(struct weave *w, uint32_t at)
{
	uint32_t end = w->function->call + w->function->call_count;
	const struct ptx_range *name;

	for (; w->call < end && w->ptx->calls[w->call].at < at; w->call++) {
		name = &w->ptx->calls[w->call];
		if (name->at < w->copied || !is_copied(w, w->reach.callee[w->call]))
			continue;
		copy_aligned(w, name->at);
		write_copy_name(w, w->reach.callee[w->call]);
		w->copied = name->at + name->length;
	}
}

static void copy_to(struct weave *w, uint32_t at)
{
	if (w->renaming)
		rename_calls(w, at);
	copy_aligned(w, at);
}

/* ---- places ---- */

static void write_site(struct weave *w, unsigned count, const struct ptx_statement *guard,
		       const struct ptx_access *access)
{
	struct ptx_site site = w->site;

	if (!count)
		return;
	site.which = w->here;
	site.count = count;
	site.guard = guard && guard->predicate_length ? guard : NULL;
	site.access = access;
	site.leaving = guard && guard->flags & PTX_EXIT;
	gt_site_write(&w->out, &site);
}

/* Those of this function's probes with this point: entry, exit at the end, block. */
static unsigned probes_of(const struct weave *w, uint32_t point)
{
	unsigned i, count = 0;

	for (i = 0; i < w->which_count; i++)
		if (w->probes[w->which[i]].point == point)
			w->here[count++] = w->which[i];
	return count;
}

static int is_memory(const struct gt_probe *probe)
{
	return probe->point == GT_POINT_LOAD || probe->point == GT_POINT_STORE ||
	       probe->point == GT_POINT_ATOMIC;
}

static int check_access(const struct weave *w, const struct ptx_statement *statement,
			const struct ptx_access *access)
{
	if (access->base_kind == PTX_BASE_UNKNOWN)
		return gt_ptx_fail(w->ptx, w->err, w->fault, statement->at,
				   "the address of this instruction is not understood");
	if (access->unknown_size)
		return gt_ptx_fail(w->ptx, w->err, w->fault, statement->at,
				   "the size of this memory access is not understood");
	return 0;
}

static int weave_instruction(struct weave *w, const struct ptx_statement *statement)
{
	const struct ptx_access *access = NULL;
	const struct gt_probe *probe;
	unsigned i, count = 0;
	int r;

	for (i = 0; i < w->which_count; i++) {
		probe = &w->probes[w->which[i]];
		if (!gt_probe_fits(w->ptx, probe, statement))
			continue;
		w->here[count++] = w->which[i];
		if (is_memory(probe))
			access = &w->ptx->accesses[statement->access];
	}
	r = access ? check_access(w, statement, access) : 0;
	if (r < 0)
		return r;
	write_site(w, count, statement, access);
	return 0;
}

static void write_totals(struct weave *w, const struct ptx_statement *guard, uint32_t enough)
{
	struct ptx_site site = w->site;

	if (!w->holding.any)
		return;
	site.which = w->which;
	site.count = w->which_count;
	site.guard = guard && guard->predicate_length ? guard : NULL;
	gt_site_write_totals(&w->out, &site, enough);
}

/* The probes of this instruction, and of those later ones whose probes must go in front of it. */
static int weave_statement(struct weave *w, uint32_t index)
{
	const struct ptx_statement *statement = &w->ptx->statements[index], *later;
	uint32_t end = w->function->statement + w->function->statement_count, i;
	int called = 0, r;

	copy_to(w, statement->at);
	if (w->holding.any && w->holding.heads[index - w->function->statement])
		write_totals(w, NULL, PTX_SUM_ENOUGH);
	if (statement->flags & PTX_LEADER)
		write_site(w, probes_of(w, GT_POINT_BLOCK), NULL, NULL);
	/* Before programs at exit, of which the last one tells that the launch has ended. */
	if (statement->flags & PTX_EXIT)
		write_totals(w, statement, 1);
	r = weave_instruction(w, statement);
	if (!(statement->flags & (PTX_CALL | PTX_PARAM_MOVE)))
		return r;
	called = statement->flags & PTX_CALL;
	for (i = index + 1; !r && i < end; i++) {
		later = &w->ptx->statements[i];
		if (later->kind == PTX_LABEL || (later->flags & PTX_FLOW))
			break;
		if (later->kind != PTX_INSTRUCTION)
			continue;
		if (called && later->before != index)
			break;
		if (later->before == index)
			r = weave_instruction(w, later);
		called |= later->flags & PTX_CALL;
	}
	return r;
}

/* ---- functions ---- */

static uint32_t links_of(const struct weave *w, const unsigned *which, unsigned count,
			 uint32_t flags)
{
	uint32_t links = 0;
	unsigned i;

	for (i = 0; i < count; i++)
		if ((w->probes[which[i]].flags & flags) == flags)
			links |= 1u << w->probes[which[i]].link;
	return links;
}

static void weave_params(struct weave *w)
{
	static const char hidden[] = "\t.param .align 8 .b8 " PTX_HIDDEN "[24]\n";
	const struct ptx_function *function = w->function;

	if (function->params_end == PTX_NONE) {
		copy_to(w, function->name.at + function->name.length);
		gt_text_printf(&w->out, "(\n%s)", hidden);
		return;
	}
	copy_to(w, function->params_end);
	gt_text_printf(&w->out, "%s%s", function->params_count ? ",\n" : "\n", hidden);
}

/* What goes between the '{' of a kernel and its first statement. */
static void weave_entry(struct weave *w)
{
	uint32_t links = links_of(w, w->which, w->which_count, 0);
	uint32_t wanting = links_of(w, w->which, w->which_count, GT_PROBE_WANTS_PARAMS);
	unsigned i;

	copy_to(w, w->function->body);
	if (wanting && w->site.params == PTX_PARAMS_COPY)
		gt_site_copy_params(&w->out, &w->site, wanting);
	if (w->reach.calls_probed[w->function->kernel] && (w->which_count || !w->copying))
		gt_site_fill_shared(&w->out, &w->site, links, wanting != 0);
	for (i = 0; i < w->which_count; i++) {
		if (!w->holding.probes[w->which[i]])
			gt_inline_write_entry(&w->out, &w->inlines, w->which[i]);
		else if (w->holding.probes[w->which[i]] == PTX_HOLDS)
			gt_sums_write_entry(&w->out, &w->inlines.of[w->which[i]].sums);
	}
	write_site(w, probes_of(w, GT_POINT_ENTRY), NULL, NULL);
}

static int weave_function(struct weave *w)
{
	const struct ptx_function *function = w->function;
	const struct ptx_statement *statement;
	uint32_t i;
	int r = 0;

	for (i = 0; !r && i < function->statement_count; i++) {
		statement = &w->ptx->statements[function->statement + i];
		/* Those with another place in `before` are written there. */
		if (statement->kind == PTX_INSTRUCTION && statement->before == function->statement + i)
			r = weave_statement(w, function->statement + i);
	}
	if (r < 0)
		return r;
	copy_to(w, function->end);
	if (function->end_is_leader)
		write_site(w, probes_of(w, GT_POINT_BLOCK), NULL, NULL);
	if (function->falls_off) {
		write_totals(w, NULL, 1);
		write_site(w, probes_of(w, GT_POINT_EXIT), NULL, NULL);
	}
	return 0;
}

static void weave_limit(struct weave *w)
{
	const struct gt_ptx_plan *plan = &w->plans[w->function->kernel];
	unsigned limit = w->which_count ? plan->max_registers : plan->own_max_registers;

	if (!limit || w->site.kernel->public.limits_registers)
		return;
	copy_to(w, w->function->body - 1);
	gt_text_printf(&w->out, ".maxnreg %u\n", limit);
}

/* What can be held back, unless a thread can leave the kernel elsewhere than in its own body. */
static int begin_holding(struct weave *w)
{
	if (w->reach.leaves[w->function->kernel])
		return 0;
	return gt_holding_begin(&w->holding, w->ptx, w->function, w->probes, &w->inlines, w->which, w->which_count);
}

/* The kernel at hand with these probes, from where the text is written up to. */
static int weave_kernel_with(struct weave *w, const unsigned *probes, unsigned count)
{
	int r;

	w->which = probes;
	w->which_count = count;
	r = begin_holding(w);
	if (!r) {
		if (count)
			weave_params(w);
		weave_limit(w);
		weave_entry(w);
		r = count ? weave_function(w) : 0;
	}
	gt_holding_end(&w->holding, w->probe_count);
	return r;
}

/* The function at hand to its end, and once more up to its name, which the caller writes. */
static void start_again(struct weave *w)
{
	const struct ptx_function *function = w->function;

	copy_to(w, function->end + 1);
	gt_text_puts(&w->out, "\n");
	w->copied = function->start;
	copy_to(w, function->name.at);
	w->copied += function->name.length;
	w->renaming = w->copying;
	w->call = function->call;
}

static void end_copy(struct weave *w)
{
	copy_to(w, w->function->end + 1);
	w->renaming = 0;
}

static int weave_function_copy(struct weave *w, uint32_t function)
{
	int r = 0;

	start_again(w);
	write_copy_name(w, function);
	if (w->function->has_body)
		r = weave_function(w);
	end_copy(w);
	return r;
}

/* First as it is, then anew by its other name. */
static int weave_copy(struct weave *w, const struct gt_ptx_plan *plan)
{
	int r = weave_kernel_with(w, NULL, 0);

	if (r < 0)
		return r;
	start_again(w);
	gt_text_puts(&w->out, plan->copy);
	r = weave_kernel_with(w, plan->probes, plan->probe_count);
	end_copy(w);
	return r;
}

static int weave_kernel(struct weave *w)
{
	const struct gt_ptx_plan *plan = &w->plans[w->function->kernel];

	w->fault = (int)w->function->kernel;
	w->site.kernel = &w->ptx->kernels[w->function->kernel];
	w->site.kernel_id = plan->kernel_id;
	if (plan->probe_count && plan->copy)
		return weave_copy(w, plan);
	return weave_kernel_with(w, plan->probes, plan->probe_count);
}

/* A kernel's earlier prototype must have the same parameters. */
static void weave_prototype(struct weave *w)
{
	const struct gt_ptx *ptx = w->ptx;
	const struct ptx_function *function = w->function;
	uint32_t k;

	for (k = 0; k < ptx->kernel_count; k++)
		if (w->plans[k].probe_count && !w->plans[k].copy &&
		    strlen(ptx->kernels[k].name) == function->name.length &&
		    !memcmp(ptx->kernels[k].name, ptx->text + function->name.at, function->name.length))
			weave_params(w);
}

static int weave_device_function(struct weave *w, uint32_t f)
{
	w->fault = w->reach.kernel[f];
	w->which = w->reach.which[f];
	w->which_count = w->reach.count[f];
	w->site.kernel = NULL;
	if (is_copied(w, w->reach.definition[f]))
		return weave_function_copy(w, w->reach.definition[f]);
	return w->which_count ? weave_function(w) : 0;
}

static int weave_all(struct weave *w)
{
	uint32_t f;
	int r = 0;

	for (f = 0; !r && f < w->ptx->function_count; f++) {
		w->function = &w->ptx->functions[f];
		if (w->function->is_kernel && !w->function->has_body) {
			weave_prototype(w);
		} else if (w->function->is_kernel) {
			r = weave_kernel(w);
		} else {
			r = weave_device_function(w, f);
		}
	}
	return r;
}

/* ---- the module ---- */

/* Code of before may expect threads of a warp to run in step, which the compiler sees to for these targets alone. */
#define TARGET_OF_PROBES 70u

int gt_ptx_links_probes(const struct gt_ptx *ptx)
{
	return ptx->target < TARGET_OF_PROBES;
}

/* Each function once, whatever the number of probes that it is for. */
static void declare_probes(struct weave *w)
{
	unsigned i, j;

	for (i = 0; i < w->probe_count; i++) {
		for (j = 0; j < i && strcmp(w->probes[j].function, w->probes[i].function); j++)
			;
		if (j == i)
			gt_text_printf(&w->out, ".extern .func %s(.param .b64 l, .param .b64 d, .param .b64 h,\n"
				       "\t.param .b32 k, .param .b64 p, .param .b64 a, .param .b32 s, .param .b32 c);\n",
				       w->probes[i].function);
	}
}

static void weave_header(struct weave *w, const char *probe_text)
{
	const struct gt_ptx *ptx = w->ptx;

	if (ptx->version < VERSION_NEEDED) {
		copy_to(w, ptx->version_token.at);
		gt_text_printf(&w->out, "%u.%u", VERSION_NEEDED / 10, VERSION_NEEDED % 10);
		w->copied += ptx->version_token.length;
	}
	copy_to(w, ptx->header_end);
	gt_text_puts(&w->out, "\n\n");
	if (w->reach.any)
		gt_text_puts(&w->out, PTX_SHARED_DECLARATION);
	if (gt_ptx_links_probes(ptx))
		declare_probes(w);
	else
		gt_inlines_write_rest(&w->out, &w->inlines, probe_text, w->probe_count);
	gt_text_puts(&w->out, "\n");
}

static int is_identifier(const char *s)
{
	static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$";

	return s && *s && strchr(first, *s) && strlen(s) < 256 &&
	       strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_$") == strlen(s);
}

static int check_probes(const struct weave *w)
{
	const struct gt_probe *probe;
	unsigned i;

	for (i = 0; i < w->probe_count; i++) {
		probe = &w->probes[i];
		if (probe->point > GT_POINT_BLOCK || probe->granularity > GT_PER_GROUP ||
		    probe->link >= GT_LINKS_MAX || !is_identifier(probe->function) ||
		    (probe->point == GT_POINT_INST && !probe->opcode))
			return gt_ptx_fail(w->ptx, w->err, -1, PTX_NONE, "probe %u is malformed", i);
	}
	return 0;
}

static int check_plan(const struct weave *w, uint32_t k)
{
	const struct ptx_kernel *kernel = &w->ptx->kernels[k];
	const struct gt_ptx_plan *plan = &w->plans[k];
	uint32_t limit = w->ptx->target >= 70 && w->ptx->version >= 81 ? PARAMS_MAX_LARGE : PARAMS_MAX;
	uint32_t at = w->ptx->functions[kernel->function].body;
	unsigned i;

	if (!plan->probe_count)
		return 0;
	for (i = 0; i < plan->probe_count; i++)
		if (plan->probes[i] >= w->probe_count)
			return gt_ptx_fail(w->ptx, w->err, (int)k, PTX_NONE, "the plan names a probe that does not exist");
	if (kernel->public.refusal)
		return gt_ptx_fail(w->ptx, w->err, (int)k, at, "%s", kernel->public.refusal);
	if (kernel->public.hidden_offset + PTX_HIDDEN_BYTES > limit) {
		gt_ptx_fail(w->ptx, w->err, (int)k, at,
			    "%u bytes of parameters leave no room for %u more (limit %u)",
			    kernel->public.param_bytes, PTX_HIDDEN_BYTES, limit);
		return -E2BIG;
	}
	return 0;
}

static int weave_planned(struct weave *w, const char *probe_text)
{
	unsigned i;
	int r = gt_inlines_read(probe_text, w->probes, w->probe_count, &w->inlines);

	if (r < 0)
		return r;
	for (i = 0; i < w->probe_count; i++)
		w->inlines.of[i].called = gt_ptx_links_probes(w->ptx) ||
					  !gt_inline_wanted(&w->inlines.of[i], &w->probes[i], w->ptx->written_out);
	w->site.inlines = &w->inlines;
	weave_header(w, probe_text);
	r = weave_all(w);
	gt_inlines_free(&w->inlines);
	return r;
}

static int all_in_copies(const struct weave *w)
{
	uint32_t k;

	for (k = 0; k < w->ptx->kernel_count; k++)
		if (w->plans[k].probe_count && !w->plans[k].copy)
			return 0;
	return 1;
}

static int weave_module(struct weave *w, const char *probe_text)
{
	uint32_t k, planned = 0;
	int r = check_probes(w);

	for (k = 0; !r && k < w->ptx->kernel_count; k++) {
		r = check_plan(w, k);
		planned += w->plans[k].probe_count != 0;
	}
	if (r < 0)
		return r;
	if (planned) {
		w->alignment_count = w->ptx->alignment_count;
		r = gt_reach_find(w->ptx, w->probes, w->probe_count, w->plans, &w->reach, w->err);
		if (r < 0)
			return r;
		w->copying = w->reach.any && !w->reach.pointers && all_in_copies(w);
		r = weave_planned(w, probe_text);
		gt_reach_free(w->ptx, &w->reach);
		if (r < 0)
			return r;
	}
	copy_to(w, w->ptx->length);
	return w->out.failed ? -ENOMEM : 0;
}

int gt_ptx_instrument(const struct gt_ptx *ptx, const char *probe_text,
		      const struct gt_probe *probes, unsigned probe_count,
		      const struct gt_ptx_plan *plans,
		      char **ret_text, size_t *ret_length, struct gt_ptx_error *err)
{
	struct weave w = {
		.ptx = ptx, .probes = probes, .probe_count = probe_count, .plans = plans, .err = err,
		.site = { .ptx = ptx, .probes = probes },
	};
	int r;

	w.site.params = ptx->version >= PTX_CVTA_PARAM_VERSION && ptx->target >= PTX_CVTA_PARAM_TARGET ?
		PTX_PARAMS_GENERIC : PTX_PARAMS_COPY;
	w.here = calloc(probe_count + (size_t)1, sizeof(*w.here));
	w.site.holds = w.holding.probes = calloc(probe_count + (size_t)1, 1);
	r = w.here && w.holding.probes ? weave_module(&w, probe_text) : -ENOMEM;
	free(w.here);
	free(w.holding.probes);
	if (r < 0) {
		gt_text_free(&w.out);
		return r;
	}
	*ret_text = w.out.data;
	*ret_length = w.out.length;
	return 0;
}
