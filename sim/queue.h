/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asynchronous execution.  An operation is a unit of work and the operations it
 * has to wait for.  Streams, events and the default stream's rules only say which
 * operation comes after which; a pool of threads runs those that wait for nothing.
 */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "sim/work.h"

struct sim_op {
	atomic_uint refs;
	atomic_bool done;
	atomic_uint_least64_t time;	/* sim_clock() when it was run */
	struct sim_work work;
	/* Below: under sim_lock. */
	unsigned pending;		/* operations before it, and 1 until submitted */
	struct sim_op **after;		/* those that wait for this one; each holds a reference */
	size_t after_count, after_space;
	struct sim_op *ready_next;
};

/* Guards operations, streams, events and captures. */
extern pthread_mutex_t sim_lock;

struct sim_op *sim_op_new(void);		/* one reference; NULL: out of memory */
struct sim_op *sim_op_ref(struct sim_op *op);	/* NULL stays NULL */
struct sim_op *sim_op_unref(struct sim_op *op);	/* NULL */
bool sim_op_is_done(const struct sim_op *op);	/* NULL counts as done */
void sim_op_wait(struct sim_op *op);		/* sim_lock not held */
/* Make an operation one of a context's, which counts it until it is done. */
void sim_op_own(struct sim_op *op, struct CUctx_st *ctx);
/* Hold up a program that queues faster than the device works; sim_lock not held. */
void sim_queue_wait_for_room(struct CUctx_st *ctx);

/* With sim_lock held. */
CUresult sim_op_after(struct sim_op *op, struct sim_op *before);
void sim_op_submit(struct sim_op *op);
void sim_op_complete(struct sim_op *op);	/* for those that no thread runs */

#endif
