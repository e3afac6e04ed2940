/* SPDX-License-Identifier: Apache-2.0 */
/* Capture: work of streams becomes nodes of a graph. */
#include <stdlib.h>
#include <string.h>

#include "sim/graph.h"
#include "sim/stream.h"

static struct sim_capture *active;	/* under sim_lock */
static __thread CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void front_clear(struct sim_front *front)
{
	free(front->nodes);
	front->nodes = NULL;
	front->count = 0;
}

static CUresult front_add(struct sim_front *front, const CUgraphNode *nodes, size_t count)
{
	CUgraphNode *all = realloc(front->nodes, (front->count + count + 1) * sizeof(*all));

	if (!all)
		return CUDA_ERROR_OUT_OF_MEMORY;
	front->nodes = all;
	for (size_t i = 0; i < count; i++) {
		size_t j = 0;

		while (j < front->count && all[j] != nodes[i])
			j++;
		if (j == front->count)
			all[front->count++] = nodes[i];
	}
	return CUDA_SUCCESS;
}

static void capture_unref(struct sim_capture *capture)
{
	if (capture && --capture->refs == 0)
		free(capture);
}

static bool is_active(const struct sim_capture *capture)
{
	return capture && capture->status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static void invalidate(struct sim_capture *capture)
{
	if (is_active(capture))
		capture->status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

void sim_capture_drop(struct sim_capture **capture, struct sim_front *front)
{
	capture_unref(*capture);
	*capture = NULL;
	front_clear(front);
}

/* Take a capture off the list and let its streams go; the graph is the caller's affair. */
static void finish(struct sim_capture *capture)
{
	struct CUctx_st *ctx = NULL;

	for (struct sim_capture **at = &active; *at; at = &(*at)->next)
		if (*at == capture) {
			*at = capture->next;
			break;
		}
	capture->status = CU_STREAM_CAPTURE_STATUS_NONE;
	capture->graph = NULL;
	capture->origin = NULL;
	capture->refs++;
	while ((ctx = sim_context_next(ctx)) != NULL)
		for (struct CUstream_st *s = ctx->streams; s; s = s->next)
			if (s->capture == capture)
				sim_capture_drop(&s->capture, &s->front);
	capture_unref(capture);
}

void sim_capture_leave(struct CUstream_st *stream)
{
	struct sim_capture *capture = stream->capture;

	if (!capture)
		return;
	if (capture->origin == stream) {
		struct CUgraph_st *graph = capture->graph_given ? NULL : capture->graph;

		finish(capture);
		sim_graph_free(graph);
	} else {
		invalidate(capture);
	}
	/* finish() has seen to the streams of the list, but this one has left it. */
	sim_capture_drop(&stream->capture, &stream->front);
}

CUresult sim_capture_add(struct CUstream_st *stream, struct sim_work *work)
{
	struct sim_capture *capture = stream->capture;
	CUgraphNode node;
	CUresult r;

	if (!is_active(capture))
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (work->type == SIM_WORK_CALLBACK) {
		invalidate(capture);
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	work->ctx = stream->ctx;
	r = sim_graph_add(capture->graph, stream->front.nodes, NULL, stream->front.count, work, &node);
	if (r == CUDA_SUCCESS) {
		stream->front.count = 0;
		r = front_add(&stream->front, &node, 1);
	}
	if (r != CUDA_SUCCESS)
		invalidate(capture);
	return r;
}

CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event)
{
	if (!is_active(stream->capture))
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	sim_capture_drop(&event->capture, &event->front);
	event->capture = stream->capture;
	event->capture->refs++;
	return front_add(&event->front, stream->front.nodes, stream->front.count);
}

CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event)
{
	struct sim_capture *own = stream->capture, *other = event->capture;

	if (own && !is_active(own))
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (own && (!other || other->status == CU_STREAM_CAPTURE_STATUS_NONE)) {
		invalidate(own);
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	if (!own && !is_active(other))
		return other->status == CU_STREAM_CAPTURE_STATUS_NONE
			       ? CUDA_ERROR_CAPTURED_EVENT
			       : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (own && own != other) {
		invalidate(own);
		invalidate(other);
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (!own) {
		/* The stream joins the capture. */
		if (stream == stream->ctx->legacy) {
			invalidate(other);
			return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
		stream->capture = other;
		other->refs++;
	}
	return front_add(&stream->front, event->front.nodes, event->front.count);
}

CUresult sim_capture_conflict(struct CUstream_st *stream)
{
	struct CUctx_st *ctx = stream->ctx;

	if (stream != ctx->legacy || !active)
		return CUDA_SUCCESS;
	for (struct CUstream_st *s = ctx->streams; s; s = s->next)
		if (!(s->flags & CU_STREAM_NON_BLOCKING) && is_active(s->capture)) {
			invalidate(s->capture);
			return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return CUDA_SUCCESS;
}

CUresult sim_capture_spoil(struct CUstream_st *stream)
{
	CUresult r;

	pthread_mutex_lock(&sim_lock);
	r = sim_capture_conflict(stream);
	if (stream->capture) {
		r = is_active(stream->capture) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
					       : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
		invalidate(stream->capture);
	}
	pthread_mutex_unlock(&sim_lock);
	return r;
}

CUresult sim_capture_allows(void)
{
	CUresult r = CUDA_SUCCESS;

	if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&sim_lock);
	for (struct sim_capture *c = active; c; c = c->next) {
		bool own = c->thread == sim_thread();

		if (!is_active(c) || c->mode == CU_STREAM_CAPTURE_MODE_RELAXED)
			continue;
		if (own || (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
			    thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL)) {
			invalidate(c);
			r = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	}
	pthread_mutex_unlock(&sim_lock);
	return r;
}

CUresult sim_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode old = thread_mode;

	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread_mode = *mode;
	*mode = old;
	return CUDA_SUCCESS;
}

/* Begin and end */

/* With sim_lock held. */
static CUresult begin(struct CUstream_st *stream, CUgraph graph, bool given, CUstreamCaptureMode mode)
{
	static uint64_t last_id;
	struct sim_capture *capture;

	if (stream == stream->ctx->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (stream->capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture = calloc(1, sizeof(*capture));
	if (!capture)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->refs = 1;
	capture->id = ++last_id;
	capture->graph = graph;
	capture->graph_given = given;
	capture->mode = mode;
	capture->status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
	capture->origin = stream;
	capture->thread = sim_thread();
	capture->next = active;
	active = capture;
	stream->capture = capture;
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	struct CUgraph_st *graph;

	if (r == CUDA_SUCCESS && (unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		r = CUDA_ERROR_INVALID_VALUE;
	r = r ? r : sim_graph_new(&graph);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	r = begin(stream, graph, false, mode);
	pthread_mutex_unlock(&sim_lock);
	if (r != CUDA_SUCCESS)
		sim_graph_free(graph);
	return r;
}

CUresult sim_cuStreamBeginCapture(CUstream stream)
{
	return sim_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult sim_cuStreamBeginCaptureToGraph(CUstream handle, CUgraph graph, const CUgraphNode *before,
					 const CUgraphEdgeData *data, size_t count,
					 CUstreamCaptureMode mode)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	(void)data;
	r = r ? r : sim_graph_check(graph);
	if (r == CUDA_SUCCESS &&
	    ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED || (count && !before)))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = sim_node_check(before[i], -1);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	r = begin(stream, graph, true, mode);
	if (r == CUDA_SUCCESS)
		r = front_add(&stream->front, before, count);
	pthread_mutex_unlock(&sim_lock);
	return r;
}

static void mark_ancestors(CUgraphNode node)
{
	if (node->mark)
		return;
	node->mark = 1;
	for (size_t i = 0; i < node->before_count; i++)
		mark_ancestors(node->before[i].from);
}

/* Has all work of the other streams been joined to the one that began? */
static bool joined(const struct sim_capture *capture)
{
	const struct CUstream_st *origin = capture->origin;
	struct CUctx_st *ctx = NULL;

	for (size_t i = 0; i < capture->graph->count; i++)
		capture->graph->nodes[i]->mark = 0;
	for (size_t i = 0; i < origin->front.count; i++)
		mark_ancestors(origin->front.nodes[i]);
	while ((ctx = sim_context_next(ctx)) != NULL)
		for (struct CUstream_st *s = ctx->streams; s; s = s->next)
			for (size_t i = 0; s->capture == capture && i < s->front.count; i++)
				if (!s->front.nodes[i]->mark)
					return false;
	return true;
}

/* With sim_lock held. */
static CUresult end(struct CUstream_st *stream, struct CUgraph_st **ret_graph)
{
	struct sim_capture *capture = stream->capture;
	struct CUgraph_st *graph;
	CUresult r = CUDA_SUCCESS;
	bool given;

	if (!capture)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (capture->origin != stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != sim_thread())
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	if (!is_active(capture))
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	else if (!joined(capture))
		r = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	graph = capture->graph;
	given = capture->graph_given;
	finish(capture);
	if (r != CUDA_SUCCESS && !given)
		sim_graph_free(graph);
	*ret_graph = r == CUDA_SUCCESS ? graph : NULL;
	return r;
}

CUresult sim_cuStreamEndCapture(CUstream handle, CUgraph *ret_graph)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	struct CUgraph_st *graph = NULL;

	if (r == CUDA_SUCCESS && !ret_graph)
		r = CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	r = end(stream, &graph);
	pthread_mutex_unlock(&sim_lock);
	*ret_graph = graph;
	return r;
}

/* Questions */

CUresult sim_cuStreamGetCaptureInfo_v3(CUstream handle, CUstreamCaptureStatus *ret_status,
				       uint64_t *ret_id, CUgraph *ret_graph,
				       const CUgraphNode **ret_nodes,
				       const CUgraphEdgeData **ret_data, size_t *ret_count)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);
	const struct sim_capture *capture;

	if (r != CUDA_SUCCESS)
		return r;
	if (!ret_status)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&sim_lock);
	capture = stream->capture;
	*ret_status = capture ? capture->status : CU_STREAM_CAPTURE_STATUS_NONE;
	if (is_active(capture)) {
		if (ret_id)
			*ret_id = capture->id;
		if (ret_graph)
			*ret_graph = capture->graph;
		if (ret_nodes)
			*ret_nodes = stream->front.nodes;
		if (ret_data)
			*ret_data = NULL;
		if (ret_count)
			*ret_count = stream->front.count;
	}
	pthread_mutex_unlock(&sim_lock);
	return CUDA_SUCCESS;
}

CUresult sim_cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus *ret_status,
				       uint64_t *ret_id, CUgraph *ret_graph,
				       const CUgraphNode **ret_nodes, size_t *ret_count)
{
	return sim_cuStreamGetCaptureInfo_v3(handle, ret_status, ret_id, ret_graph, ret_nodes, NULL,
					     ret_count);
}

CUresult sim_cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus *ret_status,
				    uint64_t *ret_id)
{
	return sim_cuStreamGetCaptureInfo_v3(handle, ret_status, ret_id, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *ret_status)
{
	return sim_cuStreamGetCaptureInfo_v3(handle, ret_status, NULL, NULL, NULL, NULL, NULL);
}

CUresult sim_cuStreamUpdateCaptureDependencies_v2(CUstream handle, CUgraphNode *nodes,
						  const CUgraphEdgeData *data, size_t count,
						  unsigned flags)
{
	struct CUstream_st *stream;
	CUresult r = sim_stream(handle, &stream);

	(void)data;
	if (r == CUDA_SUCCESS && (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES || (count && !nodes)))
		r = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && r == CUDA_SUCCESS; i++)
		r = sim_node_check(nodes[i], -1);
	if (r != CUDA_SUCCESS)
		return r;
	pthread_mutex_lock(&sim_lock);
	if (!stream->capture) {
		r = CUDA_ERROR_ILLEGAL_STATE;
	} else if (!is_active(stream->capture)) {
		r = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else {
		if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
			stream->front.count = 0;
		r = front_add(&stream->front, nodes, count);
	}
	pthread_mutex_unlock(&sim_lock);
	return r;
}

CUresult sim_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *nodes, size_t count,
					       unsigned flags)
{
	return sim_cuStreamUpdateCaptureDependencies_v2(stream, nodes, NULL, count, flags);
}
