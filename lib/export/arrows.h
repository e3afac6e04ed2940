/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches and their kernels, to draw an arrow when both ends are known: either
 * may come first.  Of each traced process the newest few ten thousand launches
 * are remembered, more than a GPU's queues hold, so that memory stays flat when
 * kernels never come (those without probes).
 */
#ifndef GT_EXPORT_ARROWS_H
#define GT_EXPORT_ARROWS_H

#include <stdint.h>

struct gt_arrows;

struct gt_arrow_end {
	int known;
	int pid, tid;		/* the row */
	uint64_t time;
};

struct gt_arrow {
	int pid;
	uint64_t launch;	/* id in its process; 0: empty */
	uint64_t correlation;	/* number of the launch in the file */
	struct gt_arrow_end from, to;
	int drawn;
	int has_call;		/* the driver's call came before the launch and stands for it */
};

struct gt_arrows *gt_arrows_new(void);
struct gt_arrows *gt_arrows_free(struct gt_arrows *arrows);

/* Find or make, for a launch or for a kernel of it.  Valid until the next call; NULL for launch 0. */
struct gt_arrow *gt_arrows_of_launch(struct gt_arrows *arrows, int pid, uint64_t launch);
struct gt_arrow *gt_arrows_of_kernel(struct gt_arrows *arrows, int pid, uint64_t launch);

#endif
