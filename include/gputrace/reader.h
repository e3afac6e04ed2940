/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_READER_H
#define GPUTRACE_READER_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_target;
struct gputrace_event;
struct gputrace_symbolizer;

/*
 * One stream over all rings of a target.  Events come in the order of their ends
 * in host time, so a call that contains others comes after them.  Since 0.1.
 */
struct gputrace_reader;

struct gputrace_reader_opts {
	uint64_t size;
	/*
	 * How long an event is held back so that earlier ones can overtake it; default 20 ms.
	 * A kernel whose launch is not known yet: up to 1 s.
	 */
	uint64_t window_ns;
};

/* -EBUSY: the target has a reader already; -EINVAL, -E2BIG: opts; -EMFILE, -ENFILE; -ENOMEM. */
GPUTRACE_API int gputrace_reader_new(struct gputrace_target *target,
				     const struct gputrace_reader_opts *opts,
				     struct gputrace_reader **ret_reader);
GPUTRACE_API struct gputrace_reader *gputrace_reader_ref(struct gputrace_reader *reader);
GPUTRACE_API struct gputrace_reader *gputrace_reader_unref(struct gputrace_reader *reader);

/*
 * Becomes readable when there may be something to do.  Rings that the GPU writes
 * cannot wake anybody up, so wait with a timeout of some milliseconds.
 */
GPUTRACE_API int gputrace_reader_get_fd(const struct gputrace_reader *reader);

/*
 * Wait for events, at most timeout_ms (-1: for ever), serving the target's agents
 * meanwhile.  1: gputrace_reader_next() has something; 0: nothing in that time;
 * -ENODATA: the target has ended and everything was delivered.  Signals do not end it.
 */
GPUTRACE_API int gputrace_reader_wait(struct gputrace_reader *reader, int timeout_ms);

/*
 * The next event of those that gputrace_reader_wait() took in, NULL when there is
 * none for now.  Never blocks.  Valid until the next call with this reader.
 */
GPUTRACE_API const struct gputrace_event *gputrace_reader_next(struct gputrace_reader *reader);

/*
 * Show the symbolizer each stack as it comes in (NULL: no longer), so that it can
 * name the functions in it also when the process has ended before the event is
 * delivered.  The reader holds a reference; both then count as one object.
 */
GPUTRACE_API void gputrace_reader_set_symbolizer(struct gputrace_reader *reader,
						 struct gputrace_symbolizer *symbolizer);

/* Records dropped so far, over all rings. */
GPUTRACE_API uint64_t gputrace_reader_get_lost(const struct gputrace_reader *reader);

GPUTRACE_END_DECLS

#endif
