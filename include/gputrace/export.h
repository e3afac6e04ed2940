/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_EXPORT_H
#define GPUTRACE_EXPORT_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_ctx;
struct gputrace_event;
struct gputrace_symbolizer;

/* Writes a stream of events into a file.  Since 0.1. */
struct gputrace_writer;

enum gputrace_format {
	GPUTRACE_FORMAT_CHROME_JSON,	/* as PyTorch's Kineto writes it; opens in Perfetto and chrome://tracing */
	/*
	 * For flamegraph.pl and its kin: a line for each stack of callers, "outermost;...;innermost
	 * N", of calls on the host and, marked "[GPU]", of the kernels and copies that they called for;
	 * N is nanoseconds in all, of calls without those within them.
	 */
	GPUTRACE_FORMAT_FOLDED_STACKS
};

/*
 * Create (or empty) a file.  Of a path that ends in ".gz" it is compressed, as gzip(1) does it; Perfetto opens such
 * files, too.  The errors of open(2); -EINVAL: no such format, or the path ends as those of files that are compressed
 * otherwise (".zst", ".xz", ".bz2", ".zip" and the like); -ENOMEM.
 */
GPUTRACE_API int gputrace_writer_open(struct gputrace_ctx *ctx, const char *path, int format,
				      struct gputrace_writer **ret_writer);

/*
 * Let the symbolizer name the functions in stacks (NULL: addresses stand for them).
 * It should be the reader's.  The writer holds a reference; both then count as one object.
 */
GPUTRACE_API void gputrace_writer_set_symbolizer(struct gputrace_writer *writer,
						 struct gputrace_symbolizer *symbolizer);

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
