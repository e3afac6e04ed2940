/* SPDX-License-Identifier: Apache-2.0 */
/* Where variables lie: module variables in device memory, shared ones in each kernel's window. */
#include <stdlib.h>
#include <string.h>

#include "layout.h"

static int is_module_memory(const struct ptx_var *var)
{
	return var->space == SPACE_GLOBAL || var->space == SPACE_CONST;
}

static void place_global(struct ptx_ctx *ctx, struct sim_module *module, struct ptx_sym *sym)
{
	struct ptx_var *var = &sym->var;
	struct module_variable *out = &module->variables[module->variable_count];
	char *name = ptx_keep(ctx, sym->name.length + 1);
	void *memory;

	if (var->align > 256)
		ptx_unsupported(ctx, sym->line, "alignment of '%.200s' above 256", sym->name.text);
	memory = ctx->dev->alloc(ctx->dev->data, var->size ? var->size : 1);
	if (!memory)
		ptx_fail(ctx, SIM_ERROR_MEMORY, sym->line, "no memory for variable '%.200s'",
			 sym->name.text);
	memcpy(name, sym->name.text, sym->name.length);
	out->name = name;
	out->addr = (uintptr_t)memory;
	out->size = var->size;
	out->is_const = var->space == SPACE_CONST;
	out->is_visible = !var->func;
	out->owned = 1;
	module->variable_count++;
	var->address = out->addr;
	var->placed = 1;
}

static uint64_t symbol_value(struct ptx_ctx *ctx, struct sim_module *module,
			     const struct ptx_init *init)
{
	const struct ptx_sym *sym = init->sym;

	if (sym->kind == SYM_FUNC) {
		const struct ptx_func *func = sym->func->alias ? sym->func->alias : sym->func;

		if (!func->has_body || func->is_entry)
			ptx_fail(ctx, SIM_ERROR_UNRESOLVED, init->line,
				 "'%.200s' cannot initialise a variable", sym->name.text);
		return (uintptr_t)&module->funcs[func->index] + init->value;
	}
	if (!sym->var.placed || !is_module_memory(&sym->var))
		ptx_fail(ctx, SIM_ERROR_UNRESOLVED, init->line,
			 "'%.200s' cannot initialise a variable", sym->name.text);
	return sym->var.address + init->value;
}

static void initialise(struct ptx_ctx *ctx, struct sim_module *module, const struct ptx_var *var)
{
	const struct ptx_init *init;
	uint64_t value;

	for (init = var->init; init; init = init->next) {
		value = init->sym ? symbol_value(ctx, module, init) : init->value;
		if (init->mask)
			value = (value & init->mask) >> __builtin_ctzll(init->mask);
		memcpy((unsigned char *)(uintptr_t)var->address + init->offset, &value, init->size);
	}
}

void layout_globals(struct ptx_ctx *ctx, struct sim_module *module)
{
	unsigned i;

	module->variables = ptx_keep(ctx, ctx->var_count * sizeof(*module->variables));
	for (i = 0; i < ctx->var_count; i++) {
		struct ptx_var *var = &ctx->vars[i]->var;

		if (is_module_memory(var) && var->linkage != LINK_EXTERN)
			place_global(ctx, module, ctx->vars[i]);
	}
	for (i = 0; i < ctx->var_count; i++)
		if (ctx->vars[i]->var.placed && is_module_memory(&ctx->vars[i]->var))
			initialise(ctx, module, &ctx->vars[i]->var);
}

/*
 * Shared variables that one kernel can reach, itself or through the functions
 * it may call, need room side by side; others may overlap.
 */
struct shared_layout {
	struct ptx_ctx *ctx;
	struct ptx_var **vars;
	unsigned var_count;
	unsigned words;			/* of a set of functions */
	uint64_t *reach;		/* per function: functions reached */
	uint64_t *users;		/* per variable: kernels that reach it */
};

static int in_set(const uint64_t *set, unsigned i)
{
	return set[i / 64] >> (i % 64) & 1;
}

