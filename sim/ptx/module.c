/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and unloading of modules, and what can be asked of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"
#include "lower.h"

/* Local memory of a thread whose calls have no bound that could be computed. */
#define UNBOUNDED_STACK 65536
#define MAX_THREADS 1024

static const char *keep_name(struct ptx_ctx *ctx, const struct ptx_name *name)
{
	char *copy = ptx_keep(ctx, (size_t)name->length + 1);

	memcpy(copy, name->text, name->length);
	return copy;
}

static void place_params(struct ptx_ctx *ctx, struct ptx_func *func, struct sim_kernel *kernel)
{
	struct sim_param *params = ptx_keep(ctx, func->proto.param_count * sizeof(*params));
	uint64_t at = 0;
	unsigned i;

	for (i = 0; i < func->proto.param_count; i++) {
		struct ptx_var *var = &func->proto.params[i]->var;
		uint64_t align = var->align ? var->align : 1;

		if (var->unsized)
			ptx_unsupported(ctx, func->line, "kernel '%.200s' with a parameter of no size",
					func->name.text);
		at = (at + align - 1) & ~(align - 1);
		var->address = at;
		var->placed = 1;
		params[i].offset = (uint32_t)at;
		params[i].size = (uint32_t)var->size;
		at += var->size;
	}
	if (at > 32764)
		ptx_syntax(ctx, func->line, "kernel '%.200s' has more than 32764 bytes of parameters",
			   func->name.text);
	kernel->info.param_count = func->proto.param_count;
	kernel->info.params = params;
	kernel->info.param_bytes = (uint32_t)at;
}

static uint32_t thread_limit(const struct ptx_func *func)
{
	uint64_t threads = 1;
	unsigned i;

	if (!func->maxntid[0])
		return MAX_THREADS;
	for (i = 0; i < 3; i++) {
		threads *= func->maxntid[i];
		if (threads > MAX_THREADS)
			return MAX_THREADS;
	}
	return (uint32_t)threads;
}

static void make_kernels(struct ptx_ctx *ctx, struct sim_module *module)
{
	unsigned i;

	module->kernels = ptx_keep(ctx, ctx->func_count * sizeof(*module->kernels));
	for (i = 0; i < ctx->func_count; i++) {
		struct ptx_func *func = ctx->funcs[i];
		struct sim_kernel *kernel = &module->kernels[module->kernel_count];

		if (!func->is_entry || !func->has_body)
			continue;
		module->kernel_count++;
		kernel->module = module;
		kernel->func = &module->funcs[i];
		kernel->info.name = module->funcs[i].name;
		kernel->info.ptx_version = ctx->version;
		kernel->info.max_threads = thread_limit(func);
		if (func->reqntid)
			memcpy(kernel->reqntid, func->maxntid, sizeof(kernel->reqntid));
		memcpy(kernel->cluster, func->cluster, sizeof(kernel->cluster));
		place_params(ctx, func, kernel);
	}
}

static void make_funcs(struct ptx_ctx *ctx, struct sim_module *module)
{
	unsigned i;

	module->func_count = ctx->func_count;
	module->funcs = ptx_keep(ctx, ctx->func_count * sizeof(*module->funcs));
	for (i = 0; i < ctx->func_count; i++)
		module->funcs[i].name = keep_name(ctx, &ctx->funcs[i]->name);
}

/*
 * Local memory down the deepest chain of calls.  A function met again while it
 * is being measured calls itself: there is no bound then.
 */
struct depth_walk {
	struct ptx_ctx *ctx;
	struct sim_module *module;
	unsigned char *state;	/* 1: being measured, 2: done */
	unsigned depth;
};

static uint32_t measure(struct depth_walk *walk, unsigned index)
{
	struct ptx_func *func = walk->ctx->funcs[index];
	struct sim_func *out = &walk->module->funcs[index];
	uint64_t deepest = 0, below;
	unsigned i;

	if (walk->state[index] == 2)
		return out->depth_bytes;
	if (walk->state[index] == 1 || func->calls_indirect || func->uses_alloca || walk->depth > 1000)
		return UINT32_MAX;
	walk->state[index] = 1;
	walk->depth++;
	for (i = 0; i < func->callee_count; i++) {
		struct ptx_func *callee = func->callees[i];

		if (callee->alias)
			callee = callee->alias;
		below = measure(walk, callee->index);
		if (below > deepest)
			deepest = below;
	}
	walk->depth--;
	walk->state[index] = 2;
	out->depth_bytes = deepest >= UINT32_MAX - out->local_bytes - 16 ? UINT32_MAX :
			   (uint32_t)(deepest + out->local_bytes + 16);
	return out->depth_bytes;
}

