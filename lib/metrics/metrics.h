/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics in a reader's stream: a thread asks for them, the reader takes in what it has got. */
#ifndef GT_METRICS_METRICS_H
#define GT_METRICS_METRICS_H

struct gt_metrics;
struct gputrace_reader;

/* Tell the thread of GPUs that have come; values into the reader's queue.  Nothing if it has no metrics. */
void gt_metrics_collect(struct gputrace_reader *reader);

/* The stream is over: what the thread has got by then, and no more.  Waits for the thread, but not for ever. */
void gt_metrics_end(struct gputrace_reader *reader);

/* The same without a stream.  NULL is fine, and so is a child of fork(), where all is left as it is. */
void gt_metrics_free(struct gt_metrics *metrics);

#endif
