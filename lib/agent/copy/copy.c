/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/copy/copy.h"

#include <errno.h>

#include "lib/agent/agent.h"
#include "lib/agent/context/context.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/launch/launch.h"
#include "lib/agent/launch/stream.h"
#include "lib/agent/thread.h"

/* A thread makes one call at a time, so it has room for one that is without events itself. */
static struct gt_copy *untimed(enum gt_untimed why)
{
	struct gt_thread *thread = gt_thread();

	if (!thread)
		return NULL;
	thread->untimed = (struct gt_copy){ .record = { .untimed = (uint16_t)why } };
	return &thread->untimed;
}

/*
 * Where the stream comes to the event it starts.  Of a stream that is captured nothing is
 * run; and the default one, while another that it waits for is captured, takes no event.
 */
static struct gt_copy *start(struct gt_context *context, CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct gt_copy *copy;

	if (gt_cu.cuStreamIsCapturing(stream, &status))
		return untimed(GT_UNTIMED_CAPTURE);
	if (status != CU_STREAM_CAPTURE_STATUS_NONE)
		return NULL;
	if (!context)
		return untimed(GT_UNTIMED_CONTEXT);
	copy = gt_copy_take(context);
	if (!copy)
		return untimed(GT_UNTIMED_FULL);
	if (!gt_cu.cuEventRecord(copy->start, stream)) {
		copy->record.untimed = GT_TIMED;
		return copy;
	}
	gt_copy_give_back(copy);
	return untimed(GT_UNTIMED_EVENT);
}

static struct gt_copy *begin(const struct gt_copy_function *function, const uint64_t *args)
{
	struct gt_context *context = gt_context_current();
	CUstream stream = gt_copy_stream(function, args);
	uint64_t enter = gt_thread_now();
	struct gt_copy *copy = start(context, stream);

	if (!copy)
		return NULL;
	copy->stream = stream;
	copy->has_end = false;
	copy->record = (struct gt_rec_copy){
		.launch = gt_launch_next_id(),
		.enter = enter,
		.stream = gt_stream_is_default(stream) ? 0 : gt_stream_number(stream, false),
		.range = gt_thread_range(),
		.external = gt_thread_external(),
		.tid = gt_thread_id(),
		.context = context ? context->number : UINT32_MAX,
		.untimed = copy->record.untimed,
	};
	return copy;
}

struct gt_copy *gt_copy_begin(const struct gt_copy_function *function, const uint64_t *args)
{
	int saved = errno;
	struct gt_copy *copy = NULL;

	if (gt_enter() && atomic_load_explicit(&gt_active, memory_order_relaxed) &&
	    gt_session_records(GT_CONFIG_MEMCPY))
		copy = begin(function, args);
	if (!copy)
		gt_leave();
	errno = saved;
	return copy;
}

/* A capture may have begun since the one before was recorded. */
static void record_end(struct gt_copy *copy)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	if (copy->record.untimed)
		return;
	if (gt_cu.cuStreamIsCapturing(copy->stream, &status) || status != CU_STREAM_CAPTURE_STATUS_NONE)
		copy->record.untimed = GT_UNTIMED_CAPTURE;
	else if (gt_cu.cuEventRecord(copy->end, copy->stream))
		copy->record.untimed = GT_UNTIMED_EVENT;
	else
		copy->has_end = true;
}

/*
 * No event follows a function that has waited: to the program the stream is idle then.  Behind
 * others it comes as soon as it can; to look at a batch takes its time.
 */
static void describe(struct gt_copy *copy, const struct gt_copy_function *function, const uint64_t *args)
{
	struct gt_copy_work work;

	if (function->is_async)
		record_end(copy);
	work = gt_copy_work(function, args);
	if (!function->is_async && !work.waits)
		record_end(copy);
	copy->record.bytes = work.bytes;
	copy->record.kind = work.kind;
	copy->record.waits = work.waits;
}

static void finish(struct gt_copy *copy, CUresult result)
{
	/* What the GPU says of it comes later, so this has to be in the ring. */
	if (!result)
		gt_emit(GT_REC_COPY, &copy->record, sizeof(copy->record));
	if (!copy->start)
		return;		/* it has no place */
	if (result || copy->record.untimed)
		gt_copy_give_back(copy);
	else
		gt_copy_runs(copy);
}

void gt_copy_end(struct gt_copy *copy, const struct gt_copy_function *function, const uint64_t *args, uint64_t leave,
		 CUresult result)
{
	int saved = errno;

	copy->record.leave = leave;
	if (!result)
		describe(copy, function, args);
	finish(copy, result);
	gt_leave();
	errno = saved;
}
