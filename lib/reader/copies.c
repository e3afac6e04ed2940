/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/copies.h"

#include <gputrace/gputrace.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reader/launches.h"
#include "lib/reader/reader.h"

_Static_assert((int)GT_COPY_MEMSET == (int)GPUTRACE_COPY_MEMSET && (int)GT_COPY_PEER == (int)GPUTRACE_COPY_PEER,
	       "kinds of copies are the same on the wire");

/* By id; an agent has fewer on their way at a time. */
#define RECENT 16384u	/* a power of two */

struct gt_copies {
	struct {
		struct gt_rec_copy record;
		bool waits;		/* for the record of its time */
	} recent[RECENT];
};

/* What a queued copy keeps behind its event. */
struct times {
	struct gt_rec_copy_time time;	/* launch 0: not known */
	uint64_t enter, leave;
	bool waits;
	bool settled;			/* it has been said when it ran */
};

void gt_copies_free(struct gt_copies *copies)
{
	free(copies);
}

static uint32_t place_of(uint64_t id)
{
	return (uint32_t)(id >> GT_SLOT_BITS) & (RECENT - 1);
}

const struct gt_rec_copy *gt_copies_find(const struct gt_copies *copies, uint64_t id)
{
	const struct gt_rec_copy *record;

	if (!copies || !id)
		return NULL;
	record = &copies->recent[place_of(id)].record;
	return record->launch == id ? record : NULL;
}

static const char *name_of(uint32_t kind)
{
	static const char *const names[] = {
		[GT_COPY_UNKNOWN] = "memcpy",
		[GT_COPY_HOST_TO_DEVICE] = "memcpy HtoD",
		[GT_COPY_DEVICE_TO_HOST] = "memcpy DtoH",
		[GT_COPY_DEVICE_TO_DEVICE] = "memcpy DtoD",
		[GT_COPY_HOST_TO_HOST] = "memcpy HtoH",
		[GT_COPY_PEER] = "memcpy PtoP",
		[GT_COPY_MEMSET] = "memset",
	};

	return names[kind <= GT_COPY_MEMSET ? kind : GT_COPY_UNKNOWN];
}

static const char *why_untimed(uint32_t untimed)
{
	static const char *const sentences[] = {
		[GT_TIMED] = "its end was not seen: it failed, was still running, or its record was lost",
		[GT_UNTIMED_CONTEXT] = "when it ran is not known: its context is not followed",
		[GT_UNTIMED_CAPTURE] = "when it ran is not known: a stream was being captured, and nothing was recorded beside it",
		[GT_UNTIMED_FULL] = "when it ran is not known: too many copies were on their way",
		[GT_UNTIMED_EVENT] = "when it ran is not known: the driver would not record an event in its stream",
	};

	return sentences[untimed <= GT_UNTIMED_EVENT ? untimed : GT_TIMED];
}

static struct gt_queued *new_event(struct gt_process *process, const struct gt_rec_copy *record)
{
	struct gt_queued *queued = gt_queued_new(GPUTRACE_EVENT_COPY, process, sizeof(struct times));
	struct gputrace_event *event = &queued->event;

	if (!queued)
		return NULL;
	event->name = name_of(record->kind);
	event->launch_id = record->launch;
	event->tid = (int)record->tid;
	event->context = record->context;
	event->stream = record->stream;
	event->range_id = record->range;
	event->external_id = record->external;
	event->copy_kind = record->kind <= GT_COPY_MEMSET ? (int)record->kind : GPUTRACE_COPY_UNKNOWN;
	event->copy_bytes = record->bytes;
	return queued;
}

/* When it ran is not known; end: when that became certain. */
static void push_untimed(struct gputrace_reader *reader, struct gt_process *process, const struct gt_rec_copy *record,
			 uint64_t end)
{
	struct gt_queued *queued = new_event(process, record);

	if (queued) {
		queued->event.time = record->enter;
		queued->event.end = end;
		queued->event.time_error = UINT64_MAX;
		queued->event.text = why_untimed(record->untimed);
	}
	gt_reader_push(reader, queued);
}

void gt_reader_take_copy(struct gputrace_reader *reader, struct gt_process *process, const uint8_t *payload,
			 uint32_t size)
{
	struct gt_rec_copy record, *recent;
	uint32_t place;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	gt_launches_add_call(process->launches, record.tid, record.enter, record.leave, record.launch);
	if (!process->copies)
		process->copies = calloc(1, sizeof(*process->copies));
	if (record.untimed || !process->copies) {
		push_untimed(reader, process, &record, record.leave);
		return;
	}
	place = place_of(record.launch);
	recent = &process->copies->recent[place].record;
	if (process->copies->recent[place].waits)
		push_untimed(reader, process, recent, gt_reader_now());
	*recent = record;
	process->copies->recent[place].waits = true;
}

/* Both times of the GPU's, and their error. */
static bool find_gpu_times(struct gputrace_event *event, struct gt_target_context *context, const struct times *times,
			   uint64_t *ret_error)
{
	const struct gt_rec_copy_time *time = &times->time;
	uint64_t error;

	if (!gt_event_clock_to_gpu(&context->events, context->clock, time->start, time->error, &event->gpu_start, ret_error))
		return false;
	if (!times->waits)
		return gt_event_clock_to_gpu(&context->events, context->clock, time->end, time->error, &event->gpu_end, &error);
	if (gputrace_clock_from_host(context->clock, times->leave, GPUTRACE_CLOCK_BOUND_REGISTER, &event->gpu_end, &error))
		return false;
	if (event->gpu_end < event->gpu_start)
		event->gpu_end = event->gpu_start;
	return true;
}

