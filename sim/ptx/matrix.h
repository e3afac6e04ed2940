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

/* Registers that hold a matrix for wmma. */
struct fragment {
	unsigned rows, columns, count;
	enum ptx_type type;
	const uint32_t *slots;
};

struct wmma {
	struct fragment a, b, c, d;	/* loads and stores use d */
	int by_columns, saturate;
};

/* Do all lanes of the warp take part?  If not, the fault is noted. */
int matrix_whole(struct warp *w, const struct op *op, uint32_t mask);
double matrix_value(uint32_t bits, enum ptx_type type);

#endif
