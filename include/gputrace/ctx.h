/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_CTX_H
#define GPUTRACE_CTX_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

/*
 * A library context: the log callback and the defaults of what is made from it.
 * Immutable after it is made, so any number of threads may use it.  Since 0.1.
 */
struct gputrace_ctx;

enum gputrace_log_level {
	GPUTRACE_LOG_ERROR = 3,
	GPUTRACE_LOG_WARNING = 4,
	GPUTRACE_LOG_INFO = 6,
	GPUTRACE_LOG_DEBUG = 7
};

/* Receives one finished line without newline.  May be called by any thread that uses the context. */
typedef void (*gputrace_log_fn)(void *data, int level, const char *text);

struct gputrace_ctx_opts {
	uint64_t size;
	gputrace_log_fn log;		/* default: nothing is logged */
	void *log_data;
	uint32_t log_level;		/* highest enum gputrace_log_level passed on; default warning */
	uint32_t reserved;
};

/* -EINVAL, -E2BIG: opts; -ENOMEM. */
GPUTRACE_API int gputrace_ctx_new(const struct gputrace_ctx_opts *opts,
				  struct gputrace_ctx **ret_ctx);
GPUTRACE_API struct gputrace_ctx *gputrace_ctx_ref(struct gputrace_ctx *ctx);
GPUTRACE_API struct gputrace_ctx *gputrace_ctx_unref(struct gputrace_ctx *ctx);

/* The library's version, "0.1.0".  Since 0.1. */
GPUTRACE_API const char *gputrace_version(void);

GPUTRACE_END_DECLS

#endif
