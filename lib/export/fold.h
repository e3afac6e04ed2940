/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folded stacks, which flamegraph.pl and its kin take: a line for each stack, its
 * frames from the outermost, and nanoseconds: of calls on the host, without
 * those that they contain; and of kernels on the GPU, below the call that launched them.
 */
#ifndef GT_EXPORT_FOLD_H
#define GT_EXPORT_FOLD_H

struct gt_fold;
struct gt_output;
struct gputrace_event;
struct gputrace_symbolizer;

/* All: 0, -ENOMEM, or what gt_output_write() says. */
int gt_fold_new(struct gt_output *output, struct gt_fold **ret_fold);
/* symbolizer: may be NULL. */
int gt_fold_add(struct gt_fold *fold, const struct gputrace_event *event,
		struct gputrace_symbolizer *symbolizer);
/* Write everything. */
int gt_fold_finish(struct gt_fold *fold);
void gt_fold_free(struct gt_fold *fold);

#endif
