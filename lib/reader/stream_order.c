/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/stream_order.h"

/* Calls of two threads at the same time may have come to the stream either way round. */
static void compare(struct gt_event_clock *events, const struct gt_stream_work *kernel,
		    const struct gt_stream_work *copy)
{
	if (!kernel->enter || !copy->enter || kernel->stream != copy->stream)
		return;
	if (kernel->leave <= copy->enter)
		gt_event_clock_after(events, kernel->end, copy->start, copy->error);
	else if (copy->leave <= kernel->enter && copy->end)
		gt_event_clock_before(events, kernel->start, copy->end, copy->error);
}

void gt_stream_order_add_kernel(struct gt_stream_order *order, struct gt_event_clock *events,
				const struct gt_stream_work *kernel)
{
	for (unsigned i = 0; i < GT_STREAM_WORK; i++)
		compare(events, kernel, &order->copies[i]);
	order->kernels[order->kernel_count++ % GT_STREAM_WORK] = *kernel;
}

void gt_stream_order_add_copy(struct gt_stream_order *order, struct gt_event_clock *events,
			      const struct gt_stream_work *copy)
{
	for (unsigned i = 0; i < GT_STREAM_WORK; i++)
		compare(events, &order->kernels[i], copy);
	order->copies[order->copy_count++ % GT_STREAM_WORK] = *copy;
}
