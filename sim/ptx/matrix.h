/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PTX_MATRIX_H
#define SIM_PTX_MATRIX_H

#include "ops.h"

/* One mma: D = A B + C with 16 rows, 8 columns and `depth` products a sum. */
struct mma {
	unsigned depth;
	unsigned packed;	/* elements of A and B in a 32-bit register */
	enum ptx_type type_a, type_b, type_d;
	int saturate;		/* integers clamp */
	const uint32_t *a, *b, *c, *d;	/* slots of the fragments */
};

#endif
