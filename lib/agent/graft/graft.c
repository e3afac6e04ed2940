/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/graft.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/agent/graft/edit.h"
#include "lib/agent/graft/registers.h"
#include "lib/agent/graft/why.h"

#define HIDDEN_BYTES ((uint32_t)sizeof(struct gt_launch_param))
/* Bytes of parameters that a kernel may have, and since CUDA 12.1. */
#define PARAMS_MAX 4096u
#define PARAMS_MAX_LARGE 32764u
#define PARAMS_LARGE_SINCE 121u
#define CONSTANTS_MAX 65535u	/* of a bank; sizes have 16 bits */

/* Compute capabilities on which grafted kernels have been seen to run right, or whose code is of the same make. */
#define ARCH_FIRST 75u
#define ARCH_LAST 90u

struct graft {
	struct gt_elf elf;
	struct gt_elf_kernel *kernels;
	unsigned kernel_count;
	struct gt_reach reach;
	struct gt_limits *limits;	/* by symbol */
	bool *nested;			/* by symbol */
	unsigned *constants_symbol;	/* by section: its symbol */
	bool *taken;			/* by section: code that has been grafted */
	struct gt_edit *edits;		/* by section */
	struct gt_bytes info;		/* .nv.info */
	Elf64_Sym *symbols;		/* with new sizes */
	unsigned done;
};

static bool refuse(struct gt_graft_result *result, enum gt_reason reason, const char *text)
{
	result->reason = reason;
	gt_graft_fail(result->why, "%s", text);
	return false;
}

/* ---- what the module says ---- */

static void index_record(struct graft *g, const struct gt_note_record *record, uint32_t at)
{
	struct gt_limits *limits;
	uint32_t symbol;

	if (!record->payload || record->value != 8)
		return;
	symbol = gt_read32(record->payload);
	if (symbol >= g->elf.symbol_count)
		return;
	limits = &g->limits[symbol];
	if (record->attribute == GT_ATTR_REGCOUNT)
		limits->registers = at + 8;
	else if (record->attribute == GT_ATTR_FRAME_SIZE)
		limits->frame = at + 8;
	else if (record->attribute == GT_ATTR_MIN_STACK)
		limits->min_stack = at + 8;
	else if (record->attribute == GT_ATTR_MAX_STACK)
		limits->max_stack = at + 8;
}

static int read_module(struct graft *g, char *why)
{
	struct gt_note_walk walk = gt_note_begin(&g->elf, g->elf.info);
	const uint8_t *start = walk.at;
	struct gt_note_record record;
	unsigned i;

	while (gt_note_next(&walk, &record))
		index_record(g, &record, (uint32_t)(record.start - start));
	if (walk.at != walk.end)
		return gt_graft_fail(why, "the machine code's records are damaged");
	gt_bytes_add(&g->info, start, (size_t)(walk.end - start));
	for (i = 0; i < g->elf.symbol_count; i++) {
		const Elf64_Sym *symbol = &g->elf.symbols[i];

		if (ELF64_ST_TYPE(symbol->st_info) == STT_SECTION && symbol->st_shndx < g->elf.count)
			g->constants_symbol[symbol->st_shndx] = i;
	}
	return g->info.failed ? -ENOMEM : 0;
}

static uint32_t get_limit(const struct graft *g, uint32_t at)
{
	return at ? gt_read32(g->info.data + at) : 0;
}

/* Never lowers it. */
static void raise_limit(struct graft *g, uint32_t at, uint8_t attribute, unsigned symbol, uint32_t value)
{
	uint8_t record[12] = { GT_FORMAT_SIZED, attribute, 8, 0 };

	if (at) {
		if (gt_read32(g->info.data + at) < value)
			gt_write32(g->info.data + at, value);
	} else if (value) {
		gt_write32(record + 4, symbol);
		gt_write32(record + 8, value);
		gt_bytes_add(&g->info, record, sizeof(record));
	}
}

/* ---- limits ---- */

