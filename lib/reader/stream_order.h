/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of the driver's events from the order in a stream: a copy starts after
 * the kernel before it has ended, which the GPU's clock tells of, and ends before the
 * next one starts.
 */
#ifndef GT_READER_STREAM_ORDER_H
#define GT_READER_STREAM_ORDER_H

#include <stdint.h>

#include "lib/reader/event_clock.h"

/* A kernel, by the GPU's clock, or a copy, by the driver's events. */
struct gt_stream_work {
	uint64_t stream;
	uint64_t enter, leave;	/* of the call for it, CLOCK_MONOTONIC ns */
	uint64_t start, end;	/* of a copy: end 0 if no event followed it */
	uint64_t error;		/* of a copy's times */
};

#define GT_STREAM_WORK 16u	/* of each kind, the latest; a power of two */

/* Of a context. */
struct gt_stream_order {
	struct gt_stream_work kernels[GT_STREAM_WORK], copies[GT_STREAM_WORK];
	uint32_t kernel_count, copy_count;	/* ever, modulo 2^32 */
};

/* One more; what follows from it goes into `events`. */
void gt_stream_order_add_kernel(struct gt_stream_order *order, struct gt_event_clock *events,
				const struct gt_stream_work *kernel);
void gt_stream_order_add_copy(struct gt_stream_order *order, struct gt_event_clock *events,
			      const struct gt_stream_work *copy);

#endif
