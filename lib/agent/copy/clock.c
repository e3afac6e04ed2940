/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From events to times.  When copies have ended, an event of ours is recorded in our own
 * stream, the reference: what the driver says of the time between theirs and that one,
 * as a float of milliseconds, is exact to the nanosecond as long as it is short.
 */
#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"
#include "lib/agent/copy/copy.h"

/*
 * How long to look for the reference, which on an idle GPU takes some microseconds, before the
 * next time comes; and if none does.
 */
#define PATIENCE_NS 50000u
#define LAST_PATIENCE_NS 1000000000u

/* Readings at first, when nothing is known. */
#define FIRST_READINGS 8

/* Streams that are known to be busy, of which later copies need not be asked for. */
#define BUSY_MAX 16u

struct busy {
	CUstream streams[BUSY_MAX];
	unsigned count;
};

static bool is_busy(const struct busy *busy, CUstream stream)
{
	for (unsigned i = 0; i < busy->count; i++) {
		if (busy->streams[i] == stream)
			return true;
	}
	return false;
}

enum state { RUNNING, ENDED, FAILED };

static enum state ask(const struct gt_copy *copy, struct busy *busy)
{
	CUresult result;

	if (is_busy(busy, copy->stream))
		return RUNNING;
	result = gt_cu.cuEventQuery(copy->has_end ? copy->end : copy->start);
	if (result != CUDA_ERROR_NOT_READY)
		return result ? FAILED : ENDED;
	/* The thread's own stream is one for each thread. */
	if (busy->count < BUSY_MAX && copy->stream != CU_STREAM_PER_THREAD)
		busy->streams[busy->count++] = copy->stream;
	return RUNNING;
}

static void look_for_ended(struct gt_context *context)
{
	struct gt_copy_list taken = gt_copies_take_running(context), running = { NULL, NULL };
	struct busy busy = { .count = 0 };
	struct gt_copy *copy;

	while ((copy = gt_copy_remove_first(&taken))) {
		switch (ask(copy, &busy)) {
		case RUNNING:
			gt_copy_add(&running, copy);
			break;
		case ENDED:
			gt_copy_add(&context->copies.ended, copy);
			break;
		case FAILED:
			gt_copy_give_back(copy);
			break;
		}
	}
	gt_copies_put_running(context, &running);
}

/* Whole ns from one event to another that came later; false: the driver does not say. */
static bool between(CUevent from, CUevent to, uint64_t *ret_ns)
{
	float ms;

	if (gt_cu.cuEventElapsedTime(&ms, from, to) || !(ms >= 0))
		return false;
	*ret_ns = (uint64_t)((double)ms * 1e6 + 0.5);
	return true;
}

/* How much the driver's rounding may have changed it: a float has 24 bits. */
static uint64_t rounding(uint64_t ns)
{
	return 1 + (ns >> 23);
}

/* The reference was passed: where it is by the host's clock, and from the one before. */
static bool adopt_reference(struct gt_context *context)
{
	struct gt_context_copies *own = &context->copies;
	CUevent event = own->reference[!own->which];
	struct gt_rec_event_clock record = { .context = context->number, .before = own->before, .after = gt_now() };
	uint64_t since = 0;

	own->pending = false;
	if (own->has_reference && !between(own->reference[own->which], event, &since))
		return false;
	own->at = own->has_reference ? own->at + since : own->before;
	own->has_reference = true;
	own->which = !own->which;
	record.at = own->at;
	record.error = rounding(since);
	gt_emit(GT_REC_EVENT_CLOCK, &record, sizeof(record));
	return true;
}

static bool record_reference(struct gt_context *context)
{
	struct gt_context_copies *own = &context->copies;
	CUevent *event = &own->reference[!own->which];

	if (!*event && gt_cu.cuEventCreate(event, CU_EVENT_DEFAULT)) {
		*event = NULL;
		return false;
	}
	own->before = gt_now();
	own->pending = !gt_cu.cuEventRecord(*event, context->stream);
	return own->pending;
}

/* Is there a reference that all that has ended came before?  If the GPU has not come to it, there will be. */
static bool get_reference(struct gt_context *context, uint64_t patience)
{
	struct gt_context_copies *own = &context->copies;
	uint64_t begin = gt_now();
	CUresult result;

	if (!own->pending && !record_reference(context))
		return false;
	do {
		result = gt_cu.cuEventQuery(own->reference[!own->which]);
	} while (result == CUDA_ERROR_NOT_READY && gt_now() - begin < patience);
	if (result == CUDA_ERROR_NOT_READY)
		return false;
	if (!result)
		return adopt_reference(context);
	own->pending = false;
	return false;
}

static bool get_first_reference(struct gt_context *context, uint64_t patience)
{
	int count = context->copies.has_reference ? 1 : FIRST_READINGS;
	bool got = true;

	while (got && count--)
		got = get_reference(context, patience);
	return got;
}

static void tell(const struct gt_context_copies *own, const struct gt_copy *copy)
{
	CUevent reference = own->reference[own->which];
	struct gt_rec_copy_time record = { .launch = copy->record.launch };
	uint64_t start, end = 0;

	if (!between(copy->start, reference, &start) || (copy->has_end && !between(copy->end, reference, &end)))
		return;
	record.start = own->at - start;
	record.end = copy->has_end ? own->at - end : 0;
	record.error = rounding(start);
	gt_emit(GT_REC_COPY_TIME, &record, sizeof(record));
}

static void tell_all(struct gt_context_copies *own)
{
	struct gt_copy *copy;

	while ((copy = gt_copy_remove_first(&own->ended))) {
		tell(own, copy);
		gt_copy_give_back(copy);
	}
}

static void collect(struct gt_context *context, uint64_t patience)
{
	struct gt_context_copies *own = &context->copies;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
	/* What ends now came after a reference that is on its way. */
	if (own->pending && get_reference(context, patience))
		tell_all(own);
	if (!own->pending) {
		look_for_ended(context);
		if (own->ended.first && get_first_reference(context, patience))
			tell_all(own);
	}
	gt_cu.cuThreadExchangeStreamCaptureMode(&mode);
}

void gt_copies_collect(struct gt_context *context)
{
	collect(context, PATIENCE_NS);
}

void gt_copies_collect_last(struct gt_context *context)
{
	collect(context, LAST_PATIENCE_NS);
}
