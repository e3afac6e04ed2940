/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUTRACE_READER_H
#define GPUTRACE_READER_H

#include <gputrace/common.h>

GPUTRACE_BEGIN_DECLS

struct gputrace_target;
struct gputrace_event;
struct gputrace_gpu;
struct gputrace_map;
struct gputrace_symbolizer;

/*
 * One stream over all rings of a target.  Events come in the order of their ends
 * in host time, so a call that contains others comes after them.  One whose record is
 * written later than the reader waits for it, as by a thread that was put aside on a busy
 * machine, comes behind later ones: gputrace_event_get_lateness() says so.  Since 0.1.
 */
struct gputrace_reader;

struct gputrace_reader_opts {
	uint64_t size;
	/*
	 * How long an event is held back so that earlier ones can overtake it; default 20 ms.
	 * The longer, the fewer come late.
	 * A kernel whose launch, or time, is not known yet: up to 1 s.
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

/*
 * The CUDA kernel after `previous` (NULL: the first), in order of loading, of those that the
 * reader has taken in; NULL past the last.  With a target it is gputrace_target_next_kernel().
 * A reader of another process's stream is told of those known before it came, too; its kernels
 * belong to it, their reason is valid until the reader is used again, and how often they were
 * launched is what was so when it was last told of them, at the latest at the stream's end.
 * Since 0.1.
 */
struct gputrace_kernel;
GPUTRACE_API const struct gputrace_kernel *
gputrace_reader_next_kernel(struct gputrace_reader *reader, const struct gputrace_kernel *previous);

/* Records dropped so far, over all rings. */
GPUTRACE_API uint64_t gputrace_reader_get_lost(const struct gputrace_reader *reader);

/* ---- records in batches ---- */

/*
 * What GPU programs wrote to a ring buffer map in one CUDA context, in the order of the
 * ring.  Later versions may have more members at the end.  Since 0.1.
 */
struct gputrace_records {
	const struct gputrace_gpu *gpu;	/* NULL: not known */
	int pid;
	uint32_t context;		/* as gputrace_event_get_context() */
	uint32_t count;			/* 1 to 4096 */
	uint32_t data_size;		/* bytes of all of them, with what lies between */
	const uint32_t *sizes;		/* bytes of each record */
	const void *data;		/* the first record; each begins at the next multiple of 8 bytes behind the one before */
};

/* What it is given is valid until it returns.  It must not use the reader, nor its target and links. */
typedef void (*gputrace_records_fn)(void *data, const struct gputrace_records *records);

/*
 * Give the records of one ring buffer map to a function, many at a time, instead of as
 * events (GPUTRACE_EVENT_DATA): an event costs very many times as much as a record.  The function is
 * called within gputrace_reader_wait(), as soon as records are read: in no order with events or
 * with those of other contexts.  What was lost is told by events (GPUTRACE_EVENT_LOST) all the
 * same; readers of other processes do not get such records.  fn NULL: as events again.
 * The reader keeps the map's object.
 * -EINVAL: the map is no ring buffer; -EOPNOTSUPP: the reader is a connected one; -ENOMEM.
 * Since 0.1.
 */
GPUTRACE_API int gputrace_reader_set_records(struct gputrace_reader *reader, struct gputrace_map *map,
					     gputrace_records_fn fn, void *data);

/* ---- readers in other processes ---- */

struct gputrace_publish_opts {
	uint64_t size;
	uint64_t buffer_bytes;	/* for each reader that follows, 64 KiB to 1 GiB; default 16 MiB */
	uint32_t linger_ms;	/* how long the last unref waits for those that have not taken all; default 1000 */
	uint32_t reserved;	/* 0 */
};

/*
 * From now on also tell each event that gputrace_reader_next() gives to readers in
 * other processes of this machine, made by gputrace_reader_connect() with this path: a
 * Unix socket, which exists until the reader is gone and which only processes of this
 * user and of root may use, up to 64 at a time.  They are served within
 * gputrace_reader_wait() and _next().  One that is slow is never waited for: what finds
 * no room in its buffer is counted, and it is told by a GPUTRACE_EVENT_LOST.
 * -EBUSY: this reader publishes already, or is a connected one itself; -EADDRINUSE:
 * the path exists, and is not what an ended process has left; -EINVAL: the path is
 * empty or too long (107 bytes), or opts; -E2BIG: opts; -ENOMEM; -EMFILE and the like;
 * errors of bind(2).  Since 0.1.
 */
GPUTRACE_API int gputrace_reader_publish(struct gputrace_reader *reader, const char *path,
					 const struct gputrace_publish_opts *opts);

/*
 * A reader of the stream that another process publishes at this path: the same events
 * in the same order from when that process has let it in.  It has no target, and is
 * used by one thread at a time.  GPUs of events live as long as the reader.  Needs the
 * same version of the library on both sides.
 * gputrace_reader_wait() gives -ENODATA when the stream has ended, -ECONNRESET when the
 * process was gone before all was delivered, -EPROTO when what comes is no such stream
 * or one of another version, -ENOMEM.  Its descriptor becomes readable with each event.
 * -ENOENT: there is nothing at the path; -ECONNREFUSED: no longer; -EACCES: it is
 * another user's; -EAGAIN: too many are waiting to be let in; -EINVAL: path; -ENOMEM;
 * -EMFILE.  Since 0.1.
 */
GPUTRACE_API int gputrace_reader_connect(const char *path, struct gputrace_reader **ret_reader);

GPUTRACE_END_DECLS

#endif