/* One that waits ends when its function returned, which the host knows best. */
static bool find_times(struct gputrace_event *event, struct gt_target_context *context, const struct times *times)
{
	uint64_t start_error, end_error, error;

	if (!find_gpu_times(event, context, times, &error) ||
	    !gt_reader_host_time(context, event->gpu_start, &event->time, &start_error) ||
	    !gt_reader_host_time(context, event->gpu_end, &event->end, &end_error))
		return false;
	event->time_error = times->waits || start_error > end_error ? start_error : end_error;
	if (times->waits)
		event->end = times->leave;
	else
		gt_reader_keep_length(event, start_error, end_error);
	event->time_error += error;
	return true;
}

static bool resolve(struct gt_queued *queued)
{
	const struct times *times = (const void *)queued->bytes;
	struct gputrace_event *event = &queued->event;
	struct gt_target_context *context = gt_process_context(queued->process, event->context);

	if (!times->time.launch)
		return true;
	if (!context || !context->clock || !find_times(event, context, times)) {
		event->time = times->enter;
		event->time_error = UINT64_MAX;
		event->text = "when it ran is not known: nothing is known of the GPU's clock";
		return false;
	}
	event->text = NULL;
	gt_reader_confine_start(event, times->enter, times->waits ? times->leave : UINT64_MAX, !times->waits);
	if (event->time > event->end)
		event->time = event->end;
	return true;
}

/* The earliest that it can have ended, for its place in the queue: see gpu_ring.c. */
static void place(struct gt_queued *queued)
{
	struct gputrace_event *event = &queued->event;

	queued->told = gt_reader_now();
	if (resolve(queued))
		event->end -= event->time_error < event->end ? event->time_error : event->end;
	else
		event->end = event->time;	/* when its call began */
}

/* Its call and the kernels of its stream say where its events cannot be. */
static void learn(struct gt_target_context *context, const struct gt_rec_copy *copy, const struct gt_rec_copy_time *time)
{
	const struct gt_stream_work work = {
		.stream = copy->stream, .enter = copy->enter, .leave = copy->leave,
		.start = time->start, .end = time->end, .error = time->error,
	};

	gt_event_clock_after_host(&context->events, context->clock, copy->enter, time->start, time->error);
	if (copy->waits)
		gt_event_clock_before_host(&context->events, context->clock, copy->leave, time->start, time->error);
	if (!context->order)
		context->order = calloc(1, sizeof(*context->order));
	if (context->order)
		gt_stream_order_add_copy(context->order, &context->events, &work);
}

void gt_reader_take_copy_time(struct gputrace_reader *reader, struct gt_process *process, const uint8_t *payload,
			      uint32_t size)
{
	struct gt_rec_copy_time record;
	const struct gt_rec_copy *copy;
	struct gt_target_context *context;
	struct gt_queued *queued;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	copy = gt_copies_find(process->copies, record.launch);
	if (!copy || !process->copies->recent[place_of(record.launch)].waits)
		return;
	process->copies->recent[place_of(record.launch)].waits = false;
	context = gt_process_context(process, copy->context);
	if (context)
		learn(context, copy, &record);
	queued = new_event(process, copy);
	if (queued) {
		*(struct times *)(void *)queued->bytes = (struct times){
			.time = record, .enter = copy->enter, .leave = copy->leave, .waits = copy->waits,
		};
		place(queued);
	}
	gt_reader_push(reader, queued);
}

void gt_reader_take_event_clock(struct gt_process *process, const uint8_t *payload, uint32_t size)
{
	struct gt_rec_event_clock record;
	struct gt_target_context *context;

	if (size != sizeof(record))
		return;
	memcpy(&record, payload, sizeof(record));
	context = gt_process_context(process, record.context);
	if (context)
		gt_event_clock_add(&context->events, context->clock, &record);
}

void gt_reader_close_copies(struct gputrace_reader *reader, struct gt_process *process)
{
	for (uint32_t i = 0; process->copies && i < RECENT; i++) {
		if (process->copies->recent[i].waits)
			push_untimed(reader, process, &process->copies->recent[i].record, gt_reader_now());
		process->copies->recent[i].waits = false;
	}
}

bool gt_copy_has_time(const struct gt_queued *queued)
{
	const struct times *times = (const void *)queued->bytes;
	struct gt_target_context *context = gt_process_context(queued->process, queued->event.context);
	uint64_t gpu, host, error;

	return !times->time.launch ||
	       (context && gt_event_clock_to_gpu(&context->events, context->clock, times->time.start, times->time.error, &gpu, &error) &&
		gt_reader_host_time(context, gpu, &host, &error));
}

/*
 * Once for all: what the clock of events learns later would often move a copy to before what was
 * delivered meanwhile.
 */
void gt_copy_resolve(struct gt_queued *queued)
{
	struct times *times = (void *)queued->bytes;

	if (!times->settled)
		times->settled = resolve(queued);
}
