/* SPDX-License-Identifier: Apache-2.0 */
/*
 * desc[UR][R.64] to [R.64], as compilers write accesses that they give no
 * descriptor.  Those work without, and most stubs then name no uniform register.
 */
#include "lib/agent/graft/stub.h"

/* The generic ones keep their offset in other bits, and a store its data, when there is no uniform register. */
static gt_word plain_generic(gt_word word)
{
	bool store = gt_op_proper(word) == 0x185;
	unsigned data = gt_bits(word, 32, 8);
	uint32_t offset = (gt_bits(word, 40, 24) ^ 0x800000) - 0x800000;	/* signed, of 32 bits there */

	word = gt_with(gt_with(word, 32, 32, offset), 76, 1, 0);
	return store ? gt_with(gt_with(word, 9, 3, 1), 64, 8, data) : word;
}

/* Since compute capability 10.0, where numbers of uniform registers are longer, of some accesses elsewhere. */
static bool takes_descriptor_wide(gt_word word)
{
	switch (gt_op_proper(word)) {
	case 0x180:	/* LD */
	case 0x181:	/* LDG */
	case 0x185:	/* ST */
	case 0x186:	/* STG */
		return gt_bits(word, 91, 1) && gt_bits(word, 76, 1) && gt_bits(word, 90, 1);
	case 0x1a8:	/* ATOMG */
		return gt_bits(word, 91, 1) && gt_bits(word, 76, 1);
	case 0x18e:	/* RED */
		return gt_bits(word, 91, 1) && gt_bits(word, 81, 1) && gt_bits(word, 90, 1);
	}
	return false;
}

bool gt_takes_descriptor(gt_word word, unsigned arch)
{
	return arch < GT_UR_WIDE_SINCE ? gt_without_descriptor(word) != word : takes_descriptor_wide(word);
}

gt_word gt_without_descriptor(gt_word word)
{
	unsigned proper = gt_op_proper(word);
	unsigned described = proper == 0x1a8 || proper == 0x18e ? 71 : 76, wide = proper == 0x1a8 ? 70 : 90;

	if (!gt_bits(word, 91, 1) || !gt_bits(word, described, 1) || !gt_bits(word, wide, 1))
		return word;
	switch (proper) {
	case 0x180:	/* LD */
	case 0x185:	/* ST */
		return plain_generic(gt_with(word, 90, 2, 0));
	case 0x181:	/* LDG */
		return gt_with(gt_with(gt_with(gt_with(word, 9, 3, 1), 32, 8, 0), 90, 2, 0), 76, 1, 0);
	case 0x186:	/* STG */
		return gt_with(gt_with(gt_with(gt_with(word, 9, 3, 1), 64, 8, 0), 90, 2, 0), 76, 1, 0);
	case 0x1a8:	/* ATOMG */
		return gt_with(gt_with(gt_with(word, 9, 3, 1), 64, 8, 0), 91, 1, 0);
	case 0x18e:	/* RED */
		return gt_with(gt_with(word, 64, 8, 0), 90, 2, 0);
	}
	return word;
}
