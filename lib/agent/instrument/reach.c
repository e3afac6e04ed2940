/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE 1
#include "lib/agent/instrument/reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/glob.h"
#include "lib/wire/wire.h"

struct named {			/* a function with a body, or an alias of one */
	struct ptx_range name;
	uint32_t function;
};

enum answer { NOT_ASKED, NO_PLACE, A_PLACE };

struct walk {
	const struct gt_ptx *ptx;
	const struct gt_probe *probes;
	unsigned probe_count;
	uint8_t *asked;		/* by function and probe: has it a place there, enum answer */
	struct named *named;	/* sorted by name */
	uint32_t named_count;
	uint32_t *seen;		/* by function: number of the last walk that came by */
	uint32_t *stack;
	uint32_t depth, number;
	uint32_t *callee;	/* of struct ptx_reach */
};

static int compare_names(const struct gt_ptx *ptx, struct ptx_range a, struct ptx_range b)
{
	uint32_t n = a.length < b.length ? a.length : b.length;
	int r = memcmp(ptx->text + a.at, ptx->text + b.at, n);

	return r ? r : (a.length > b.length) - (a.length < b.length);
}

static int compare(const void *a, const void *b, void *ptx)
{
	const struct named *x = a, *y = b;

	return compare_names(ptx, x->name, y->name);
}

