/* SPDX-License-Identifier: Apache-2.0 */
/* The stream of a reader in another process. */
#ifndef GT_READER_CONNECT_H
#define GT_READER_CONNECT_H

struct gputrace_kernel;
struct gputrace_reader;
struct gt_queued;
struct gt_source;

/* A reader of what comes by a stream socket, which is its own from now on also on failure; -ENOMEM, -EMFILE, with gt_error() text. */
int gt_source_open(int fd, struct gputrace_reader **ret_reader);

/* As gputrace_reader_wait(). */
int gt_source_wait(struct gputrace_reader *reader, int timeout_ms);
/* What gputrace_reader_next() gives next, which is the caller's to free; NULL: there is none for now. */
struct gt_queued *gt_source_next(struct gputrace_reader *reader);

/* As gputrace_reader_next_kernel(). */
const struct gputrace_kernel *gt_source_next_kernel(const struct gt_source *source,
						    const struct gputrace_kernel *previous);

/* NULL is fine. */
void gt_source_free(struct gt_source *source);

#endif
