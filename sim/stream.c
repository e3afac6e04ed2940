/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: their life, their order, the default streams. */
#include <stdlib.h>

#include "sim/stream.h"

unsigned long sim_thread(void)
{
	static atomic_ulong last;
	static __thread unsigned long number;

	if (!number)
		number = atomic_fetch_add(&last, 1) + 1;
	return number;
}

struct CUstream_st *sim_stream_new(struct CUctx_st *ctx, unsigned flags, int priority)
{
	static atomic_uint_least64_t last_id;
	struct CUstream_st *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->ctx = ctx;
	stream->flags = flags;
	stream->priority = priority;
	stream->sync_policy = CU_SYNC_POLICY_AUTO;
	stream->id = atomic_fetch_add(&last_id, 1) + 1;
	if (!sim_handle_add(stream, SIM_STREAM)) {
		free(stream);
		return NULL;
	}
	pthread_mutex_lock(&sim_lock);
	stream->next = ctx->streams;
	ctx->streams = stream;
	pthread_mutex_unlock(&sim_lock);
	return stream;
}

static struct CUstream_st *per_thread(struct CUctx_st *ctx)
{
	unsigned long thread = sim_thread();
	struct CUstream_st *s;

	pthread_mutex_lock(&sim_lock);
	for (s = ctx->streams; s && s->thread != thread; s = s->next)
		;
	pthread_mutex_unlock(&sim_lock);
	if (!s) {
		s = sim_stream_new(ctx, CU_STREAM_DEFAULT, 0);
		if (s)
			s->thread = thread;
	}
	return s;
}

CUresult sim_stream(CUstream handle, struct CUstream_st **ret_stream)
{
	struct CUctx_st *ctx;
	CUresult r;

	if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) {
		r = sim_current(&ctx);
		if (r != CUDA_SUCCESS)
			return r;
		handle = handle == CU_STREAM_PER_THREAD ? per_thread(ctx) : ctx->legacy;
		if (!handle)
			return CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		r = sim_ready();
		if (r != CUDA_SUCCESS)
			return r;
		if (!sim_handle_is(handle, SIM_STREAM))
			return CUDA_ERROR_INVALID_HANDLE;
		r = sim_context_check(handle->ctx);
		if (r != CUDA_SUCCESS)
			return r;
	}
	*ret_stream = handle;
	return CUDA_SUCCESS;
}

/*
 * The legacy default stream waits for every blocking stream of the context, and
 * they wait for it.
 */
static CUresult order(struct CUstream_st *stream, struct sim_op *op)
{
	struct CUctx_st *ctx = stream->ctx;
	CUresult r = sim_op_after(op, stream->last);

	if (stream->flags & CU_STREAM_NON_BLOCKING)
		return r;
	if (stream != ctx->legacy)
		return r ? r : sim_op_after(op, ctx->legacy->last);
	for (struct CUstream_st *s = ctx->streams; s && !r; s = s->next)
		if (!(s->flags & CU_STREAM_NON_BLOCKING))
			r = sim_op_after(op, s->last);
	for (size_t i = 0; i < ctx->orphan_count && !r; i++)
		r = sim_op_after(op, ctx->orphans[i]);
	return r;
}

CUresult sim_stream_enqueue(struct CUstream_st *stream, struct sim_op *op)
{
	CUresult r = order(stream, op);

	/* Even a half-ordered operation goes on: others wait for it already. */
	sim_op_unref(stream->last);
	stream->last = sim_op_ref(op);
	sim_op_submit(op);
	return r;
}

CUresult sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_op **ret_op)
{
	struct sim_op *op;
	CUresult r;

	sim_queue_wait_for_room(stream->ctx);
	pthread_mutex_lock(&sim_lock);
	if (stream->capture) {
		r = sim_capture_add(stream, work);
		pthread_mutex_unlock(&sim_lock);
		sim_work_clear(work);
		if (ret_op)
			*ret_op = NULL;
		return r;
	}
	r = sim_capture_conflict(stream);
	op = r ? NULL : sim_op_new();
	if (!op) {
		pthread_mutex_unlock(&sim_lock);
		sim_work_clear(work);
		return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
	}
	op->work = *work;
	sim_op_own(op, stream->ctx);
	if (work->type == SIM_WORK_KERNEL)
		op->work.kernel.grid_id = atomic_fetch_add(&stream->ctx->grid_id, 1) + 1;
	r = sim_stream_enqueue(stream, op);
	pthread_mutex_unlock(&sim_lock);
	if (ret_op)
		*ret_op = op;
	else
		sim_op_unref(op);
	return r;
}

CUresult sim_submit_wait(struct CUstream_st *stream, struct sim_work *work)
{
	struct sim_op *op;
	CUresult r;

	r = sim_capture_spoil(stream);
	if (r != CUDA_SUCCESS) {
		sim_work_clear(work);
		return r;
	}
	r = sim_submit(stream, work, &op);
	if (r != CUDA_SUCCESS)
		return r;
	if (op)
		sim_op_wait(op);
	sim_op_unref(op);
	return (CUresult)atomic_load(&stream->ctx->error);
}

/* Wait for the operations collected under the lock, then let go of them. */
static void wait_all(struct sim_op **ops, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sim_op_wait(ops[i]);
		sim_op_unref(ops[i]);
	}
	free(ops);
}

