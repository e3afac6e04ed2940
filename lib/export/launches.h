/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches whose kernels may still come.  Of each traced process the newest few
 * ten thousand are remembered, more than a GPU's queues hold, so that memory
 * stays flat when kernels never come (those without probes).
 */
#ifndef GT_EXPORT_LAUNCHES_H
#define GT_EXPORT_LAUNCHES_H

#include <stdint.h>

struct gt_launches;

struct gt_launch {
	int pid, tid;
	uint64_t id;		/* of the launch in its process; 0: empty */
	uint64_t time;
	uint64_t correlation;	/* number of the launch in the file */
	int arrow;		/* the arrow to its kernel has been drawn */
};

struct gt_launches *gt_launches_new(void);
struct gt_launches *gt_launches_free(struct gt_launches *launches);

/* Remember a launch and give it the next correlation number. */
const struct gt_launch *gt_launches_add(struct gt_launches *launches, int pid, int tid, uint64_t id,
					uint64_t time);

/* NULL when it is unknown or forgotten. */
struct gt_launch *gt_launches_find(struct gt_launches *launches, int pid, uint64_t id);

#endif
