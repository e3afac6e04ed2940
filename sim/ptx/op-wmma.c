/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wmma: element e of a fragment, counted by rows, lies in lane e / (elements a
 * lane holds), in the order of its registers.  Where the registers have more
 * room than that, the rest repeats, so that programs which change every
 * register of a fragment stay consistent.
 */
#include <string.h>

#include "half.h"
#include "matrix.h"
#include "memory.h"

static unsigned element_bits(enum ptx_type type)
{
	return type == T_F16 || type == T_BF16 ? 16 : type == T_S8 || type == T_U8 ? 8 : 32;
}

static uint32_t get(struct warp *w, const struct fragment *f, unsigned lane, unsigned at)
{
	unsigned bits = element_bits(f->type), per = 32 / bits;
	uint32_t word = ((const uint32_t *)slot(w, f->slots[at / per]))[lane] >> at % per * bits;

	return bits == 32 ? word : word & ((1u << bits) - 1);
}

static void put_element(struct warp *w, const struct fragment *f, unsigned lane, unsigned at,
			uint32_t value)
{
	unsigned bits = element_bits(f->type), per = 32 / bits, shift = at % per * bits;
	uint32_t *word = (uint32_t *)slot(w, f->slots[at / per]) + lane;
	uint32_t field = bits == 32 ? FULL : ((1u << bits) - 1) << shift;

	*word = (*word & ~field) | (value << shift & field);
}

static unsigned per_lane(const struct fragment *f)
{
	return f->rows * f->columns / LANES;
}

static uint32_t bits_of(double v, const struct wmma *m)
{
	if (m->d.type == T_F16)
		return small_from_f64(v, &format_f16, RND_RN, m->saturate);
	if (m->d.type == T_F32)
		return f32_bits(f32_canonical((float)v));
	if (m->saturate)
		return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (int32_t)v);
	return (uint32_t)(int64_t)v;
}

static unsigned char *place(struct warp *w, const struct op *op, unsigned e)
{
	const struct wmma *m = op->ext;
	unsigned row = e / m->d.columns, column = e % m->d.columns, size = element_bits(m->d.type) / 8;
	uint64_t stride = ((const uint32_t *)slot(w, op->c))[0];
	uint64_t index = m->by_columns ? column * stride + row : row * stride + column;

	return locate(w, op, 0, address_of(slot(w, op->a), 0, op) + index * size, size, size, op->b);
}

int op_wmma_load(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct wmma *m = op->ext;
	unsigned e, k, room = m->d.count * 32 / element_bits(m->d.type), size = element_bits(m->d.type) / 8;

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	for (e = 0; e < m->d.rows * m->d.columns; e++) {
		const unsigned char *p = place(w, op, e);
		uint32_t bits = 0;

		if (!p)
			return OP_FAULT;
		memcpy(&bits, p, size);
		for (k = e % per_lane(&m->d); k < room; k += per_lane(&m->d))
			put_element(w, &m->d, e / per_lane(&m->d), k, bits);
	}
	return OP_NEXT;
}

int op_wmma_store(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct wmma *m = op->ext;
	unsigned e, size = element_bits(m->d.type) / 8;

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	for (e = 0; e < m->d.rows * m->d.columns; e++) {
		unsigned char *p = place(w, op, e);
		uint32_t bits = get(w, &m->d, e / per_lane(&m->d), e % per_lane(&m->d));

		if (!p)
			return OP_FAULT;
		memcpy(p, &bits, size);
	}
	return OP_NEXT;
}

static void spread(struct warp *w, const struct fragment *f, double *to)
{
	unsigned e;

	for (e = 0; e < f->rows * f->columns; e++)
		to[e] = matrix_value(get(w, f, e / per_lane(f), e % per_lane(f)), f->type);
}

int op_wmma_mma(struct warp *w, const struct op *op, uint32_t mask)
{
	const struct wmma *m = op->ext;
	double a[32 * 16], b[32 * 16], c[256];
	unsigned i, j, k, e;

	if (!matrix_whole(w, op, mask))
		return OP_FAULT;
	spread(w, &m->a, a);
	spread(w, &m->b, b);
	spread(w, &m->c, c);
	for (i = 0; i < m->a.rows; i++)
		for (j = 0; j < m->b.columns; j++)
			for (k = 0; k < m->a.columns; k++)
				c[i * m->b.columns + j] += a[i * m->a.columns + k] * b[k * m->b.columns + j];
	for (e = 0; e < m->d.rows * m->d.columns; e++)
		put_element(w, &m->d, e / per_lane(&m->d), e % per_lane(&m->d), bits_of(c[e], m));
	return OP_NEXT;
}
