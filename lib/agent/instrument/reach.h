/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions each kernel may call, and so which probes run in which function. */
#ifndef GT_INSTRUMENT_REACH_H
#define GT_INSTRUMENT_REACH_H

#include "lib/agent/instrument/ptx.h"

struct ptx_reach {
	/* Of each function that is no kernel: the probes with a place in it, in order. */
	unsigned **which;
	unsigned *count;
	int *kernel;		/* a kernel that brought them, for error texts */
	/* Of each kernel: it may call a function that carries probes. */
	uint8_t *calls_probed;
	/* Of each kernel with probes: its threads may end in what it calls, for all that is known. */
	uint8_t *leaves;
	int any;		/* some function carries probes */
	/* Of each function: a kernel with probes may call it; of each prototype: where it is defined, or PTX_NONE. */
	uint8_t *reached;
	uint32_t *definition;
	uint32_t *callee;	/* of each call in the module, PTX_NONE: not defined in it */
	int pointers;		/* a kernel with probes, or what it calls, calls by pointer */
};

/* What one kernel may get to: of each function seen[] == number if it is among that; of its calls the function called. */
struct ptx_reached {
	const uint32_t *seen;
	uint32_t number;
	const uint32_t *callee;		/* PTX_NONE: not defined in the module */
};

/* Calls fn for every kernel of the module.  -ENOMEM. */
int gt_reach_each(const struct gt_ptx *ptx, void (*fn)(void *data, uint32_t kernel, const struct ptx_reached *reached),
		  void *data);

int gt_reach_find(const struct gt_ptx *ptx, const struct gt_probe *probes,
		  unsigned probe_count, const struct gt_ptx_plan *plans, struct ptx_reach *ret_reach,
		  struct gt_ptx_error *err);
void gt_reach_free(const struct gt_ptx *ptx, struct ptx_reach *reach);

/* Does the probe run at this instruction (entry and basic blocks aside)? */
int gt_probe_fits(const struct gt_ptx *ptx, const struct gt_probe *probe,
		  const struct ptx_statement *statement);

#endif
