/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "context.h"

void ptx_fail(struct ptx_ctx *ctx, int kind, unsigned line, const char *format, ...)
{
	struct sim_error *err = ctx->err;
	int n = 0;
	va_list ap;

	if (line)
		n = snprintf(err->text, sizeof(err->text), "ptx: line %u: ", line);
	va_start(ap, format);
	vsnprintf(err->text + n, sizeof(err->text) - n, format, ap);
	va_end(ap);
	err->line = line;
	err->kind = kind;
	longjmp(ctx->out, 1);
}

void *ptx_alloc(struct ptx_ctx *ctx, size_t size)
{
	void *memory = arena_alloc(&ctx->arena, size);

	if (!memory)
		ptx_fail(ctx, SIM_ERROR_MEMORY, 0, "out of memory for the PTX module");
	return memory;
}

void *ptx_keep(struct ptx_ctx *ctx, size_t size)
{
	void *memory = arena_alloc(ctx->keep, size);

	if (!memory)
		ptx_fail(ctx, SIM_ERROR_MEMORY, 0, "out of memory for the PTX module");
	return memory;
}

void *ptx_array(struct ptx_ctx *ctx, size_t count, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(count, size, &bytes))
		bytes = SIZE_MAX;
	return ptx_alloc(ctx, bytes);
}

void *ptx_grow(struct ptx_ctx *ctx, void *array, unsigned count, unsigned *room, size_t size)
{
	void *bigger;

	if (count < *room)
		return array;
	*room = *room ? *room * 2 : 16;
	bigger = ptx_array(ctx, *room, size);
	if (count)
		memcpy(bigger, array, count * size);
	return bigger;
}
