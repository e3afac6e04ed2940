/* SPDX-License-Identifier: Apache-2.0 */
/* What the text of exit stubs reads in place of values that a block has in common: see stub.h. */
#include "lib/agent/graft/stub.h"

/* Bits of a load from a constant bank that say where to and from, and when. */
static gt_word essence(gt_word word)
{
	word = gt_with(gt_with(word, 12, 20, 0), 38, 16, 0);
	return gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, 0);
}

/* 32 bits from an address that a register gives. */
static bool is_load(gt_word word, unsigned bank)
{
	return essence(word) == ((gt_word)GT_OP_LDC | (gt_word)bank << 54 | (gt_word)4 << 73) &&
	       gt_bits(word, 24, 8) != GT_RZ;
}

/* Where the sizes of block and grid are in bank 0, three words each. */
static unsigned sizes_at(unsigned arch)
{
	return arch >= 100 ? 0x360 : 0;
}

static gt_word load_size(gt_word like, unsigned arch, unsigned index)
{
	gt_word word = gt_with(gt_with(like, 24, 8, GT_RZ), 54, 5, 0);

	return gt_with(word, 38, 16, sizes_at(arch) + 4 * index);
}

/* Both answer late, so whoever waits for the one waits for the other; but this one reads no register. */
static gt_word read_special(gt_word like, unsigned special)
{
	gt_word word = gt_with(gt_with(0, 0, 12, GT_OP_S2R), 72, 8, special);

	word = gt_with(word, 12, 12, gt_bits(like, 12, 12));
	word = gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, gt_bits(like, GT_CONTROL_AT, GT_CONTROL_BITS));
	return gt_with_read_barrier(word, GT_BARRIER_NONE);
}

const char *gt_stub_fill_values(struct gt_graft_stub *stub)
{
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];
		unsigned at = gt_bits(word, 38, 16), value = (at - GT_VALUE_FIRST) / GT_VALUE_STEP;

		if (!is_load(word, GT_VALUE_BANK))
			continue;
		if (at < GT_VALUE_FIRST || at % GT_VALUE_STEP || value >= GT_VALUES)
			return "the probes' machine code reads a value of the block in an unknown way";
		stub->words[i] = value < GT_VALUE_BLOCK ? load_size(word, stub->arch, value) :
				 read_special(word, GT_SR_CTAID_X + value - GT_VALUE_BLOCK);
		stub->ctaidz |= stub->arch < 90 && value == GT_VALUE_BLOCK + 2;
	}
	return NULL;
}
