/* SPDX-License-Identifier: Apache-2.0 */
/* Events: a mark in a stream's order, and the time it was passed. */
#include <stdlib.h>

#include "sim/stream.h"

CUresult sim_cuEventCreate(CUevent *ret_event, unsigned flags)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	struct CUevent_st *event;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_event || (flags & ~(unsigned)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING |
					       CU_EVENT_INTERPROCESS)))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CU_EVENT_INTERPROCESS)
		return CUDA_ERROR_NOT_SUPPORTED;
	event = calloc(1, sizeof(*event));
	if (!event || !sim_handle_add(event, SIM_EVENT)) {
		free(event);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	event->ctx = ctx;
	event->flags = flags;
	pthread_mutex_lock(&sim_lock);
	event->next = ctx->events;
	ctx->events = event;
	pthread_mutex_unlock(&sim_lock);
	*ret_event = event;
	return CUDA_SUCCESS;
}

static void event_free(struct CUevent_st *event)
{
	struct CUevent_st **at = &event->ctx->events;

	sim_handle_remove(event);
	pthread_mutex_lock(&sim_lock);
	while (*at && *at != event)
		at = &(*at)->next;
	if (*at)
		*at = event->next;
	sim_capture_drop(&event->capture, &event->front);
	sim_op_unref(event->op);
	pthread_mutex_unlock(&sim_lock);
	free(event);
}

void sim_context_free_events(struct CUctx_st *ctx)
{
	while (ctx->events)
		event_free(ctx->events);
}

CUresult sim_cuEventDestroy_v2(CUevent event)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(event, SIM_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	event_free(event);
	return CUDA_SUCCESS;
}

CUresult sim_cuEventDestroy(CUevent event)
{
	return sim_cuEventDestroy_v2(event);
}

/* With sim_lock held. */
static CUresult record(struct CUstream_st *stream, struct CUevent_st *event)
{
	struct sim_op *op = sim_op_new();
	CUresult r;

	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_op_own(op, stream->ctx);
	r = sim_stream_enqueue(stream, op);
	sim_capture_drop(&event->capture, &event->front);
	sim_op_unref(event->op);
	event->op = op;
	return r;
}

CUresult sim_cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(event, SIM_EVENT) || event->ctx != stream->ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	if (!stream->capture) {
		r = record(stream, event);
	} else if (flags & CU_EVENT_RECORD_EXTERNAL) {
		struct sim_work work = { .type = SIM_WORK_RECORD, .event = event };

		r = sim_capture_add(stream, &work);
	} else {
		r = sim_capture_record(stream, event);
	}
	pthread_mutex_unlock(&sim_lock);
	return r;
}

CUresult sim_cuEventRecord(CUevent event, CUstream handle)
{
	return sim_cuEventRecordWithFlags(event, handle, CU_EVENT_RECORD_DEFAULT);
}

/* With sim_lock held: later operations of the stream come after the event's record. */
static CUresult wait_for(struct CUstream_st *stream, struct CUevent_st *event)
{
	struct sim_op *op;
	CUresult r;

	if (sim_op_is_done(event->op))
		return CUDA_SUCCESS;
	op = sim_op_new();
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	sim_op_own(op, stream->ctx);
	r = sim_op_after(op, event->op);
	r = sim_stream_enqueue(stream, op) ? CUDA_ERROR_OUT_OF_MEMORY : r;
	sim_op_unref(op);
	return r;
}

CUresult sim_cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(event, SIM_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	if (stream->capture && (flags & CU_EVENT_WAIT_EXTERNAL)) {
		struct sim_work work = { .type = SIM_WORK_WAIT, .event = event };

		r = sim_capture_add(stream, &work);
	} else if (stream->capture || event->capture) {
		r = sim_capture_wait(stream, event);
	} else {
		r = wait_for(stream, event);
	}
	pthread_mutex_unlock(&sim_lock);
	return r;
}

/* The event's last record, referenced; NULL if there is none. */
static CUresult last_record(CUevent event, struct sim_op **ret_op)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(event, SIM_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	r = sim_context_check(event->ctx);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	if (event->capture)
		r = CUDA_ERROR_CAPTURED_EVENT;
	else
		*ret_op = sim_op_ref(event->op);
	pthread_mutex_unlock(&sim_lock);
	return r;
}

CUresult sim_cuEventQuery(CUevent event)
{
	struct sim_op *op;
	CUresult r = last_record(event, &op);

	if (r != CUDA_SUCCESS)
		return r;
	r = sim_op_is_done(op) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
	sim_op_unref(op);
	return r;
}

CUresult sim_cuEventSynchronize(CUevent event)
{
	struct sim_op *op;
	CUresult r = last_record(event, &op);

	if (r != CUDA_SUCCESS)
		return r;
	if (op)
		sim_op_wait(op);
	sim_op_unref(op);
	return (CUresult)atomic_load(&event->ctx->error);
}

CUresult sim_cuEventElapsedTime_v2(float *ret_ms, CUevent start, CUevent end)
{
	struct sim_op *from = NULL, *to = NULL;
	CUresult r = last_record(start, &from);

	r = r ? r : last_record(end, &to);
	if (r == CUDA_SUCCESS) {
		if (!ret_ms)
			r = CUDA_ERROR_INVALID_VALUE;
		else if (!from || !to || ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING))
			r = CUDA_ERROR_INVALID_HANDLE;
		else if (!sim_op_is_done(from) || !sim_op_is_done(to))
			r = CUDA_ERROR_NOT_READY;
		else
			*ret_ms = (float)((double)(int64_t)(atomic_load(&to->time) -
							    atomic_load(&from->time)) / 1e6);
	}
	sim_op_unref(from);
	sim_op_unref(to);
	return r;
}

CUresult sim_cuEventElapsedTime(float *ret_ms, CUevent start, CUevent end)
{
	return sim_cuEventElapsedTime_v2(ret_ms, start, end);
}

CUresult sim_cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
	CUresult r = sim_context_check(ctx);
	struct sim_op *op;

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(event, SIM_EVENT) || event->ctx != ctx)
		return CUDA_ERROR_INVALID_HANDLE;
	op = sim_op_new();
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_lock(&sim_lock);
	sim_op_own(op, ctx);
	for (struct CUstream_st *s = ctx->streams; s && r == CUDA_SUCCESS; s = s->next)
		r = sim_op_after(op, s->last);
	sim_op_submit(op);
	sim_capture_drop(&event->capture, &event->front);
	sim_op_unref(event->op);
	event->op = op;
	pthread_mutex_unlock(&sim_lock);
	return r;
}

CUresult sim_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
	CUresult r = sim_context_check(ctx);

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(event, SIM_EVENT))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&sim_lock);
	if (event->capture)
		r = CUDA_ERROR_CAPTURED_EVENT;
	for (struct CUstream_st *s = ctx->streams; s && r == CUDA_SUCCESS; s = s->next)
		if (!s->capture)
			r = wait_for(s, event);
	pthread_mutex_unlock(&sim_lock);
	return r;
}
