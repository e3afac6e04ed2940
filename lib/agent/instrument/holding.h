/* SPDX-License-Identifier: Apache-2.0 */
/* Which probes of a kernel hold back what they add, see sums.h, and where it is looked at. */
#ifndef GT_INSTRUMENT_HOLDING_H
#define GT_INSTRUMENT_HOLDING_H

#include "lib/agent/instrument/inline.h"
#include "lib/agent/instrument/ptx.h"

enum ptx_holds {
	PTX_HOLDS_NOTHING,
	PTX_HOLDS,		/* in registers of its own */
	PTX_HOLDS_WITH,		/* in those of inlines->of[probe].sums.owner, which adds to the same places in memory */
};

struct ptx_holding {
	uint8_t *probes;	/* by probe: enum ptx_holds */
	uint8_t *heads;		/* by statement of the kernel: rounds of loops with places of the probes begin there */
	int any;		/* some probe holds something */
};

/* probes, with room for all and nothing in it, is the caller's; gt_holding_end() also after a failure.  -ENOMEM. */
int gt_holding_begin(struct ptx_holding *holding, const struct gt_ptx *ptx, const struct ptx_function *kernel,
		     const struct gt_probe *probes, struct ptx_inlines *inlines, const unsigned *which, unsigned count);
/* For the next kernel. */
void gt_holding_end(struct ptx_holding *holding, unsigned probe_count);

#endif
