/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/reader.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "lib/attach/link.h"
#include "lib/ctx.h"
#include "lib/metrics/metrics.h"
#include "lib/reader/connect.h"
#include "lib/reader/copies.h"
#include "lib/reader/publish.h"
#include "lib/reader/ranges.h"
#include "lib/target/context.h"
#include "lib/uprobe/api_trace.h"
#include "lib/util/error.h"

#define DEFAULT_WINDOW_NS 20000000u
#define POLL_MS 2	/* rings that the GPU writes wake nobody up */

uint64_t gt_reader_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct timespec gt_reader_moment(uint64_t time)
{
	return (struct timespec){ .tv_sec = (time_t)(time / 1000000000u), .tv_nsec = (long)(time % 1000000000u) };
}

void gt_reader_push(struct gputrace_reader *reader, struct gt_queued *queued)
{
	uint64_t now = gt_reader_now();

	/* What has been reported has happened: an event must not wait in the queue for a time that was made up. */
	if (queued && queued->event.end > now)
		queued->event.end = now;
	if (queued && !gt_queue_push(&reader->queue, queued))
		return;
	reader->lost++;
	if (!reader->out_of_memory)
		gt_log(reader->target->ctx, GPUTRACE_LOG_ERROR, "out of memory: events are lost from here on");
	reader->out_of_memory = true;
}

void gt_reader_push_lost(struct gputrace_reader *reader, struct gt_process *process,
			 const char *where, uint64_t count)
{
	struct gt_queued *queued = gt_queued_new(GPUTRACE_EVENT_LOST, process, 0);

	reader->lost += count;
	if (queued) {
		queued->event.time = queued->event.end = gt_reader_now();
		queued->event.name = where;
		queued->event.count = count;
	}
	gt_reader_push(reader, queued);
}

void gt_reader_push_note(struct gputrace_reader *reader, struct gt_process *process,
			 const char *text, size_t size)
{
	struct gt_queued *queued;

	if (!size)
		size = strlen(text) + 1;
	queued = gt_queued_new(GPUTRACE_EVENT_NOTE, process, size);
	if (queued) {
		queued->event.time = queued->event.end = gt_reader_now();
		queued->event.text = memcpy(queued->bytes, text, size);
	}
	gt_reader_push(reader, queued);
}

static void announce(struct gputrace_reader *reader, struct gt_process *process, int type)
{
	struct gt_queued *queued = gt_queued_new(type, process, 0);

	if (queued) {
		queued->event.time = queued->event.end = gt_reader_now();
		queued->event.name = process->command;
	}
	gt_reader_push(reader, queued);
}

/* Everything that has come so far, into the queue; how many records. */
static unsigned collect(struct gputrace_reader *reader)
{
	struct gputrace_target *target = reader->target;
	uint64_t now = gt_reader_now();
	unsigned count = 0;

	gputrace_target_dispatch(target);
	gt_target_update_clocks(target, now);
	for (struct gt_process *process = target->processes; process; process = process->next) {
		bool live = process->socket >= 0;
		unsigned n;

		if (!process->configured || !process->base)
			continue;
		if (!process->announced) {
			gt_reader_meet(reader, process);
			announce(reader, process, GPUTRACE_EVENT_PROCESS);
		}
		process->announced = true;
		n = gt_reader_drain_agent(reader, process) + gt_reader_drain_gpu(reader, process);
		if (!n && !live && !process->ended_announced) {
			if (!process->ready)
				gt_reader_push_note(reader, process, "the agent could not take its orders (is there too little memory, are there too few descriptors?): this process ran without probes", 0);
			gt_reader_close_ranges(reader, process);
			gt_reader_close_copies(reader, process);
			announce(reader, process, GPUTRACE_EVENT_EXIT);
			process->ended_announced = true;
		}
		if (process->end_delivered)
			gt_process_retire(process);
		count += n;
	}
	count += gt_reader_drain_api(reader);
	gt_metrics_collect(reader);
	reader->collected = now;
	return count;
}

int gputrace_reader_new(struct gputrace_target *target, const struct gputrace_reader_opts *opts,
			struct gputrace_reader **ret_reader)
{
	struct gputrace_reader_opts known;
	struct gputrace_reader *reader;
	struct epoll_event event = { .events = EPOLLIN };
	int r = gt_opts_read(opts, sizeof(uint64_t), &known, sizeof(known));

	if (r)
		return r;
	if (target->reader)
		return gt_error(-EBUSY, "the target has a reader already");
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return gt_error(-ENOMEM, "out of memory");
	reader->references = 1;
	reader->window_ns = known.window_ns ? known.window_ns : DEFAULT_WINDOW_NS;
	reader->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (reader->epoll_fd < 0 ||
	    epoll_ctl(reader->epoll_fd, EPOLL_CTL_ADD, target->epoll_fd, &event)) {
		r = gt_error(-errno, "no epoll descriptor: %s", strerror(errno));
		if (reader->epoll_fd >= 0)
			close(reader->epoll_fd);
		free(reader);
		return r;
	}
	reader->target = gputrace_target_ref(target);
	target->reader = reader;
	*ret_reader = reader;
	return 0;
}

