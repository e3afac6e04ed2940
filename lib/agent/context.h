/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that probes use in each CUDA context. */
#ifndef GT_AGENT_CONTEXT_H
#define GT_AGENT_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/cuda_abi.h"

struct gt_context {
	CUcontext handle;
	unsigned index;		/* of its area in shared memory */
	CUdevice device;
	CUdeviceptr dev, host;	/* the arenas as the GPU sees them */
	CUstream stream;	/* ours, never ordered with the program's */
	CUmodule stamp_module;
	CUfunction stamp;
	bool stamping, stamp_pending;
	bool usable;		/* false: setting up failed, its kernels run with probes off */
};

/*
 * The calling thread's current context, set up on first sight.  NULL: none is
 * current, or no area is left.  Cheap when seen before.
 */
struct gt_context *gt_context_current(void);

/* Copy every context's device arena out to shared memory. */
void gt_contexts_flush(void);

/* Copy one context's arena out, if it is known: before the program may destroy it. */
void gt_context_flush(CUcontext handle);
/* The context is gone; its handle may come back for another one. */
void gt_context_forget(CUcontext handle);

/* One clock record from each context that was asked for them. */
void gt_contexts_stamp(void);
void gt_context_start_stamps(unsigned index);

#endif
