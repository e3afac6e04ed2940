/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that BPF programs with process_filter.bpf.h in them watch. */
#ifndef GT_UPROBE_PROCESS_FILTER_H
#define GT_UPROBE_PROCESS_FILTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct bpf_link;
struct bpf_object;
struct gt_notes;

struct gt_process_filter {
	struct bpf_object *object;	/* whose programs they are */
	struct bpf_link *on_fork, *on_exit;
	const uint64_t *unfollowed;	/* child processes that found no room; mapped */
	bool everybody;
	bool said_unfollowed;
};

/* Before the object is loaded; pid: this process and those it has started and will start; -1: every process.  -EINVAL. */
int gt_process_filter_configure(struct gt_process_filter *filter, struct bpf_object *object, pid_t pid);

/*
 * Once it is loaded: watch them.  What cannot be seen is noted.  Errors without gt_error()
 * text, -ESRCH: there is no such process.  On failure too, gt_process_filter_stop() has to be called.
 */
int gt_process_filter_start(struct gt_process_filter *filter, pid_t pid, struct gt_notes *notes);
/* Before the object is closed; one that was not started is fine. */
void gt_process_filter_stop(struct gt_process_filter *filter);

/* Is the process one of them? */
bool gt_process_filter_has(const struct gt_process_filter *filter, int pid);
/* Is any of them running?  false also when that is not known. */
bool gt_process_filter_has_any(const struct gt_process_filter *filter);
/* Once in a while: note that there were too many, if so. */
void gt_process_filter_check(struct gt_process_filter *filter, struct gt_notes *notes);

#endif