static unsigned more(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

/* Where a kernel may have given registers away: at its exits and accesses. */
static unsigned registers_inside(const struct gt_graft_plan *plan, const struct gt_graft_result *result)
{
	unsigned registers = plan->exit ? plan->exit->registers : 0;

	for (unsigned point = GT_POINT_LOAD; point < GT_GRAFT_POINTS; point++)
		if (gt_graft_stub_in(plan, result, point))
			registers = more(registers, gt_detour_registers(gt_graft_plan_stub(plan, point)));
	return registers;
}

/*
 * A multiprocessor answers which thread one is slowly, to one warp after the other: on an H200 each question less makes
 * a vector addition of 4.5 us by 1 % shorter.  What the exit would ask the entry has asked before, and a register above
 * all that others name can keep it, where it costs nothing.  Code that is not at hand may name more than the kernel says.
 */
static void choose_kept(const struct gt_graft_plan *plan, const struct gt_scan *scan, unsigned arch,
			struct gt_graft_result *result)
{
	const struct gt_graft_stub *entry = plan->entry, *exit = plan->exit;
	unsigned registers = result->registers + 1;

	if (!entry || !entry->reads_thread || !exit || !exit->reads_thread || scan->fewest_registers || scan->calls_away ||
	    registers > GT_REGISTERS_MAX || !gt_registers_cost_nothing(registers, result->registers, arch))
		return;
	result->kept = result->registers - GT_REGISTERS_UNNAMED;
	result->registers = registers;
}

static bool choose_registers(const struct gt_graft_plan *plan, const struct gt_properties *properties,
			     const struct gt_scan *scan, unsigned own, unsigned arch, struct gt_graft_result *result)
{
	unsigned entry = plan->entry ? plan->entry->registers : 0;
	unsigned inside = registers_inside(plan, result);
	unsigned registers = more(own, more(entry, inside));
	unsigned warps = (properties->max_threads + 31) / 32;

	if (!own || own > GT_REGISTERS_MAX)
		return refuse(result, GT_REASON_IMAGE, "this kernel does not say how many registers it takes");
	if (scan->fewest_registers && (registers > own || inside > scan->fewest_registers)) {
		result->reason = GT_REASON_LIMITS;
		gt_graft_fail(result->why, "this kernel gives registers away while it runs, down to %u, and the probes need %u",
			      scan->fewest_registers, more(entry, inside));
		return false;
	}
	if (!warps || warps > gt_warps_for(own))
		warps = gt_warps_for(own);
	if (registers > own && gt_warps_for(registers) < warps) {
		result->reason = GT_REASON_LIMITS;
		gt_graft_fail(result->why, "a block of %u threads could not be launched with the %u registers that the probes need",
			      32 * warps, registers);
		return false;
	}
	result->registers = registers;
	choose_kept(plan, scan, arch, result);
	return true;
}

/* ---- one kernel ---- */

static bool is_well_formed(const struct gt_graft_plan *plan)
{
	bool any = false;

	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++) {
		const struct gt_graft_stub *stub = gt_graft_plan_stub(plan, point);

		any |= stub != NULL;
		if (stub && stub->point != point)
			return false;
	}
	return any;
}

static bool check_plan(const struct graft *g, const struct gt_graft_plan *plan,
		       const struct gt_elf_kernel *kernel, unsigned flags, struct gt_graft_result *result)
{
	if (!is_well_formed(plan))
		return refuse(result, GT_REASON_UNSUPPORTED, "the plan for this kernel is malformed");
	if (!kernel->info || !kernel->constants || kernel->twice ||
	    g->elf.symbols[kernel->symbol].st_value || g->taken[kernel->text])
		return refuse(result, GT_REASON_IMAGE, "this kernel's parts are not where they should be");
	for (unsigned point = 0; point < GT_GRAFT_POINTS; point++) {
		const struct gt_graft_stub *stub = gt_graft_plan_stub(plan, point);

		if (stub && (stub->arch / 10 != g->elf.arch / 10 || stub->arch < g->elf.arch))
			return refuse(result, GT_REASON_UNSUPPORTED, "the probes are compiled for another architecture");
	}
	if (g->nested[kernel->symbol])
		return refuse(result, GT_REASON_UNSUPPORTED,
			      "kernels launch it from the GPU, without the parameter that probes need");
	if (g->elf.arch < ARCH_FIRST || (g->elf.arch > ARCH_LAST && !(flags & GT_GRAFT_FORCE)))
		return refuse(result, GT_REASON_UNSUPPORTED,
			      "probes have not been seen to work in machine code of this compute capability");
	return true;
}

/* What can be done of what the plan asks for at accesses.  False: nothing, with the reason, or out of memory. */
static bool find_accesses(const struct graft *g, const struct gt_graft_plan *plan, const struct gt_elf_kernel *kernel,
			  struct gt_sites *sites, struct gt_graft_result *result)
{
	uint32_t stack = get_limit(g, g->limits[kernel->symbol].min_stack), points = 0;

