/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events and captures. */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "sim/queue.h"

/* A stream that captures, or an event recorded in one, stands at some nodes of a graph. */
struct sim_front {
	CUgraphNode *nodes;
	size_t count;
};

struct sim_capture {
	unsigned refs;			/* streams and events that point here */
	uint64_t id;
	CUgraph graph;			/* owned until the capture ends well, unless given */
	bool graph_given;		/* by cuStreamBeginCaptureToGraph */
	CUstreamCaptureMode mode;
	CUstreamCaptureStatus status;
	struct CUstream_st *origin;
	unsigned long thread;		/* number of the thread that began it */
	struct sim_capture *next;	/* list of active ones */
};

struct CUstream_st {
	struct CUctx_st *ctx;
	struct CUstream_st *next;	/* in the context */
	uint64_t id;
	unsigned flags;
	int priority;
	unsigned long thread;		/* per-thread default stream: whose; else 0 */
	CUlaunchAttributeValue policy_window;
	CUsynchronizationPolicy sync_policy;
	/* Under sim_lock: */
	struct sim_op *last;
	struct sim_capture *capture;
	struct sim_front front;		/* next captured node comes after these */
};

struct CUevent_st {
	struct CUctx_st *ctx;
	struct CUevent_st *next;	/* in the context */
	unsigned flags;
	/* Under sim_lock: */
	struct sim_op *op;		/* last record, NULL if none */
	struct sim_capture *capture;	/* last record was captured here */
	struct sim_front front;
};

/* A number for the calling thread, never 0, never used again. */
unsigned long sim_thread(void);

/* Turn a handle, NULL and the special ones included, into a stream of a healthy context. */
CUresult sim_stream(CUstream handle, struct CUstream_st **ret_stream);
struct CUstream_st *sim_stream_new(struct CUctx_st *ctx, unsigned flags, int priority);

/*
 * Queue work in a stream, or capture it.  Takes over what *work owns, also on
 * failure.  If ret_op is not NULL it gets a reference to the operation, or NULL
 * when the work was captured.
 */
CUresult sim_submit(struct CUstream_st *stream, struct sim_work *work, struct sim_op **ret_op);
/* The same and wait for its end; not while capturing. */
CUresult sim_submit_wait(struct CUstream_st *stream, struct sim_work *work);
/* With sim_lock held: put a new operation into a stream's order and queue it. */
CUresult sim_stream_enqueue(struct CUstream_st *stream, struct sim_op *op);

/* Wait until everything queued in a context so far has ended. */
void sim_context_drain(struct CUctx_st *ctx);
void sim_context_free_streams(struct CUctx_st *ctx);
void sim_context_free_events(struct CUctx_st *ctx);

/* capture.c; with sim_lock held unless said otherwise. */
CUresult sim_capture_add(struct CUstream_st *stream, struct sim_work *work);
CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event);
CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event);
void sim_capture_drop(struct sim_capture **capture, struct sim_front *front);
void sim_capture_leave(struct CUstream_st *stream);	/* the stream goes away */
/* The legacy stream waits for blocking streams, which it cannot while one of them captures. */
CUresult sim_capture_conflict(struct CUstream_st *stream);
/* May the calling thread make a call that a capture forbids?  Takes sim_lock. */
CUresult sim_capture_allows(void);
/* A call that waits for the stream was made: the capture is spoilt.  Takes sim_lock. */
CUresult sim_capture_spoil(struct CUstream_st *stream);

#endif
