/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_READER_READER_H
#define GT_READER_READER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "lib/reader/queue.h"
#include "lib/reader/records.h"
#include "lib/reader/ring.h"
#include "lib/symbol/unwind.h"
#include "lib/target/target.h"

struct gputrace_reader {
	atomic_uint references;
	struct gputrace_target *target;	/* NULL: another process reads it, and we its stream */
	struct gt_source *source;	/* that stream */
	struct gt_publisher *publisher;	/* NULL: nobody else is told */
	uint64_t window_ns;
	int epoll_fd;
	struct gt_queue queue;
	struct gt_metrics *metrics;	/* NULL: none are sampled */
	struct gt_handlers *handlers;	/* NULL: all records become events */
	struct gputrace_symbolizer *symbolizer;	/* may be NULL */
	struct gputrace_symbolizer *unwinder;	/* while there is none, of the reader's own; NULL: not needed yet */
	uint64_t frames[GT_UNWIND_FRAMES];	/* of the call at hand */
	struct gt_queued *current;	/* what gputrace_reader_next() gave last */
	uint64_t last_end;		/* of all that were given */
	uint64_t lost, api_lost;
	uint64_t collected;		/* CLOCK_MONOTONIC ns: all that was written before has been taken in */
	bool ended;			/* nothing more will come */
	bool out_of_memory;		/* said once */
	uint8_t payload[GT_RECORD_MAX_PAYLOAD] __attribute__((aligned(8)));
};

/* CLOCK_MONOTONIC ns, and such a time as functions that wait for it want it. */
uint64_t gt_reader_now(void);
struct timespec gt_reader_moment(uint64_t time);

/* Queue an event; counts it as lost when there is no memory. */
void gt_reader_push(struct gputrace_reader *reader, struct gt_queued *queued);
void gt_reader_push_lost(struct gputrace_reader *reader, struct gt_process *process,
			 const char *where, uint64_t count);
void gt_reader_push_note(struct gputrace_reader *reader, struct gt_process *process,
			 const char *text, size_t size);

/* agent_ring.c, gpu_ring.c: take in what has come; how many records. */
unsigned gt_reader_drain_agent(struct gputrace_reader *reader, struct gt_process *process);
unsigned gt_reader_drain_gpu(struct gputrace_reader *reader, struct gt_process *process);
unsigned gt_reader_drain_api(struct gputrace_reader *reader);

/* api_ring.c: a process has come, whose stacks may have to be unwound. */
void gt_reader_meet(struct gputrace_reader *reader, const struct gt_process *process);

struct gt_api_call;
/* api_ring.c: a call as an event of `type`; process: NULL if none of ours made it. */
void gt_reader_push_call(struct gputrace_reader *reader, struct gt_process *process,
			 const struct gt_api_call *call, int type);

/*
 * When an event is due: all that comes before it has had the window's time to be taken
 * in.  A thread may be put aside between a launch and its record of it, so that a kernel
 * waits longer, a second at most, for a launch that is not known yet; as does a copy for its clock.
 */
uint64_t gt_reader_due(const struct gt_queued *queued, uint64_t window_ns);

/* resolve.c: fill in, right before delivery, what other records say of an event. */
void gt_reader_resolve(struct gt_queued *queued);

/* GPU time to host time by the context's clock; false: not known, *host and *error untouched. */
bool gt_reader_host_time(const struct gt_target_context *context, uint64_t gpu, uint64_t *ret_host,
			 uint64_t *ret_error);

/*
 * Nothing on the GPU starts before the call for it was entered, nor after it was waited for: where
 * the clock's error allows for more than that, it gets smaller.  What lies outside by more than the
 * error is a contradiction, which stays as it is, to be seen.  with_end: the end moves with the start.
 */
void gt_reader_confine_start(struct gputrace_event *event, uint64_t earliest, uint64_t latest, bool with_end);

/*
 * The GPU knows a kernel's length far better than we know where it lies: of the moments that the
 * bounds of start and end allow, those which are that far apart.  Where none are, as after a long
 * time at the clock's drift, the bounds say more than the length does.
 */
void gt_reader_keep_length(struct gputrace_event *event, uint64_t start_error, uint64_t end_error);

#endif
