/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A make-believe NVIDIA kernel driver behind struct gt_rm_sys.  Its GPUs' timers
 * follow this host's CLOCK_MONOTONIC_RAW with a drift, so what they show at any
 * moment is known.
 */
#ifndef GT_TESTS_CLOCK_FAKE_DRIVER_H
#define GT_TESTS_CLOCK_FAKE_DRIVER_H

#include <stdbool.h>

#include "lib/clock/rm.h"

struct fake_driver {
	/* What it is */
	const char *version;		/* NULL: does not tell */
	uint32_t arch;
	uint32_t time_class;		/* the only class of time page it knows */
	int64_t jump;			/* added to the timer */
	bool lost;			/* the GPU left the bus */
	bool frozen;			/* the timer stands still */
	/* What it refuses: a path, an ioctl (with errno), an object class or a control (with a status) */
	const char *no_path;
	unsigned no_ioctl;
	uint32_t no_class, no_control;
	bool no_map;
	/* What it counts */
	int fds, objects, maps, maps_made, frees;
};

extern struct fake_driver fake;
extern struct gt_rm_sys fake_sys;

/* Two GPUs at 0000:06:00 (minor 1) and 0000:2a:00 (minor 0), Hopper, driver 580. */
void fake_reset(void);
/* What the timer shows at this CLOCK_MONOTONIC_RAW time. */
int64_t fake_gpu(int64_t raw);

#endif
