/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_EXPORT_H
#define GPUTRACE_EXPORT_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_ctx;
struct gputrace_event;

/* Writes a stream of events into a file.  Since 0.1. */
struct gputrace_writer;

enum gputrace_format {
	GPUTRACE_FORMAT_CHROME_JSON	/* as PyTorch's Kineto writes it; opens in Perfetto and chrome://tracing */
};

/*
 * Create (or empty) a file.  The errors of open(2); -EINVAL: no such format.
 */
GPUTRACE_API int gputrace_writer_open(struct gputrace_ctx *ctx, const char *path, int format,
				      struct gputrace_writer **ret_writer);

/* Add an event, in the reader's order.  -EINVAL, -ENOMEM, the errors of write(2); after one, nothing more is written. */
GPUTRACE_API int gputrace_writer_add(struct gputrace_writer *writer,
				     const struct gputrace_event *event);

/*
 * Finish the file and free the writer (also on failure).  Without it the file is
 * incomplete.  NULL is fine.  The errors of write(2) and close(2), or that of gputrace_writer_add().
 */
GPUTRACE_API int gputrace_writer_close(struct gputrace_writer *writer);

GPUTRACE_END_DECLS

#endif