/* The unfinished last operations of the context's streams; blocking ones only if asked. */
static struct sim_op **collect(struct CUctx_st *ctx, bool blocking_only, size_t *ret_count)
{
	size_t count = ctx->orphan_count, n = 0;
	struct sim_op **ops;

	for (struct CUstream_st *s = ctx->streams; s; s = s->next)
		count++;
	ops = count ? calloc(count, sizeof(*ops)) : NULL;
	for (struct CUstream_st *s = ctx->streams; s && ops; s = s->next)
		if (!(blocking_only && (s->flags & CU_STREAM_NON_BLOCKING)) && !sim_op_is_done(s->last))
			ops[n++] = sim_op_ref(s->last);
	for (size_t i = 0; i < ctx->orphan_count && ops; i++)
		if (!sim_op_is_done(ctx->orphans[i]))
			ops[n++] = sim_op_ref(ctx->orphans[i]);
	*ret_count = n;
	return ops;
}

void sim_context_drain(struct CUctx_st *ctx)
{
	struct sim_op **ops;
	size_t count;

	pthread_mutex_lock(&sim_lock);
	ops = collect(ctx, false, &count);
	pthread_mutex_unlock(&sim_lock);
	wait_all(ops, count);
}

/* Keep the last operation of a stream that goes away, for those that must wait for it. */
static void orphan(struct CUctx_st *ctx, struct sim_op *op)
{
	struct sim_op **orphans;
	size_t n = 0;

	for (size_t i = 0; i < ctx->orphan_count; i++) {
		if (sim_op_is_done(ctx->orphans[i]))
			sim_op_unref(ctx->orphans[i]);
		else
			ctx->orphans[n++] = ctx->orphans[i];
	}
	ctx->orphan_count = n;
	if (sim_op_is_done(op)) {
		sim_op_unref(op);
		return;
	}
	orphans = realloc(ctx->orphans, (n + 1) * sizeof(*orphans));
	if (!orphans) {
		sim_op_unref(op);
		return;
	}
	orphans[n] = op;
	ctx->orphans = orphans;
	ctx->orphan_count = n + 1;
}

static void stream_free(struct CUstream_st *stream)
{
	struct CUctx_st *ctx = stream->ctx;
	struct CUstream_st **at = &ctx->streams;

	sim_handle_remove(stream);
	pthread_mutex_lock(&sim_lock);
	while (*at && *at != stream)
		at = &(*at)->next;
	if (*at)
		*at = stream->next;
	sim_capture_leave(stream);
	orphan(ctx, stream->last);
	pthread_mutex_unlock(&sim_lock);
	free(stream);
}

void sim_context_free_streams(struct CUctx_st *ctx)
{
	while (ctx->streams)
		stream_free(ctx->streams);
	ctx->legacy = NULL;
	for (size_t i = 0; i < ctx->orphan_count; i++)
		sim_op_unref(ctx->orphans[i]);
	free(ctx->orphans);
	ctx->orphans = NULL;
	ctx->orphan_count = 0;
}

CUresult sim_cuStreamCreateWithPriority(CUstream *ret_stream, unsigned flags, int priority)
{
	struct CUctx_st *ctx;
	CUresult r = sim_current(&ctx);
	CUstream stream;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_stream || (flags & ~(unsigned)CU_STREAM_NON_BLOCKING))
		return CUDA_ERROR_INVALID_VALUE;
	/* The range that cuCtxGetStreamPriorityRange states. */
	priority = priority > 0 ? 0 : priority < -5 ? -5 : priority;
	stream = sim_stream_new(ctx, flags, priority);
	if (!stream)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_stream = stream;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamCreate(CUstream *ret_stream, unsigned flags)
{
	return sim_cuStreamCreateWithPriority(ret_stream, flags, 0);
}

CUresult sim_cuStreamDestroy_v2(CUstream stream)
{
	CUresult r = sim_ready();

	if (r != CUDA_SUCCESS)
		return r;
	if (!sim_handle_is(stream, SIM_STREAM) || stream == stream->ctx->legacy || stream->thread)
		return CUDA_ERROR_INVALID_HANDLE;
	stream_free(stream);
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamDestroy(CUstream stream)
{
	return sim_cuStreamDestroy_v2(stream);
}

CUresult sim_cuStreamSynchronize(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	struct sim_op **ops, *op;
	size_t count;

	r = r ? r : sim_capture_spoil(stream);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	if (stream == stream->ctx->legacy) {
		ops = collect(stream->ctx, true, &count);
		pthread_mutex_unlock(&sim_lock);
		wait_all(ops, count);
	} else {
		op = sim_op_ref(stream->last);
		pthread_mutex_unlock(&sim_lock);
		if (op)
			sim_op_wait(op);
		sim_op_unref(op);
	}
	return (CUresult)atomic_load(&stream->ctx->error);
}

CUresult sim_cuStreamQuery(CUstream handle)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	struct sim_op **ops;
	size_t count = 0;

	r = r ? r : sim_capture_spoil(stream);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	if (stream == stream->ctx->legacy) {
		ops = collect(stream->ctx, true, &count);
		for (size_t i = 0; i < count; i++)
			sim_op_unref(ops[i]);
		free(ops);
	} else {
		count = !sim_op_is_done(stream->last);
	}
	pthread_mutex_unlock(&sim_lock);
	if (count)
		return CUDA_ERROR_NOT_READY;
	return (CUresult)atomic_load(&stream->ctx->error);
}
