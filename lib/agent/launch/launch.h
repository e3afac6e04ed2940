/* SPDX-License-Identifier: Apache-2.0 */
/* The hidden parameter: filled in for each launch and for each graph node. */
#ifndef GT_AGENT_LAUNCH_LAUNCH_H
#define GT_AGENT_LAUNCH_LAUNCH_H

#include <alloca.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/agent/context/context.h"
#include "lib/agent/module/module.h"
#include "lib/wire/wire.h"

/* One launch on its way to the driver. */
struct gt_launch {
	struct gt_kernel *kernel;	/* NULL: a kernel we know nothing of */
	bool extended;			/* what runs takes the hidden parameter */
	struct gt_context *context;	/* NULL: none that probes could work in */
	struct gt_launch_param hidden;
	uint32_t node_slot;	/* for a node of an executable graph; those of patterns have none */
	struct gt_rec_launch record;
	/* What to hand to the driver; the program's own unless the kernel is probed. */
	const void *function;
	void **params, **extra;
	/* What the program handed over. */
	const void *given_function;
	void **given_params, **given_extra;
	const CUlaunchConfig *config;	/* NULL: launched without one */
	CUresult refused;		/* by the driver: the kernel with probes */
	/* For a program that passes its parameters as one buffer. */
	size_t buffer_size;
	void *new_extra[5];
};

/* A number for a launch, or for a copy; its slot is missing. */
uint64_t gt_launch_next_id(void);

/* Bytes that gt_launch_extend() needs to build the longer parameter list in. */
size_t gt_launch_room(const struct gt_kernel *kernel);
/* Such a place on the caller's stack. */
#define GT_LAUNCH_ROOM(kernel) \
	((void *)(((uintptr_t)alloca(gt_launch_room(kernel) + 16) + 15) & ~(uintptr_t)15))

/* Note what is launched.  Then either gt_launch_stream() or, for a graph node, gt_launch_captured(). */
void gt_launch_begin(struct gt_launch *launch, const void *function,
		     const unsigned int grid[3], const unsigned int block[3],
		     unsigned int shared_bytes, void **params, void **extra);
/* Which stream it goes to; per_thread: a _ptsz call, where NULL is the thread's own stream. */
void gt_launch_stream(struct gt_launch *launch, CUstream stream, bool per_thread);
void gt_launch_captured(struct gt_launch *launch);

/*
 * Give the launch an id and build the parameters with the hidden one in `room`
 * (gt_launch_room() bytes, 16-byte aligned, alive until the driver has returned).
 */
void gt_launch_extend(struct gt_launch *launch, void *room);

/* Only the parameters with launch->hidden at their end, in `room`. */
void gt_launch_append(struct gt_launch *launch, void *room);

/*
 * The driver has returned.  True: it would not have the kernel with probes, and
 * the program's own is to be tried.  Where it was changed in place, that is loaded beside it; not
 * if it uses variables of its module, of which there would be two then.
 */
bool gt_launch_again(struct gt_launch *launch, CUresult result);

/* Now tell the controller. */
void gt_launch_end(struct gt_launch *launch, CUresult result);

#endif