/* A function pointer may lead to any function whose address is taken: here, to any at all. */
static void reach_from(struct shared_layout *s, struct ptx_func *kernel, unsigned *stack)
{
	uint64_t *set = s->reach + (size_t)kernel->index * s->words;
	unsigned depth = 0, i;

	stack[depth++] = kernel->index;
	set[kernel->index / 64] |= 1ull << (kernel->index % 64);
	while (depth) {
		struct ptx_func *func = s->ctx->funcs[stack[--depth]];
		unsigned count = func->calls_indirect ? s->ctx->func_count : func->callee_count;

		for (i = 0; i < count; i++) {
			struct ptx_func *callee = func->calls_indirect ? s->ctx->funcs[i] :
						  func->callees[i];

			if (callee->alias)
				callee = callee->alias;
			if (callee->is_entry || in_set(set, callee->index))
				continue;
			set[callee->index / 64] |= 1ull << (callee->index % 64);
			stack[depth++] = callee->index;
		}
	}
}

static void note_users(struct shared_layout *s)
{
	struct ptx_ctx *ctx = s->ctx;
	unsigned k, f, i;

	for (k = 0; k < ctx->func_count; k++) {
		const uint64_t *set = s->reach + (size_t)k * s->words;

		if (!ctx->funcs[k]->is_entry || !ctx->funcs[k]->has_body)
			continue;
		for (f = 0; f < ctx->func_count; f++)
			for (i = 0; in_set(set, f) && i < ctx->funcs[f]->shared_count; i++)
				s->users[(size_t)ctx->funcs[f]->shared[i]->index * s->words + k / 64] |=
					1ull << (k % 64);
	}
}

static int share_kernel(const struct shared_layout *s, unsigned a, unsigned b)
{
	unsigned i;

	for (i = 0; i < s->words; i++)
		if (s->users[(size_t)a * s->words + i] & s->users[(size_t)b * s->words + i])
			return 1;
	return 0;
}

static void place_shared(struct shared_layout *s)
{
	unsigned i, k;

	for (i = 0; i < s->var_count; i++) {
		struct ptx_var *var = s->vars[i];
		uint64_t at = 0;

		if (var->unsized)
			continue;
		for (k = 0; k < i; k++)
			if (!s->vars[k]->unsized && share_kernel(s, i, k) &&
			    s->vars[k]->address + s->vars[k]->size > at)
				at = s->vars[k]->address + s->vars[k]->size;
		var->address = (at + var->align - 1) & ~(uint64_t)(var->align - 1);
		var->placed = 1;
	}
}

/* Static bytes and the alignment of what comes behind. */
static void measure(const struct shared_layout *s, struct ptx_func *func, struct sim_kernel *kernel)
{
	uint64_t end = 0;
	unsigned i;

	kernel->shared_align = 16;
	for (i = 0; i < s->var_count; i++) {
		const struct ptx_var *var = s->vars[i];

		if (!in_set(s->users + (size_t)i * s->words, func->index))
			continue;
		if (var->unsized) {
			if (var->align > kernel->shared_align)
				kernel->shared_align = var->align;
		} else if (var->address + var->size > end) {
			end = var->address + var->size;
		}
	}
	if (end > s->ctx->dev->max_shared_per_block)
		ptx_fail(s->ctx, SIM_ERROR_LAUNCH, func->line,
			 "kernel '%.200s' needs %llu bytes of shared memory, the device has %u",
			 func->name.text, (unsigned long long)end,
			 s->ctx->dev->max_shared_per_block);
	kernel->info.static_shared = (uint32_t)end;
}

void layout_shared(struct ptx_ctx *ctx, struct sim_module *module)
{
	struct shared_layout s = { .ctx = ctx, .words = ctx->func_count / 64 + 1 };
	unsigned i, at = 0, *stack = ptx_array(ctx, (size_t)ctx->func_count + 1, sizeof(*stack));

	s.vars = ptx_array(ctx, ctx->var_count, sizeof(*s.vars));
	for (i = 0; i < ctx->var_count; i++)
		if (ctx->vars[i]->var.space == SPACE_SHARED) {
			s.vars[s.var_count] = &ctx->vars[i]->var;
			ctx->vars[i]->var.index = s.var_count++;
		}
	s.reach = ptx_array(ctx, (size_t)ctx->func_count * s.words, sizeof(*s.reach));
	s.users = ptx_array(ctx, (size_t)s.var_count * s.words, sizeof(*s.users));
	for (i = 0; i < ctx->func_count; i++)
		if (ctx->funcs[i]->is_entry)
			reach_from(&s, ctx->funcs[i], stack);
	note_users(&s);
	place_shared(&s);
	for (i = 0; i < ctx->func_count; i++)
		if (ctx->funcs[i]->is_entry && ctx->funcs[i]->has_body)
			measure(&s, ctx->funcs[i], &module->kernels[at++]);
}
