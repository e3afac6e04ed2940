/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_CTX_H
#define GT_CTX_H

#include <stdint.h>

struct gputrace_ctx;

/* Log through the context's callback; ctx may be NULL.  level: enum gputrace_log_level. */
void gt_log(struct gputrace_ctx *ctx, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Check an option struct that a caller passed: NULL is fine; size at least
 * min_size; bytes that this version does not know must be zero.  Copies what is
 * known into `known` (known_size bytes, zeroed first).  0, -EINVAL, -E2BIG.
 */
int gt_opts_read(const void *opts, uint64_t min_size, void *known, uint64_t known_size);

#endif