	for (unsigned i = 0; i < GT_GRAFT_ACCESSES; i++)
		points |= plan->access[i] ? 1u << (GT_POINT_LOAD + i) : 0;
	if (!points)
		return true;
	if (gt_find_sites(&g->elf, kernel, points, stack, sites) < 0)
		return refuse(result, GT_REASON_LIMITS, "out of memory");
	result->left_shared = sites->left[GT_ACCESS_SHARED];
	result->left_local = sites->left[GT_ACCESS_LOCAL];
	result->left_other = sites->left[GT_ACCESS_OTHER];
	result->left_elsewhere = sites->left_elsewhere;
	result->calls_driver = sites->calls_driver;
	if (sites->refusal) {
		result->reason = GT_REASON_UNSUPPORTED;
		gt_graft_fail(result->why, "programs cannot run at this kernel's memory accesses: %s", sites->refusal);
		return false;
	}
	for (unsigned i = 0; i < sites->count; i++)
		result->accesses[sites->list[i].access.point - GT_POINT_LOAD]++;
	return true;
}

static bool check_kernel(const struct graft *g, const struct gt_graft_plan *plan, const struct gt_elf_kernel *kernel,
			 struct gt_properties *properties, struct gt_scan *scan, struct gt_sites *sites,
			 struct gt_graft_result *result)
{
	uint32_t own = get_limit(g, g->limits[kernel->symbol].registers), limit;

	gt_read_properties(&g->elf, kernel, properties);
	if (properties->refusal)
		return refuse(result, GT_REASON_UNSUPPORTED, properties->refusal);
	result->param_count = properties->param_count;
	result->hidden_offset = (properties->param_bytes + 7) & ~7u;
	limit = properties->api_version >= PARAMS_LARGE_SINCE ? PARAMS_MAX_LARGE : PARAMS_MAX;
	if (result->hidden_offset + HIDDEN_BYTES > limit || properties->param_base % 8 ||
	    properties->param_base + result->hidden_offset + HIDDEN_BYTES > CONSTANTS_MAX) {
		result->reason = GT_REASON_PARAMS;
		gt_graft_fail(result->why, "%u bytes of parameters leave no room for %u more (limit %u)",
			      properties->param_bytes, HIDDEN_BYTES, limit);
		return false;
	}
	if (plan->exit && g->reach.exits && g->reach.exits[kernel->text])
		return refuse(result, GT_REASON_UNSUPPORTED,
			      "a function that this kernel shares with others may end the thread");
	gt_scan_code(&g->elf, kernel, plan->entry, plan->exit, scan);
	if (scan->refusal)
		return refuse(result, GT_REASON_UNSUPPORTED, scan->refusal);
	result->exits = scan->exits;
	if (!find_accesses(g, plan, kernel, sites, result))
		return false;
	if (g->elf.arch < 90)
		own = more(own, g->elf.sections[kernel->text].sh_info >> 24);
	return choose_registers(plan, properties, scan, own, g->elf.arch, result);
}

/* Sections edited once each: their bytes so far belong to the edit. */
static void set_edit(struct graft *g, unsigned section, struct gt_bytes *bytes)
{
	free(g->edits[section].data);
	g->edits[section] = (struct gt_edit){ bytes->data, bytes->size };
	*bytes = (struct gt_bytes){ 0 };
}

/* Code at accesses has its room below whatever the kernel may have on its stack. */
static uint32_t stack_below(const struct gt_graft_plan *plan, const struct gt_graft_result *result)
{
	uint32_t stack = 0;

	for (unsigned point = GT_POINT_LOAD; point < GT_GRAFT_POINTS; point++)
		if (gt_graft_stub_in(plan, result, point))
			stack = more(stack, gt_detour_stack(gt_graft_plan_stub(plan, point)));
	return stack;
}

