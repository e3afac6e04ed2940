/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW.
 *
 * The GPU's clock is modelled against RAW, whose rate only the host's oscillator
 * moves.  MONOTONIC is slewed by NTP, by up to 500 ppm and without notice, so
 * what must be known is what it showed at a given RAW time.  That is a chain of
 * its own: pairs of both clocks are read with every sample of the GPU, and once
 * more when a question lies after the last pair, so that no slew can hide there.
 *
 * Offline there is nothing to read: RAW stands for MONOTONIC itself.
 */
#ifndef GT_CLOCK_HOSTMAP_H
#define GT_CLOCK_HOSTMAP_H

#include "lib/clock/chain.h"

/* RAW was read between two readings of MONOTONIC, ns. */
struct gt_host_pair {
	int64_t mono_before, raw, mono_after;
};

typedef int (*gt_read_pair_fn)(void *data, struct gt_host_pair *ret_pair);

struct gt_hostmap {
	struct gt_chain chain;
	gt_read_pair_fn read;	/* NULL: offline */
	void *data;
};

void gt_hostmap_init(struct gt_hostmap *map, gt_read_pair_fn read, void *data);
void gt_hostmap_done(struct gt_hostmap *map);

/* Read a pair now.  0 or -errno. */
int gt_hostmap_touch(struct gt_hostmap *map);

/* CLOCK_MONOTONIC in [lo, hi] was when on RAW, and back; errors as gt_chain_to_near(). */
int gt_hostmap_to_raw(struct gt_hostmap *map, int64_t lo, int64_t hi, int64_t *ret_lo, int64_t *ret_hi);
int gt_hostmap_to_mono(struct gt_hostmap *map, int64_t lo, int64_t hi, int64_t *ret_lo,
		       int64_t *ret_hi);

#endif
