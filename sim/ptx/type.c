/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "type.h"

const struct ptx_type_info ptx_types[T_COUNT] = {
	[T_NONE] = { "", 0, C_BITS, 0 },
	[T_PRED] = { "pred", 0, C_PRED, 0 },
	[T_B8] = { "b8", 1, C_BITS, 0 },
	[T_B16] = { "b16", 2, C_BITS, 0 },
	[T_B32] = { "b32", 4, C_BITS, 0 },
	[T_B64] = { "b64", 8, C_BITS, 0 },
	[T_B128] = { "b128", 16, C_BITS, 0 },
	[T_U8] = { "u8", 1, C_INT, 0 },
	[T_U16] = { "u16", 2, C_INT, 0 },
	[T_U32] = { "u32", 4, C_INT, 0 },
	[T_U64] = { "u64", 8, C_INT, 0 },
	[T_S8] = { "s8", 1, C_INT, 1 },
	[T_S16] = { "s16", 2, C_INT, 1 },
	[T_S32] = { "s32", 4, C_INT, 1 },
	[T_S64] = { "s64", 8, C_INT, 1 },
	[T_F16] = { "f16", 2, C_FLOAT, 1 },
	[T_BF16] = { "bf16", 2, C_FLOAT, 1 },
	[T_F32] = { "f32", 4, C_FLOAT, 1 },
	[T_F64] = { "f64", 8, C_FLOAT, 1 },
	[T_F16X2] = { "f16x2", 4, C_FLOAT, 1 },
	[T_BF16X2] = { "bf16x2", 4, C_FLOAT, 1 },
	[T_U16X2] = { "u16x2", 4, C_INT, 0 },
	[T_S16X2] = { "s16x2", 4, C_INT, 1 },
	[T_TF32] = { "tf32", 4, C_FLOAT, 1 },
	[T_E4M3X2] = { "e4m3x2", 2, C_BITS, 0 },
	[T_E5M2X2] = { "e5m2x2", 2, C_BITS, 0 },
	[T_OPAQUE] = { "texref", 8, C_OPAQUE, 0 },
};

enum ptx_type ptx_type_find(const char *text, unsigned length)
{
	unsigned i;

	for (i = T_PRED; i < T_COUNT; i++)
		if (ptx_types[i].name[0] == text[0] && strlen(ptx_types[i].name) == length && !memcmp(ptx_types[i].name, text, length))
			return i;
	if ((length == 10 && !memcmp(text, "samplerref", 10)) ||
	    (length == 7 && !memcmp(text, "surfref", 7)))
		return T_OPAQUE;
	return T_NONE;
}

int ptx_type_fits(enum ptx_type reg, enum ptx_type want)
{
	const struct ptx_type_info *r = &ptx_types[reg], *w = &ptx_types[want];

	if (r->class == C_PRED || w->class == C_PRED)
		return r->class == w->class;
	if (r->size != w->size)
		return 0;
	if (r->class == C_BITS || w->class == C_BITS)
		return 1;
	/* Packed pairs and the alternative formats live in plain registers. */
	if (want == T_BF16 || want == T_BF16X2 || want == T_F16X2 || want == T_TF32)
		return 1;
	return r->class == w->class;
}