static void write_limits(struct graft *g, const struct gt_graft_plan *plan, const struct gt_elf_kernel *kernel,
			 const struct gt_graft_result *result)
{
	const struct gt_graft_stub *stubs[] = { plan->entry, plan->exit };
	const struct gt_limits *limits = &g->limits[kernel->symbol];
	Elf64_Shdr *text = &g->elf.sections[kernel->text];
	uint32_t below = stack_below(plan, result);
	uint32_t frame = get_limit(g, limits->frame) + below, min_stack = get_limit(g, limits->min_stack) + below;
	uint32_t max_stack = get_limit(g, limits->max_stack) + below;

	raise_limit(g, limits->registers, GT_ATTR_REGCOUNT, kernel->symbol, result->registers);
	if (g->elf.arch < 90)
		text->sh_info = (text->sh_info & 0xffffff) | result->registers << 24;
	for (int i = 0; i < 2; i++) {
		if (!stubs[i])
			continue;
		frame = more(frame, stubs[i]->frame);
		min_stack = more(min_stack, stubs[i]->min_stack);
		max_stack = more(max_stack, stubs[i]->min_stack);
	}
	raise_limit(g, limits->frame, GT_ATTR_FRAME_SIZE, kernel->symbol, frame);
	raise_limit(g, limits->min_stack, GT_ATTR_MIN_STACK, kernel->symbol, min_stack);
	if (limits->max_stack)
		raise_limit(g, limits->max_stack, GT_ATTR_MAX_STACK, kernel->symbol, max_stack);
}

static int write_kernel(struct graft *g, const struct gt_graft_plan *plan, const struct gt_elf_kernel *kernel,
			const struct gt_properties *properties, const struct gt_scan *scan,
			const struct gt_sites *sites, struct gt_graft_result *result)
{
	unsigned symbol = g->constants_symbol[kernel->constants];
	struct gt_bytes records = { 0 }, constants = { 0 };
	uint32_t moved = properties->param_base - gt_elf_param_base(g->elf.arch);
	uint32_t end = properties->param_base + result->hidden_offset + HIDDEN_BYTES;
	uint32_t number = gt_hidden_number(result->hidden_offset, moved, properties->param_bytes);
	struct gt_new_code code;
	const char *text;
	int r = gt_write_code(&g->elf, kernel, plan, scan, sites, number, result->kept, &code, &text);

	if (r == -EINVAL)
		refuse(result, GT_REASON_LIMITS, text);
	if (r < 0)
		return r;
	r = gt_write_records(&g->elf, kernel, plan, &code, properties, result->hidden_offset,
			     result->registers, symbol, &records);
	gt_bytes_add(&constants, gt_elf_bytes(&g->elf, kernel->constants),
		     g->elf.sections[kernel->constants].sh_size);
	gt_bytes_fill(&constants, 8);
	while (!constants.failed && constants.size < end)
		gt_bytes_add(&constants, (uint8_t[8]){ 0 }, 8);
	if (!r && constants.failed)
		r = -ENOMEM;
	if (r < 0) {
		gt_new_code_free(&code);
		free(records.data);
		free(constants.data);
		if (r == -E2BIG)
			refuse(result, GT_REASON_LIMITS, "this kernel's records would be too long");
		return r;
	}
	result->detours = code.detours;
	g->symbols[kernel->symbol].st_size = code.text.size;
	set_edit(g, kernel->text, &code.text);
	set_edit(g, kernel->info, &records);
	set_edit(g, kernel->constants, &constants);
	gt_new_code_free(&code);
	write_limits(g, plan, kernel, result);
	g->taken[kernel->text] = true;
	return 0;
}

