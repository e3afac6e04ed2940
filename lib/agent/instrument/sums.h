/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Additions that are held back.  What a program adds to a map at each of a kernel's many
 * places is first summed up in a register of the thread, where nobody reads the map
 * meanwhile (GT_PROBE_ADDS_LATER), and added to the map when the thread leaves the
 * kernel: an atomic instruction at each access made a product of matrices 73 times as
 * long.  In loops the register is looked at in each round, so that what a long one
 * counts is seen before it ends, and 32 bits are enough.
 */
#ifndef GT_INSTRUMENT_SUMS_H
#define GT_INSTRUMENT_SUMS_H

#include "lib/agent/instrument/ptx.h"
#include "lib/agent/instrument/text.h"

#define PTX_SUMS_MAX 4u			/* registers of a probe */
#define PTX_SUMS_KERNEL_MAX 8u		/* of all probes in a kernel */
#define PTX_SUM_ENOUGH 65536u		/* in a register: the next round begins with adding it to the map */
#define PTX_SUM_ADDEND_MAX 65535u
#define PTX_SUM_SIZE_MAX 1024u		/* bytes of an access, where they are added */
#define PTX_SUM_PLACES_MAX 32768u	/* in a kernel: each adds once in a round */

/* Of a statement of the probe. */
#define PTX_SUMS_HELD 1u	/* an addition that is held back */
#define PTX_SUMS_ADDRESS 2u	/* an address of one comes from it */
#define PTX_SUMS_GONE 4u	/* nothing else does, so that it is not needed at the places */

struct ptx_sums {
	uint8_t *roles;			/* by statement: PTX_SUMS_* */
	uint32_t held[PTX_SUMS_MAX];	/* statements */
	uint32_t count;			/* 0: there is none */
	uint32_t gone;			/* statements */
	uint8_t sizes;			/* an access's bytes are added, and may be PTX_SUM_SIZE_MAX */
	unsigned alike;			/* the first probe that adds to the same places in memory */
	unsigned owner;			/* the one whose registers are used in the kernel at hand */
};

/* arguments: as struct ptx_fixed's.  -ENOMEM. */
int gt_sums_find(const struct gt_ptx *ptx, const struct ptx_function *function, const uint8_t *arguments,
		 struct ptx_sums *ret_sums);
void gt_sums_free(struct ptx_sums *sums);

/* At the kernel's entry, for a probe with registers of its own. */
void gt_sums_write_entry(struct ptx_text *out, const struct ptx_sums *sums);

/* At a place, instead of the addition `held` with this index; the end of its statement. */
uint32_t gt_sums_write_addition(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_sums *sums,
				const struct ptx_statement *held, unsigned index);

/* Brings the registers into %__gt_t, which is 0 if all are, and not below the largest of them. */
void gt_sums_write_any(struct ptx_text *out, const struct ptx_sums *sums);

/* Where the address is known: the register is added to the map, and 0 from then on. */
uint32_t gt_sums_write_total(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_sums *sums,
			     const struct ptx_statement *held, unsigned index);

#endif
