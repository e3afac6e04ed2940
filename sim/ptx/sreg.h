/* SPDX-License-Identifier: Apache-2.0 */
/* Special registers. */
#ifndef SIM_PTX_SREG_H
#define SIM_PTX_SREG_H

#include "ast.h"

enum ptx_sreg {
	SREG_TID,			/* with element x, y, z */
	SREG_NTID,
	SREG_CTAID,
	SREG_NCTAID,
	SREG_CLUSTERID,
	SREG_NCLUSTERID,
	SREG_CLUSTER_CTAID,
	SREG_CLUSTER_NCTAID,
	SREG_LANEID,
	SREG_WARPID,
	SREG_NWARPID,
	SREG_SMID,
	SREG_NSMID,
	SREG_GRIDID,
	SREG_LANEMASK_EQ,
	SREG_LANEMASK_LE,
	SREG_LANEMASK_LT,
	SREG_LANEMASK_GE,
	SREG_LANEMASK_GT,
	SREG_CLOCK,
	SREG_CLOCK_HI,
	SREG_CLOCK64,
	SREG_GLOBALTIMER,
	SREG_GLOBALTIMER_LO,
	SREG_GLOBALTIMER_HI,
	SREG_DYNAMIC_SMEM,
	SREG_TOTAL_SMEM,
	SREG_AGGR_SMEM,
	SREG_CLUSTER_CTARANK,
	SREG_CLUSTER_NCTARANK,
	SREG_IS_EXPLICIT_CLUSTER,	/* a predicate */
	SREG_ENVREG,			/* element: number */
	SREG_ZERO,			/* %pm0, %reserved_smem_offset_*: always 0 here */
	SREG_ZERO64,
};

/* 0, or -1 when no special register has this name. */
int ptx_sreg_find(const struct ptx_name *name, enum ptx_sreg *ret_sreg, unsigned *ret_element);

/* Does the register have elements .x .y .z? */
int ptx_sreg_is_vector(enum ptx_sreg sreg);
enum ptx_type ptx_sreg_type(enum ptx_sreg sreg);

#endif