static const struct gt_elf_kernel *find_kernel(const struct graft *g, const char *name)
{
	unsigned low = 0, high = g->kernel_count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;
		int order = strcmp(g->kernels[middle].name, name);

		if (!order)
			return &g->kernels[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* 0 whether it could be done or not; -ENOMEM. */
static int graft_kernel(struct graft *g, const struct gt_graft_plan *plan, unsigned flags,
			struct gt_graft_result *result)
{
	const struct gt_elf_kernel *kernel = find_kernel(g, plan->name);
	struct gt_sites sites = { 0 };
	struct gt_properties properties;
	struct gt_scan scan;
	int r = -EINVAL;

	if (!kernel) {
		refuse(result, GT_REASON_IMAGE, "there is no kernel of this name in the machine code");
		return 0;
	}
	if (!check_plan(g, plan, kernel, flags, result))
		return 0;
	if (check_kernel(g, plan, kernel, &properties, &scan, &sites, result)) {
		if (!properties.param_count && !g->constants_symbol[kernel->constants])
			refuse(result, GT_REASON_UNSUPPORTED, "this kernel's constants have no symbol");
		else
			r = write_kernel(g, plan, kernel, &properties, &scan, &sites, result);
	}
	gt_sites_free(&sites);
	if (!r) {
		result->done = true;
		g->done++;
	}
	return r == -ENOMEM ? r : 0;
}

/* ---- all of them ---- */

static void close_graft(struct graft *g)
{
	for (unsigned i = 0; g->edits && i < g->elf.count; i++)
		free(g->edits[i].data);
	free(g->edits);
	free(g->taken);
	free(g->constants_symbol);
	free(g->limits);
	free(g->nested);
	free(g->symbols);
	free(g->info.data);
	free(g->kernels);
	gt_reach_free_exits(&g->reach);
	gt_elf_close(&g->elf);
}

static int prepare(struct graft *g, bool exits, char *why)
{
	struct gt_elf *elf = &g->elf;
	int r = gt_elf_kernels(elf, &g->kernels, &g->kernel_count);

	g->edits = calloc(elf->count, sizeof(*g->edits));
	g->taken = calloc(elf->count, sizeof(*g->taken));
	g->constants_symbol = calloc(elf->count, sizeof(*g->constants_symbol));
	g->limits = calloc(elf->symbol_count + (size_t)1, sizeof(*g->limits));
	g->nested = gt_nested_find(elf);
	g->symbols = malloc((elf->symbol_count + (size_t)1) * sizeof(*g->symbols));
	if (r < 0 || !g->edits || !g->taken || !g->constants_symbol || !g->limits || !g->nested || !g->symbols)
		return -ENOMEM;
	memcpy(g->symbols, elf->symbols, elf->symbol_count * sizeof(*g->symbols));
	if (!elf->info)
		return gt_graft_fail(why, "the machine code has no records");
	r = read_module(g, why);
	if (!r && exits)
		r = gt_reach_find_exits(elf, &g->reach);
	return r;
}

static int finish(struct graft *g, void **ret_image, size_t *ret_size)
{
	struct gt_bytes symbols = { 0 };

	gt_bytes_add(&symbols, gt_elf_bytes(&g->elf, g->elf.symtab), g->elf.sections[g->elf.symtab].sh_size);
	if (symbols.failed || g->info.failed)
		return -ENOMEM;
	memcpy(symbols.data, g->symbols, g->elf.symbol_count * sizeof(*g->symbols));
	set_edit(g, g->elf.symtab, &symbols);
	set_edit(g, g->elf.info, &g->info);
	return gt_layout(&g->elf, g->edits, ret_image, ret_size);
}

static int graft_all(struct graft *g, unsigned flags, const struct gt_graft_plan *plans, unsigned plan_count,
		     struct gt_graft_result *results, void **ret_image, size_t *ret_size, char *why)
{
	bool exits = false;
	unsigned i;
	int r;

	for (i = 0; i < plan_count; i++)
		exits |= plans[i].exit != NULL;
	r = prepare(g, exits, why);
	for (i = 0; !r && i < plan_count; i++)
		r = graft_kernel(g, &plans[i], flags, &results[i]);
	if (!r)
		r = g->done ? finish(g, ret_image, ret_size) : -ENOENT;
	return r;
}

int gt_graft(const void *cubin, size_t size, unsigned flags, const struct gt_graft_plan *plans,
	     unsigned plan_count, void **ret_image, size_t *ret_size, struct gt_graft_result *results,
	     char why[GT_GRAFT_WHY])
{
	struct graft g = { 0 };
	const char *text;
	size_t new_size;
	void *image;
	int r = gt_elf_open(cubin, size, &g.elf, &text);

	memset(results, 0, plan_count * sizeof(*results));
	if (r < 0) {
		gt_graft_fail(why, "%s", text);
		return r;
	}
	r = graft_all(&g, flags, plans, plan_count, results, &image, &new_size, why);
	close_graft(&g);
	if (!r) {
		r = gt_graft_check(cubin, size, image, new_size, plans, plan_count, results, why);
		if (r < 0)
			free(image);
	}
	if (r < 0) {
		for (unsigned i = 0; i < plan_count; i++)
			results[i].done = false;
		if (r == -ENOMEM)
			gt_graft_fail(why, "out of memory");
		if (r == -ENOENT)
			gt_graft_fail(why, "no kernel could take its probes");
		return r;
	}
	*ret_image = image;
	*ret_size = new_size;
	return 0;
}
