/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a probe that is written out at many places works out of its thread's place in the
 * grid alone, such as the number of its warp in a map, is the same at all of them: it
 * is done once, at the kernel's entry, and kept in a register.  The driver's compiler does
 * not find that by itself, since each place is left by the threads that are not elected.
 */
#ifndef GT_INSTRUMENT_HOIST_H
#define GT_INSTRUMENT_HOIST_H

#include "lib/agent/instrument/ptx.h"
#include "lib/agent/instrument/text.h"

#define PTX_HOIST_KEPT 2u	/* registers that may be taken from the kernel */

struct ptx_hoist {
	uint8_t *moved;		/* by statement of the function */
	uint32_t count;		/* of them; 0: there is nothing to gain */
	uint32_t kept[PTX_HOIST_KEPT];	/* statements with what is used at the places */
	uint32_t kept_count;
};

/* -ENOMEM. */
int gt_hoist_find(const struct gt_ptx *ptx, const struct ptx_function *function, struct ptx_hoist *ret_hoist);
void gt_hoist_free(struct ptx_hoist *hoist);

/* At the kernel's entry; number: of the probe. */
void gt_hoist_write_entry(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_function *function,
			  const struct ptx_hoist *hoist, unsigned number);
/* At a place, instead of this statement, which was moved. */
void gt_hoist_write_use(struct ptx_text *out, const struct gt_ptx *ptx, const struct ptx_function *function,
			const struct ptx_hoist *hoist, uint32_t statement, unsigned number);

#endif
