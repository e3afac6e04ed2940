/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/ctx.h"

#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/error.h"

struct gputrace_ctx {
	atomic_uint references;
	gputrace_log_fn log;
	void *log_data;
	uint32_t log_level;
};

int gt_opts_read(const void *opts, uint64_t min_size, void *known, uint64_t known_size)
{
	uint64_t size;

	memset(known, 0, known_size);
	if (!opts)
		return 0;
	memcpy(&size, opts, sizeof(size));
	if (size < min_size || size > 4096)
		return gt_error(-EINVAL, "the size field of an option struct is %llu: set it to sizeof(the struct)",
				(unsigned long long)size);
	for (uint64_t i = known_size; i < size; i++) {
		if (((const uint8_t *)opts)[i])
			return gt_error(-E2BIG, "an option struct sets a field that this version (%s) does not know",
					gputrace_version());
	}
	memcpy(known, opts, size < known_size ? size : known_size);
	return 0;
}

int gputrace_ctx_new(const struct gputrace_ctx_opts *opts, struct gputrace_ctx **ret_ctx)
{
	struct gputrace_ctx_opts known;
	struct gputrace_ctx *ctx;
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (r)
		return r;
	if (known.reserved || known.log_level > GPUTRACE_LOG_DEBUG)
		return gt_error(-EINVAL, "log_level %u: at most %d, and reserved fields are 0",
				known.log_level, GPUTRACE_LOG_DEBUG);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return gt_error(-ENOMEM, "out of memory");
	ctx->references = 1;
	ctx->log = known.log;
	ctx->log_data = known.log_data;
	ctx->log_level = known.log_level ? known.log_level : GPUTRACE_LOG_WARNING;
	*ret_ctx = ctx;
	return 0;
}

struct gputrace_ctx *gputrace_ctx_ref(struct gputrace_ctx *ctx)
{
	if (ctx)
		atomic_fetch_add(&ctx->references, 1);
	return ctx;
}

struct gputrace_ctx *gputrace_ctx_unref(struct gputrace_ctx *ctx)
{
	if (ctx && atomic_fetch_sub(&ctx->references, 1) == 1)
		free(ctx);
	return NULL;
}

void gt_log(struct gputrace_ctx *ctx, int level, const char *format, ...)
{
	char text[1024];
	va_list args;

	if (!ctx || !ctx->log || level > (int)ctx->log_level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	ctx->log(ctx->log_data, level, text);
}

const char *gputrace_last_error(void)
{
	return gt_error_text();
}

int gputrace_last_vendor_error(void)
{
	return gt_error_vendor_code();
}

const char *gputrace_version(void)
{
	return PACKAGE_VERSION;
}
