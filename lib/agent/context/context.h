/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that probes use in each CUDA context.  Any thread may call these at any
 * time.  A context's struct is never freed, but its area serves another one when this
 * one has ended and the controller has taken in what it left.
 */
#ifndef GT_AGENT_CONTEXT_H
#define GT_AGENT_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/agent/copy/copy.h"
#include "lib/wire/cuda_abi.h"
#include "lib/wire/wire.h"

struct gt_context {
	bool used;		/* by a context that lives, or whose end has not been told yet */
	CUcontext handle;	/* NULL: it has ended */
	uint32_t number;	/* in the session; never used again */
	unsigned index;		/* of its area in shared memory */
	CUdevice device;
	CUdeviceptr dev, host;	/* the arenas as the GPU sees them */
	CUstream stream;	/* ours, never ordered with the program's */
	CUmodule stamp_module;
	CUfunction stamp;
	bool stamping, stamp_pending;
	bool stamped;		/* the controller has been given a clock record */
	uint64_t stamp_before;	/* the host's time when the last stamp was launched */
	bool unreadable;	/* said that its arena cannot be copied out */
	atomic_bool in_graphs;	/* graphs were given its arenas, and may be launched at any time */
	bool usable;		/* false: setting up failed, its kernels run with probes off */
	bool announced;
	bool leaving;		/* the driver is about to end it */
	struct gt_context_copies copies;
	/* Launch slots: the launch that has each, and where to look for the next. */
	_Atomic uint64_t slot_owner[GT_LAUNCH_SLOTS];
	_Atomic uint32_t next_slot;
};

/* A launch slot for the launch with this id, in which it is still missing; 0 if there is none. */
uint32_t gt_context_take_slot(struct gt_context *context, uint64_t id);
/* The launch, whose id has its slot now, did not happen after all. */
void gt_context_return_slot(struct gt_context *context, uint64_t id);

/* One that is kept until it is given back: for an executable graph, each with a number of its own, from 1. */
uint32_t gt_context_keep_slot(struct gt_context *context, uint64_t owner);
void gt_context_give_back_slot(struct gt_context *context, uint32_t slot, uint64_t owner);

/* The one whose device arena is there; NULL: none. */
struct gt_context *gt_context_with_arena(CUdeviceptr dev);

/*
 * The calling thread's current context, set up on first sight.  NULL: none is
 * current, or no area is left.  Cheap when seen before.
 */
struct gt_context *gt_context_current(void);

/* Copy every context's device arena out to shared memory. */
void gt_contexts_flush(void);

/*
 * Wait for what runs in a context, if it is known, because the driver is about to end it
 * and waits for that as well: what the kernels count last is to be copied out, too.
 */
void gt_context_finish(CUcontext handle);
/* Copy one context's arena out, if it is known: before the program may destroy it. */
void gt_context_flush(CUcontext handle);
/* The context is gone; its handle may come back for another one. */
void gt_context_forget(CUcontext handle);
/*
 * The same in two steps, for a context that the program ends: copy out and forget the
 * handle, which the driver may give to another thread's context at once; then, when
 * nothing runs in it any more, let go of the rest.  NULL: it is not known.
 */
struct gt_context *gt_context_leave(CUcontext handle);
void gt_context_end(struct gt_context *context);	/* NULL: nothing to do */

/* The program was running when our hooks came: how often it holds its contexts is not known. */
void gt_retains_unseen(void);

/*
 * Nobody is in a hook, and gt_active is cleared: wait for the GPU to be done with
 * what it was given, copy the arenas out and give all memory back.  False: the shared memory must
 * stay, since the GPU may go on writing there (graphs that were made
 * meanwhile, a context in error).
 */
bool gt_contexts_release(void);

/*
 * From time to time: one clock record from each context that was asked for them, and what did not fit into the ring.
 * last: the session ends; one that has given none yet is waited for.
 */
void gt_contexts_tick(bool last);
void gt_context_start_stamps(uint32_t number);

/* More often: tell of copies that have ended. */
void gt_contexts_collect(void);

#endif