struct gputrace_reader *gputrace_reader_ref(struct gputrace_reader *reader)
{
	if (reader)
		atomic_fetch_add(&reader->references, 1);
	return reader;
}

struct gputrace_reader *gputrace_reader_unref(struct gputrace_reader *reader)
{
	if (!reader || atomic_fetch_sub(&reader->references, 1) != 1)
		return NULL;
	gt_publisher_close(reader->publisher);
	gt_metrics_free(reader->metrics);
	if (reader->target)
		reader->target->reader = NULL;
	gputrace_target_unref(reader->target);
	gt_source_free(reader->source);
	gt_queue_free(&reader->queue);
	gt_handlers_free(reader->handlers);
	free(reader->current);
	gputrace_symbolizer_unref(reader->symbolizer);
	gputrace_symbolizer_unref(reader->unwinder);
	close(reader->epoll_fd);
	free(reader);
	return NULL;
}

void gputrace_reader_set_symbolizer(struct gputrace_reader *reader, struct gputrace_symbolizer *symbolizer)
{
	gputrace_symbolizer_ref(symbolizer);
	gputrace_symbolizer_unref(reader->symbolizer);
	reader->symbolizer = symbolizer;
}

int gputrace_reader_get_fd(const struct gputrace_reader *reader)
{
	return reader->epoll_fd;
}

uint64_t gputrace_reader_get_lost(const struct gputrace_reader *reader)
{
	return reader->lost;
}

const struct gputrace_kernel *gputrace_reader_next_kernel(struct gputrace_reader *reader,
							  const struct gputrace_kernel *previous)
{
	return reader->source ? gt_source_next_kernel(reader->source, previous) :
				gputrace_target_next_kernel(reader->target, previous);
}

static bool is_due(const struct gputrace_reader *reader)
{
	const struct gt_queued *first = gt_queue_first(&reader->queue);

	/*
	 * Measured from the last look at the rings, not from now: what an event is
	 * tied to may have been written since.
	 */
	return first && (reader->ended || gt_reader_due(first, reader->window_ns) <= reader->collected);
}

static void look(struct gputrace_reader *reader)
{
	bool over = gt_target_is_over(reader->target);

	if (reader->publisher)
		gt_publisher_serve(reader->publisher);
	if (collect(reader) || !over || !gt_target_is_over(reader->target))
		return;
	reader->ended = true;
	gt_metrics_end(reader);
}

int gputrace_reader_wait(struct gputrace_reader *reader, int timeout_ms)
{
	uint64_t start = gt_reader_now();

	if (reader->source)
		return gt_source_wait(reader, timeout_ms);
	for (;;) {
		struct pollfd wait = { .fd = reader->epoll_fd, .events = POLLIN };
		uint64_t waited;

		look(reader);
		if (is_due(reader))
			return 1;
		if (reader->ended && reader->publisher)
			gt_publisher_end(reader->publisher);
		if (reader->ended)
			return gt_error(-ENODATA, "the target has ended and everything was delivered");
		waited = (gt_reader_now() - start) / 1000000;
		if (timeout_ms >= 0 && waited >= (uint64_t)timeout_ms)
			return 0;
		poll(&wait, 1, POLL_MS);
	}
}

/* Of our own rings. */
static struct gt_queued *next_due(struct gputrace_reader *reader)
{
	const struct gt_queued *next;
	struct gt_queued *queued;

	while (is_due(reader)) {
		queued = gt_queue_pop(&reader->queue);
		gt_reader_resolve(queued);
		next = gt_queue_first(&reader->queue);
		/* One that claims a time still to come is not worth waiting for. */
		if (!next || next->event.end >= queued->event.end || queued->event.end > reader->collected) {
			if (reader->publisher)
				gt_publisher_tell(reader->publisher, &queued->event);
			if (queued->event.type == GPUTRACE_EVENT_EXIT)
				queued->process->end_delivered = true;
			return queued;
		}
		/* By what the clock has learnt meanwhile, or with its error, it comes later. */
		gt_reader_push(reader, queued);
	}
	return NULL;
}

const struct gputrace_event *gputrace_reader_next(struct gputrace_reader *reader)
{
	struct gputrace_event *event;

	free(reader->current);
	reader->current = reader->source ? gt_source_next(reader) : next_due(reader);
	if (!reader->current)
		return NULL;
	event = &reader->current->event;
	if (event->end < reader->last_end)
		event->lateness = reader->last_end - event->end;
	else
		reader->last_end = event->end;
	return event;
}
