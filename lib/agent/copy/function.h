/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's functions that copy or set memory: what a call of one of them is about to do. */
#ifndef GT_AGENT_COPY_FUNCTION_H
#define GT_AGENT_COPY_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/wire/cuda_abi.h"

/* How its arguments say what it does. */
enum gt_copy_shape {
	GT_SHAPE_NONE,		/* it is none of them */
	GT_SHAPE_LINE,
	GT_SHAPE_PLANE,		/* struct CUDA_MEMCPY2D */
	GT_SHAPE_VOLUME,		/* struct CUDA_MEMCPY3D */
	GT_SHAPE_PEERS,		/* struct CUDA_MEMCPY3D_PEER */
	GT_SHAPE_LINES,		/* a batch of lines */
	GT_SHAPE_VOLUMES,	/* a batch of volumes */
	GT_SHAPE_FILL,
	GT_SHAPE_FILL_PLANE,
};

struct gt_copy_function {
	uint8_t shape;		/* enum gt_copy_shape */
	uint8_t kind;		/* enum gt_copy_kind; UNKNOWN: the arguments tell */
	uint8_t element;	/* bytes, of a fill */
	uint8_t size, height;	/* which arguments say how much; height: of a plane to fill */
	int8_t stream;		/* which argument is the stream, -1: it goes to the default stream */
	bool per_thread;	/* to the thread's own, where that is meant */
	bool is_async;
};

/* By its index in the table of the driver's functions; shape GT_SHAPE_NONE: it does not copy, or it is one of CUDA 2. */
struct gt_copy_function gt_copy_function(uint32_t function);

/* What a call did. */
struct gt_copy_work {
	uint64_t bytes;
	uint32_t kind;		/* enum gt_copy_kind */
	bool waits;		/* the function returns when it is done */
};

/* Below, args: as the program passed them, as many as the function has. */

/* Where the call goes; nothing is read that they point to. */
CUstream gt_copy_stream(const struct gt_copy_function *function, const uint64_t *args);

/*
 * Of a call that succeeded: what the arguments point to is read, as the driver has then done.  Of
 * one that it refuses they may point anywhere.
 */
struct gt_copy_work gt_copy_work(const struct gt_copy_function *function, const uint64_t *args);

#endif
