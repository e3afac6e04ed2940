/* SPDX-License-Identifier: Apache-2.0 */
/* The public clock, opened over another driver than the kernel's; for tests. */
#ifndef GT_CLOCK_CLOCK_H
#define GT_CLOCK_CLOCK_H

#include <gputrace/gputrace.h>

#include "lib/clock/rm.h"

int gt_clock_open(const struct gt_rm_sys *sys, const struct gputrace_clock_opts *opts,
		  struct gputrace_clock **ret_clock);

#endif
