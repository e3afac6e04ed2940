/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of this host, read together. */
#ifndef GT_CLOCK_HOSTPAIR_H
#define GT_CLOCK_HOSTPAIR_H

#include "lib/clock/hostmap.h"

/* A gt_read_pair_fn: RAW between two readings of MONOTONIC, the closest of a few.  data is not used. */
int gt_host_pair_read(void *data, struct gt_host_pair *ret_pair);

#endif
