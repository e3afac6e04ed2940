/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the PTX that runs probes at one place of a kernel or function. */
#ifndef GT_INSTRUMENT_SITE_H
#define GT_INSTRUMENT_SITE_H

#include "lib/agent/instrument/holding.h"
#include "lib/agent/instrument/inline.h"
#include "lib/agent/instrument/ptx.h"
#include "lib/agent/instrument/text.h"

/*
 * Functions called by kernels cannot see a kernel's parameters.  What they need
 * lies in this variable, one for each thread block, which every thread of a
 * kernel that may call an instrumented function fills with the same values.
 */
#define PTX_SHARED "__gt_shared"
#define PTX_SHARED_DECLARATION ".shared .align 16 .b8 " PTX_SHARED "[40];\n"
#define PTX_SHARED_PARAMS 24	/* after struct gt_launch_param */
#define PTX_SHARED_KERNEL 32

enum ptx_params_how {		/* how to get a generic address of the parameters */
	PTX_PARAMS_GENERIC,	/* cvta.param */
	PTX_PARAMS_COPY,	/* a copy in local memory, made at entry */
};

/* PTX ISA and target from which cvta.param can be used. */
#define PTX_CVTA_PARAM_VERSION 77u
#define PTX_CVTA_PARAM_TARGET 70u

struct ptx_site {
	const struct gt_ptx *ptx;
	const struct gt_probe *probes;		/* all */
	const struct ptx_inlines *inlines;
	const unsigned *which;			/* those that run here, in order */
	unsigned count;
	const struct ptx_kernel *kernel;	/* NULL within a function */
	const uint8_t *holds;			/* by probe: enum ptx_holds, in the kernel */
	uint32_t kernel_id;
	enum ptx_params_how params;
	int leaving;				/* threads have added what they held back */
	/* Of the instruction, or NULL. */
	const struct ptx_statement *guard;	/* whose predicate must hold */
	const struct ptx_access *access;
};

void gt_site_write(struct ptx_text *out, const struct ptx_site *site);

/* What the probes' sums have come to is added to their maps, if one of them is `enough`. */
void gt_site_write_totals(struct ptx_text *out, const struct ptx_site *site, uint32_t enough);

/* The copy of the parameters, when some of the links in `links` is switched on. */
void gt_site_copy_params(struct ptx_text *out, const struct ptx_site *site, uint32_t links);

/* Fills the shared variable; links: those whose probes this kernel carries, 0 for a kernel without probes. */
void gt_site_fill_shared(struct ptx_text *out, const struct ptx_site *site, uint32_t links,
			 int wants_params);

#endif