static uint32_t find_function(const struct walk *walk, struct ptx_range name)
{
	uint32_t low = 0, high = walk->named_count, middle;
	int r;

	while (low < high) {
		middle = low + (high - low) / 2;
		r = compare_names(walk->ptx, name, walk->named[middle].name);
		if (!r)
			return walk->named[middle].function;
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return PTX_NONE;
}

static void add_aliases(struct walk *walk)
{
	const struct gt_ptx *ptx = walk->ptx;
	uint32_t i, function, defined = walk->named_count;

	for (i = 0; i < ptx->alias_count; i++) {
		walk->named_count = defined;
		function = find_function(walk, ptx->aliases[i].target);
		if (function != PTX_NONE)
			walk->named[defined + i] = (struct named){ ptx->aliases[i].name, function };
		else
			walk->named[defined + i] = (struct named){ ptx->aliases[i].name, PTX_NONE };
	}
	walk->named_count = defined + ptx->alias_count;
}

static void walk_done(struct walk *walk)
{
	free(walk->asked);
	free(walk->named);
	free(walk->seen);
	free(walk->stack);
}

static int walk_init(struct walk *walk, const struct gt_ptx *ptx, const struct gt_probe *probes,
		     unsigned probe_count)
{
	size_t functions = ptx->function_count + (size_t)1;
	uint32_t i;

	*walk = (struct walk){ .ptx = ptx, .probes = probes, .probe_count = probe_count };
	walk->asked = calloc(functions, probe_count + (size_t)1);
	walk->named = calloc(functions + ptx->alias_count, sizeof(*walk->named));
	walk->seen = calloc(functions, sizeof(*walk->seen));
	walk->stack = calloc(functions, sizeof(*walk->stack));
	if (!walk->asked || !walk->named || !walk->seen || !walk->stack) {
		walk_done(walk);
		return -ENOMEM;
	}
	for (i = 0; i < ptx->function_count; i++)
		if (ptx->functions[i].has_body && !ptx->functions[i].is_kernel)
			walk->named[walk->named_count++] =
				(struct named){ ptx->functions[i].name, i };
	qsort_r(walk->named, walk->named_count, sizeof(*walk->named), compare, (void *)ptx);
	add_aliases(walk);
	qsort_r(walk->named, walk->named_count, sizeof(*walk->named), compare, (void *)ptx);
	return 0;
}

static void visit(struct walk *walk, uint32_t function)
{
	if (function == PTX_NONE || walk->seen[function] == walk->number)
		return;
	walk->seen[function] = walk->number;
	walk->stack[walk->depth++] = function;
}

/* Marks every function that this kernel may get to; an indirect call may go to any. */
static void walk_from(struct walk *walk, uint32_t start)
{
	const struct ptx_function *function;
	uint32_t i, *callee;

	walk->number++;
	visit(walk, start);
	while (walk->depth) {
		function = &walk->ptx->functions[walk->stack[--walk->depth]];
		for (i = 0; i < function->call_count; i++) {
			callee = &walk->callee[function->call + i];
			*callee = find_function(walk, walk->ptx->calls[function->call + i]);
			visit(walk, *callee);
		}
		for (i = 0; function->calls_pointer && i < walk->named_count; i++)
			visit(walk, walk->named[i].function);
	}
}

int gt_probe_fits(const struct gt_ptx *ptx, const struct gt_probe *probe,
		  const struct ptx_statement *statement)
{
	char opcode[PTX_OPCODE_MAX];
	uint32_t length;

	switch (probe->point) {
	case GT_POINT_EXIT:
		return statement->flags & PTX_EXIT;
	case GT_POINT_LOAD:
	case GT_POINT_STORE:
	case GT_POINT_ATOMIC:
		return statement->access != PTX_NONE &&
		       ptx->accesses[statement->access].point == probe->point;
	case GT_POINT_INST:
		length = gt_ptx_opcode(ptx, statement->opcode, opcode);
		return gt_glob_sets(probe->opcode, opcode, length) ||
		       gt_glob_sets(probe->opcode, opcode, strcspn(opcode, "."));
	default:
		return 0;
	}
}

static int has_place(const struct gt_ptx *ptx, const struct ptx_function *function,
		     const struct gt_probe *probe)
{
	const struct ptx_statement *statement = &ptx->statements[function->statement];
	uint32_t i;

	if (probe->point == GT_POINT_BLOCK)
		return 1;
	if (probe->point == GT_POINT_ENTRY)
		return function->is_kernel;
	if (probe->point == GT_POINT_EXIT && function->falls_off)
		return 1;
	for (i = 0; i < function->statement_count; i++, statement++)
		if (statement->kind == PTX_INSTRUCTION && gt_probe_fits(ptx, probe, statement))
			return 1;
	return 0;
}

static void ask(struct walk *walk, uint32_t function, unsigned probe)
{
	walk->asked[(size_t)function * walk->probe_count + probe] =
		has_place(walk->ptx, &walk->ptx->functions[function], &walk->probes[probe]) ? A_PLACE : NO_PLACE;
}

/* The probes of the plan that have a place in the function. */
static uint64_t places_in(struct walk *walk, const struct gt_ptx_plan *plan, uint32_t function)
{
	uint8_t *asked = walk->asked + (size_t)function * walk->probe_count;
	uint64_t places = 0;
	unsigned i, index;

	for (i = 0; i < plan->probe_count; i++) {
		index = plan->probes[i];
		if (asked[index] == NOT_ASKED)
			ask(walk, function, index);
		places |= (uint64_t)(asked[index] == A_PLACE) << index;
	}
	return places;
}

static int contains(const unsigned *list, unsigned count, unsigned value)
{
	while (count--)
		if (list[count] == value)
			return 1;
	return 0;
}

static int add_probes(struct walk *walk, const struct gt_ptx_plan *plan, uint32_t function,
		      int kernel, struct ptx_reach *reach)
{
	uint8_t *asked = walk->asked + (size_t)function * walk->probe_count;
	unsigned *list, i, index;

	for (i = 0; i < plan->probe_count; i++) {
		index = plan->probes[i];
		if (asked[index] != NOT_ASKED)
			continue;
		ask(walk, function, index);
		if (asked[index] == NO_PLACE)
			continue;
		list = realloc(reach->which[function],
			       (reach->count[function] + 1) * sizeof(*list));
		if (!list)
			return -ENOMEM;
		list[reach->count[function]++] = index;
		reach->which[function] = list;
		reach->kernel[function] = kernel;
		reach->any = 1;
	}
	return 0;
}

/*
 * A function is shared by kernels, and switches its probes by their links.  So
 * a kernel must not have one of two probes of a link and call a function that
 * has the other.
 */
static int check_links(const struct walk *walk, const struct gt_ptx_plan *plan, uint32_t function,
		       int kernel, const struct ptx_reach *reach, struct gt_ptx_error *err)
{
	const struct gt_probe *probes = walk->probes;
	uint32_t links = 0;
	unsigned i, index;

	for (i = 0; i < plan->probe_count; i++)
		links |= 1u << probes[plan->probes[i]].link;
	for (i = 0; i < reach->count[function]; i++) {
		index = reach->which[function][i];
		if ((links & 1u << probes[index].link) &&
		    !contains(plan->probes, plan->probe_count, index))
			return gt_ptx_fail(walk->ptx, err, kernel, walk->ptx->functions[function].body,
					   "a function shared by kernels carries a probe of the same link that this kernel does not");
	}
	return 0;
}

static int reach_alloc(const struct gt_ptx *ptx, struct ptx_reach *reach)
{
	size_t functions = ptx->function_count + (size_t)1;

	*reach = (struct ptx_reach){
		.which = calloc(functions, sizeof(*reach->which)),
		.count = calloc(functions, sizeof(*reach->count)),
		.kernel = calloc(functions, sizeof(*reach->kernel)),
		.calls_probed = calloc(ptx->kernel_count + (size_t)1, 1),
		.leaves = calloc(ptx->kernel_count + (size_t)1, 1),
		.reached = calloc(functions, 1),
		.definition = calloc(functions, sizeof(*reach->definition)),
		.callee = calloc(ptx->call_count + (size_t)1, sizeof(*reach->callee)),
	};
	if (reach->which && reach->count && reach->kernel && reach->calls_probed && reach->leaves &&
	    reach->reached && reach->definition && reach->callee) {
		memset(reach->callee, 0xff, (ptx->call_count + (size_t)1) * sizeof(*reach->callee));	/* PTX_NONE */
		return 0;
	}
	gt_reach_free(ptx, reach);
	return -ENOMEM;
}

/* What the driver has for every module; a thread comes back from it, or its whole grid ends in a trap. */
static int is_system_call(const struct gt_ptx *ptx, struct ptx_range name)
{
	static const char *const names[] = { "vprintf", "malloc", "free", "__assertfail" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (name.length == strlen(names[i]) && !memcmp(ptx->text + name.at, names[i], name.length))
			return 1;
	return 0;
}

/* Of a kernel, or a function that it may call. */
static int may_leave(const struct walk *walk, uint32_t f)
{
	const struct ptx_function *function = &walk->ptx->functions[f];
	uint32_t i;

	if (function->calls_pointer || (function->exits && !function->is_kernel))
		return 1;
	for (i = function->call; i < function->call + function->call_count; i++)
		if (walk->callee[i] == PTX_NONE && !is_system_call(walk->ptx, walk->ptx->calls[i]))
			return 1;
	return 0;
}

/* First what the kernels bring to the functions; then, with that known, what each kernel calls. */
static int reach_walk(struct walk *walk, const struct gt_ptx_plan *plans,
		      struct ptx_reach *reach, struct gt_ptx_error *err)
{
	const struct gt_ptx *ptx = walk->ptx;
	uint32_t k, f;
	int pass, r = 0;

	for (pass = 0; pass < 2; pass++) {
		for (k = 0; k < ptx->kernel_count; k++) {
			if (pass ? !reach->any : !plans[k].probe_count)
				continue;
			walk_from(walk, ptx->kernels[k].function);
			for (f = 0; !r && f < ptx->function_count; f++) {
				if (walk->seen[f] != walk->number)
					continue;
				if (!pass) {
					reach->pointers |= ptx->functions[f].calls_pointer;
					reach->leaves[k] |= may_leave(walk, f);
				}
				if (ptx->functions[f].is_kernel)
					continue;
				if (!pass)
					reach->reached[f] = 1;
				if (!pass)
					r = add_probes(walk, &plans[k], f, (int)k, reach);
				else
					r = check_links(walk, &plans[k], f, (int)k, reach, err);
				if (pass && reach->count[f])
					reach->calls_probed[k] = 1;
			}
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static void find_definitions(const struct walk *walk, struct ptx_reach *reach)
{
	const struct ptx_function *function = walk->ptx->functions;
	uint32_t f;

	for (f = 0; f < walk->ptx->function_count; f++, function++)
		reach->definition[f] = function->is_kernel ? PTX_NONE :
				       function->has_body ? f : find_function(walk, function->name);
}

int gt_reach_each(const struct gt_ptx *ptx, void (*fn)(void *data, uint32_t kernel, const struct ptx_reached *reached),
		  void *data)
{
	struct walk walk;
	int r = walk_init(&walk, ptx, NULL, 0);

	if (r < 0)
		return r;
	walk.callee = calloc(ptx->call_count + (size_t)1, sizeof(*walk.callee));
	for (uint32_t k = 0; walk.callee && k < ptx->kernel_count; k++) {
		walk_from(&walk, ptx->kernels[k].function);
		fn(data, k, &(struct ptx_reached){ walk.seen, walk.number, walk.callee });
	}
	r = walk.callee ? 0 : -ENOMEM;
	free(walk.callee);
	walk_done(&walk);
	return r;
}

int gt_ptx_places(const struct gt_ptx *ptx, const struct gt_probe *probes, unsigned probe_count,
		  const struct gt_ptx_plan *plans, uint64_t *places)
{
	struct walk walk;
	int r = walk_init(&walk, ptx, probes, probe_count);

	if (r < 0)
		return r;
	walk.callee = calloc(ptx->call_count + (size_t)1, sizeof(*walk.callee));
	for (uint32_t k = 0; walk.callee && k < ptx->kernel_count; k++) {
		places[k] = 0;
		if (!plans[k].probe_count)
			continue;
		walk_from(&walk, ptx->kernels[k].function);
		for (uint32_t f = 0; f < ptx->function_count; f++)
			places[k] |= walk.seen[f] == walk.number ? places_in(&walk, &plans[k], f) : 0;
	}
	r = walk.callee ? 0 : -ENOMEM;
	free(walk.callee);
	walk_done(&walk);
	return r;
}

int gt_reach_find(const struct gt_ptx *ptx, const struct gt_probe *probes,
		  unsigned probe_count, const struct gt_ptx_plan *plans, struct ptx_reach *ret_reach,
		  struct gt_ptx_error *err)
{
	struct ptx_reach reach;
	struct walk walk;
	int r = reach_alloc(ptx, &reach);

	if (r < 0)
		return r;
	r = walk_init(&walk, ptx, probes, probe_count);
	if (!r) {
		walk.callee = reach.callee;
		r = reach_walk(&walk, plans, &reach, err);
		find_definitions(&walk, &reach);
		walk_done(&walk);
	}
	if (r < 0)
		gt_reach_free(ptx, &reach);
	else
		*ret_reach = reach;
	return r;
}

void gt_reach_free(const struct gt_ptx *ptx, struct ptx_reach *reach)
{
	uint32_t f;

	for (f = 0; reach->which && f < ptx->function_count; f++)
		free(reach->which[f]);
	free(reach->which);
	free(reach->count);
	free(reach->kernel);
	free(reach->calls_probed);
	free(reach->leaves);
	free(reach->reached);
	free(reach->definition);
	free(reach->callee);
	memset(reach, 0, sizeof(*reach));
}
