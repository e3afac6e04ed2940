/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices that lie spread over the registers of a warp.  In a fragment, lane
 * 4 g + t holds of rows g and g + 8 the columns that belong to t.  Products and
 * sums are computed in double precision and rounded once, which is at least as
 * exact as the hardware.
 */
#include <string.h>

#include "half.h"
#include "matrix.h"
#include "memory.h"

int matrix_whole(struct warp *w, const struct op *op, uint32_t mask)
{
	if (mask == FULL)
		return 1;
	warp_fault(w, op, (unsigned)__builtin_ctz(mask), SIM_ERROR_TRAP,
		   "not all lanes of the warp take part");
	return 0;
}

/* Rows of 8 elements of 16 bits; matrix m's row r is at the address of lane 8 m + r. */
static unsigned char *matrix_row(struct warp *w, const struct op *op, unsigned m, unsigned r)
{
	unsigned lane = 8 * m + r;

	return locate(w, op, lane, address_of(slot(w, op->a), lane, op), 16, 16, op->b);
}

int op_ldmatrix(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *slots = op->ext;
	uint16_t rows[8][8];
	unsigned m, r;

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	for (m = 0; m < op->count; m++) {
		uint32_t *d = slot(w, slots[m]);

		for (r = 0; r < 8; r++) {
			const unsigned char *row = matrix_row(w, op, m, r);

			if (!row)
				return OP_FAULT;
			memcpy(rows[r], row, 16);
		}
		FOR_LANES(mask, i,
			unsigned g = i / 4;
			unsigned t = 2 * (i % 4);
			d[i] = op->c ? rows[t][g] | (uint32_t)rows[t + 1][g] << 16 :
			       rows[g][t] | (uint32_t)rows[g][t + 1] << 16;
		);
	}
	return OP_NEXT;
}

int op_stmatrix(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *slots = op->ext;
	uint16_t rows[8][8];
	unsigned m, r;

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	for (m = 0; m < op->count; m++) {
		const uint32_t *s = slot(w, slots[m]);

		FOR_LANES(mask, i,
			unsigned g = i / 4;
			unsigned t = 2 * (i % 4);
			rows[op->c ? t : g][op->c ? g : t] = (uint16_t)s[i];
			rows[op->c ? t + 1 : g][op->c ? g : t + 1] = (uint16_t)(s[i] >> 16);
		);
		for (r = 0; r < 8; r++) {
			unsigned char *row = matrix_row(w, op, m, r);

			if (!row)
				return OP_FAULT;
			memcpy(row, rows[r], 16);
		}
	}
	return OP_NEXT;
}

int op_movmatrix(struct warp *w, const struct op *op, uint32_t mask)
{
	const uint32_t *a = slot(w, op->a);
	uint32_t *d = slot(w, op->dst);
	uint16_t rows[8][8];

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	FOR_LANES(mask, i,
		rows[i / 4][2 * (i % 4)] = (uint16_t)a[i];
		rows[i / 4][2 * (i % 4) + 1] = (uint16_t)(a[i] >> 16););
	FOR_LANES(mask, i,
		d[i] = rows[2 * (i % 4)][i / 4] | (uint32_t)rows[2 * (i % 4) + 1][i / 4] << 16;);
	return OP_NEXT;
}

double matrix_value(uint32_t bits, enum ptx_type type)
{
	switch (type) {
	case T_F16: return small_to_f64((uint16_t)bits, &format_f16);
	case T_BF16: return small_to_f64((uint16_t)bits, &format_bf16);
	case T_S8: return (int8_t)bits;
	case T_U8: return (uint8_t)bits;
	case T_S32: return (int32_t)bits;
	case T_TF32: return (double)f32_of(bits & 0xffffe000);
	default: return (double)f32_of(bits);
	}
}

/* Element e of those packed into a register. */
static double element(uint32_t word, unsigned e, const struct mma *m, enum ptx_type type)
{
	return matrix_value(word >> 32 / m->packed * e, type);
}

static void read_a(struct warp *w, const struct mma *m, double a[16][32])
{
	unsigned regs = 2 * (m->depth / (4 * m->packed)), r, e;

	for (r = 0; r < regs; r++) {
		const uint32_t *s = slot(w, m->a[r]);

		for (unsigned i = 0; i < LANES; i++)
			for (e = 0; e < m->packed; e++)
				a[i / 4 + 8 * (r & 1)][(r / 2 * 4 + i % 4) * m->packed + e] =
					element(s[i], e, m, m->type_a);
	}
}

static void read_b(struct warp *w, const struct mma *m, double b[32][8])
{
	unsigned regs = m->depth / (4 * m->packed), r, e;

	for (r = 0; r < regs; r++) {
		const uint32_t *s = slot(w, m->b[r]);

		for (unsigned i = 0; i < LANES; i++)
			for (e = 0; e < m->packed; e++)
				b[(r * 4 + i % 4) * m->packed + e][i / 4] = element(s[i], e, m, m->type_b);
	}
}

/* Element `e` of a lane's four: two columns of row g, two of row g + 8. */
static double read_c(struct warp *w, const struct mma *m, unsigned lane, unsigned e)
{
	if (m->type_d == T_F16)
		return small_to_f64((uint16_t)(((const uint32_t *)slot(w, m->c[e / 2]))[lane] >> 16 * (e & 1)),
				    &format_f16);
	if (m->type_d == T_F32)
		return (double)((const float *)slot(w, m->c[e]))[lane];
	return ((const int32_t *)slot(w, m->c[e]))[lane];
}

static uint32_t wrap_or_clamp(double v, int clamp)
{
	if (clamp)
		return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v);
	return (uint32_t)(int64_t)v;
}

static void write_d(struct warp *w, const struct mma *m, unsigned lane, unsigned e, double v)
{
	uint32_t *d = (uint32_t *)slot(w, m->d[m->type_d == T_F16 ? e / 2 : e]) + lane;
	uint32_t half;

	if (m->type_d == T_F32) {
		*d = f32_bits(f32_canonical((float)v));
	} else if (m->type_d == T_F16) {
		half = small_from_f64(v, &format_f16, RND_RN, 0);
		*d = e & 1 ? (*d & 0xffff) | half << 16 : (*d & 0xffff0000) | half;
	} else {
		*d = wrap_or_clamp(v, m->saturate);
	}
}

int op_mma(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct mma *m = op->ext;
	double a[16][32], b[32][8], sums[LANES][4];
	unsigned e, k;

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	read_a(w, m, a);
	read_b(w, m, b);
	for (unsigned i = 0; i < LANES; i++)
		for (e = 0; e < 4; e++) {
			unsigned row = i / 4 + 8 * (e / 2), column = 2 * (i % 4) + (e & 1);

			sums[i][e] = read_c(w, m, i, e);
			for (k = 0; k < m->depth; k++)
				sums[i][e] += a[row][k] * b[k][column];
		}
	/* D may be C, A or B. */
	for (unsigned i = 0; i < LANES; i++)
		for (e = 0; e < 4; e++)
			write_d(w, m, i, e, sums[i][e]);
	return OP_NEXT;
}
