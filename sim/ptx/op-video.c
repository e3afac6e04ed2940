/* SPDX-License-Identifier: Apache-2.0 */
/* Two halves or four bytes of a register, each computed by itself. */
#include "lanes.h"

static int field(uint32_t word, unsigned k, unsigned bits, int is_signed)
{
	uint32_t v = word >> k * bits & ((1u << bits) - 1);

	return is_signed && v >> (bits - 1) ? (int)(v | ~0u << bits) : (int)v;
}

static int clamp(int v, unsigned bits, int is_signed)
{
	int most = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
	int least = is_signed ? -(1 << (bits - 1)) : 0;

	return v > most ? most : v < least ? least : v;
}

static int compare(int a, int b, enum compare cmp)
{
	switch (cmp) {
	case CMP_EQ: return a == b;
	case CMP_NE: return a != b;
	case CMP_LT: case CMP_LO: return a < b;
	case CMP_LE: case CMP_LS: return a <= b;
	case CMP_GT: case CMP_HI: return a > b;
	default: return a >= b;
	}
}

static int compute(int a, int b, enum video kind, enum compare cmp)
{
	switch (kind) {
	case VIDEO_ADD: return a + b;
	case VIDEO_SUB: return a - b;
	case VIDEO_AVRG: return (a + b + (a + b >= 0)) >> 1;
	case VIDEO_ABSDIFF: return a < b ? b - a : a - b;
	case VIDEO_MIN: return a < b ? a : b;
	case VIDEO_MAX: return a > b ? a : b;
	default: return compare(a, b, cmp);
	}
}

/*
 * count: fields; imm: kind, comparison << 8, signs of d a b << 16 17 18;
 * OPF_SAT; OPF_NEG: the sum of the fields is added to c
 */
int op_video(struct warp *w, const struct op *op, uint32_t mask)
{
	uint32_t *d = slot(w, op->dst);
	const uint32_t *a = slot(w, op->a), *b = slot(w, op->b), *c = slot(w, op->c);
	unsigned bits = 32 / op->count, k;
	int sign_d = op->imm >> 16 & 1, sign_a = op->imm >> 17 & 1, sign_b = op->imm >> 18 & 1;

	FOR_LANES(mask, i,
		uint32_t word = 0;
		uint32_t sum = c[i];
		for (k = 0; k < op->count; k++) {
			int v = compute(field(a[i], k, bits, sign_a), field(b[i], k, bits, sign_b),
					op->imm & 255, op->imm >> 8 & 255);

			if (op->flags & OPF_SAT)
				v = clamp(v, bits, sign_d);
			sum += (uint32_t)v;
			word |= ((uint32_t)v & ((1u << bits) - 1)) << k * bits;
		}
		d[i] = op->flags & OPF_NEG ? sum : word;
	);
	return OP_NEXT;
}
