/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that make an operation over all lanes out of an expression over one. */
#ifndef SIM_PTX_LANES_H
#define SIM_PTX_LANES_H

#include "ops.h"

/* How a type lies in a slot, and as what it computes. */
#define LANE_u8 uint32_t
#define LANE_s8 uint32_t
#define LANE_u16 uint32_t
#define LANE_s16 uint32_t
#define LANE_u32 uint32_t
#define LANE_s32 uint32_t
#define LANE_u64 uint64_t
#define LANE_s64 uint64_t
#define LANE_f32 float
#define LANE_f64 double
#define VAL_u8 uint8_t
#define VAL_s8 int8_t
#define VAL_u16 uint16_t
#define VAL_s16 int16_t
#define VAL_u32 uint32_t
#define VAL_s32 int32_t
#define VAL_u64 uint64_t
#define VAL_s64 int64_t
#define VAL_f32 float
#define VAL_f64 double

#define OP_HEAD(name) static int name(struct warp *w, const struct op *op, uint32_t mask)

/* R: type of the result; A, B, C: types of the operands a, b, c of the expression. */
#define OP1(name, R, A, expr) \
	OP_HEAD(name) \
	{ \
		LANE_##R *d = slot(w, op->dst); \
		const LANE_##A *pa = slot(w, op->a); \
		FOR_LANES(mask, i, VAL_##A a = (VAL_##A)pa[i]; d[i] = (LANE_##R)(VAL_##R)(expr);); \
		return OP_NEXT; \
	}
#define OP2(name, R, A, B, expr) \
	OP_HEAD(name) \
	{ \
		LANE_##R *d = slot(w, op->dst); \
		const LANE_##A *pa = slot(w, op->a); \
		const LANE_##B *pb = slot(w, op->b); \
		FOR_LANES(mask, i, VAL_##A a = (VAL_##A)pa[i]; VAL_##B b = (VAL_##B)pb[i]; \
			  d[i] = (LANE_##R)(VAL_##R)(expr);); \
		return OP_NEXT; \
	}
#define OP3(name, R, A, B, C, expr) \
	OP_HEAD(name) \
	{ \
		LANE_##R *d = slot(w, op->dst); \
		const LANE_##A *pa = slot(w, op->a); \
		const LANE_##B *pb = slot(w, op->b); \
		const LANE_##C *pc = slot(w, op->c); \
		FOR_LANES(mask, i, VAL_##A a = (VAL_##A)pa[i]; VAL_##B b = (VAL_##B)pb[i]; \
			  VAL_##C c = (VAL_##C)pc[i]; d[i] = (LANE_##R)(VAL_##R)(expr);); \
		return OP_NEXT; \
	}

#define END_OF_TABLE { NULL, 0, 0, NULL, NULL, NULL, 0 }

#endif