static uint32_t plausible_registers(const struct ptx_func *func)
{
	uint32_t count = 16 + func->register_slots / 4;

	if (count > 255)
		count = 255;
	if (func->max_regs && count > func->max_regs)
		count = func->max_regs;
	return (count + 7) & ~7u;
}

static void finish_kernels(struct ptx_ctx *ctx, struct sim_module *module)
{
	struct depth_walk walk = { .ctx = ctx, .module = module };
	unsigned i, at = 0;

	walk.state = ptx_alloc(ctx, (size_t)ctx->func_count + 1);
	for (i = 0; i < ctx->func_count; i++) {
		struct ptx_func *func = ctx->funcs[i];
		struct sim_kernel *kernel = &module->kernels[at];
		uint32_t bytes;

		if (!func->is_entry || !func->has_body)
			continue;
		at++;
		bytes = measure(&walk, i);
		if (bytes == UINT32_MAX)
			bytes = module->funcs[i].local_bytes + UNBOUNDED_STACK;
		kernel->info.local_bytes = bytes > 16 ? bytes - 16 : 0;
		kernel->info.registers = plausible_registers(func);
	}
}

static void build(struct ptx_ctx *ctx, struct sim_module *module)
{
	unsigned i;

	ptx_parse(ctx);
	module->ptx_version = ctx->version;
	make_funcs(ctx, module);
	make_kernels(ctx, module);
	layout_globals(ctx, module);
	layout_shared(ctx, module);
	for (i = 0; i < ctx->func_count; i++)
		if (ctx->funcs[i]->has_body)
			lower_function(ctx, module, ctx->funcs[i]);
	finish_kernels(ctx, module);
}

int sim_module_load(const struct sim_device *dev, const char *text, size_t length,
		    struct sim_module **ret_module, struct sim_error *err)
{
	struct sim_module *module = calloc(1, sizeof(*module));
	struct ptx_ctx *ctx = calloc(1, sizeof(*ctx));
	int failed;

	memset(err, 0, sizeof(*err));
	if (!module || !ctx) {
		free(module);
		free(ctx);
		snprintf(err->text, sizeof(err->text), "out of host memory");
		err->kind = SIM_ERROR_MEMORY;
		return -1;
	}
	module->dev = dev;
	pthread_mutex_init(&module->heap_lock, NULL);
	ctx->err = err;
	ctx->dev = dev;
	ctx->keep = &module->keep;
	ptx_lex_init(&ctx->lexer, text, length);
	failed = setjmp(ctx->out);
	if (!failed)
		build(ctx, module);
	arena_free(&ctx->arena);
	free(ctx);
	if (failed) {
		sim_module_unload(module);
		return -1;
	}
	*ret_module = module;
	return 0;
}

void sim_module_unload(struct sim_module *module)
{
	struct heap_piece *piece;
	unsigned i;

	if (!module)
		return;
	while ((piece = module->heap)) {
		module->heap = piece->next;
		module->dev->release(module->dev->data, piece->addr);
		free(piece);
	}
	for (i = 0; i < module->variable_count; i++)
		module->dev->release(module->dev->data, (void *)(uintptr_t)module->variables[i].addr);
	pthread_mutex_destroy(&module->heap_lock);
	arena_free(&module->keep);
	free(module);
}

struct sim_kernel *sim_module_kernel(struct sim_module *module, unsigned index)
{
	return index < module->kernel_count ? &module->kernels[index] : NULL;
}

struct sim_kernel *sim_module_find_kernel(struct sim_module *module, const char *name)
{
	unsigned i;

	for (i = 0; i < module->kernel_count; i++)
		if (!strcmp(module->kernels[i].info.name, name))
			return &module->kernels[i];
	return NULL;
}

const struct sim_kernel_info *sim_kernel_info(const struct sim_kernel *kernel)
{
	return &kernel->info;
}

int sim_module_find_variable(struct sim_module *module, const char *name, uint64_t *ret_addr,
			     uint64_t *ret_size)
{
	unsigned i;

	for (i = 0; i < module->variable_count; i++)
		if (module->variables[i].is_visible && !strcmp(module->variables[i].name, name)) {
			*ret_addr = module->variables[i].addr;
			*ret_size = module->variables[i].size;
			return 0;
		}
	return -1;
}
