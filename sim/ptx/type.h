/* SPDX-License-Identifier: Apache-2.0 */
/* PTX fundamental types and what is known of each. */
#ifndef SIM_PTX_TYPE_H
#define SIM_PTX_TYPE_H

#include <stdint.h>

enum ptx_type {
	T_NONE,
	T_PRED,
	T_B8, T_B16, T_B32, T_B64, T_B128,
	T_U8, T_U16, T_U32, T_U64,
	T_S8, T_S16, T_S32, T_S64,
	T_F16, T_BF16, T_F32, T_F64,
	T_F16X2, T_BF16X2,
	T_U16X2, T_S16X2,
	T_TF32,
	T_E4M3X2, T_E5M2X2,
	T_OPAQUE,		/* texref, samplerref, surfref */
	T_COUNT,
};

enum ptx_class { C_PRED, C_BITS, C_INT, C_FLOAT, C_OPAQUE };

struct ptx_type_info {
	const char *name;
	uint8_t size;		/* bytes; 0 for .pred */
	uint8_t class;
	uint8_t is_signed;
};

extern const struct ptx_type_info ptx_types[T_COUNT];

/* T_NONE when the text (without its dot) is no type. */
enum ptx_type ptx_type_find(const char *text, unsigned length);

/* May a register declared `reg` be used where an instruction wants `want`, of the same size? */
int ptx_type_fits(enum ptx_type reg, enum ptx_type want);

#endif
