/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Chrome trace format in the dialect of PyTorch's Kineto.
 *
 * `ts` and `dur` are microseconds with three decimals, printed from integers.
 * `ts` counts from the zero of CLOCK_MONOTONIC; baseTimeNanoseconds, as in
 * Kineto, is what to add to get the time of day.
 */
#ifndef GT_EXPORT_CHROME_H
#define GT_EXPORT_CHROME_H

struct gt_chrome;
struct gt_output;
struct gputrace_event;

/* All: 0, -ENOMEM, or what gt_output_write() says. */
int gt_chrome_new(struct gt_output *output, struct gt_chrome **ret_chrome);
int gt_chrome_add(struct gt_chrome *chrome, const struct gputrace_event *event);
/* Write what was held back and the end of the file. */
int gt_chrome_finish(struct gt_chrome *chrome);
struct gt_chrome *gt_chrome_free(struct gt_chrome *chrome);

#endif
