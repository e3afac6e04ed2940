/* SPDX-License-Identifier: Apache-2.0 */
/* What the text of stubs reads in place of values that a block or a launch has in common: see stub.h. */
#include "lib/agent/graft/stub.h"

/* Where the sizes of block and grid are in bank 0, three words each. */
static unsigned sizes_at(unsigned arch)
{
	return arch >= 100 ? 0x360 : 0;
}

static gt_word load_constant(gt_word like, unsigned at)
{
	gt_word word = gt_with(gt_with(like, 24, 8, GT_RZ), 54, 5, 0);

	return gt_with(word, 38, 16, at);
}

/* Both answer late, so whoever waits for the one waits for the other; but this one reads no register. */
static gt_word read_special(gt_word like, unsigned special)
{
	gt_word word = gt_with(gt_with(0, 0, 12, GT_OP_S2R), 72, 8, special);

	word = gt_with(word, 12, 12, gt_bits(like, 12, 12));
	word = gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, gt_bits(like, GT_CONTROL_AT, GT_CONTROL_BITS));
	return gt_with_read_barrier(word, GT_BARRIER_NONE);
}

static gt_word fill_value(gt_word load, unsigned arch, unsigned value)
{
	if (value < GT_VALUE_BLOCK)
		return load_constant(load, sizes_at(arch) + 4 * value);
	if (value < GT_VALUE_LAUNCH)
		return read_special(load, GT_SR_CTAID_X + value - GT_VALUE_BLOCK);
	if (value == GT_VALUE_THREAD)
		return read_special(load, GT_SR_TID);
	if (value == GT_VALUE_VIRTUAL)
		return read_special(load, GT_SR_VIRTID);
	if (value == GT_VALUE_SM)
		return read_special(load, GT_SR_VIRTUALSMID);
	return load_constant(load, gt_elf_param_base(arch) + 4 * (value - GT_VALUE_LAUNCH));
}

const char *gt_stub_fill_values(struct gt_graft_stub *stub)
{
	for (unsigned i = 0; i < stub->count; i++) {
		gt_word word = stub->words[i];
		unsigned at = gt_constant_at(word), value = (at - GT_VALUE_FIRST) / GT_VALUE_STEP;

		if (!gt_loads_constant(word, GT_VALUE_BANK, true) || gt_reads_kernel(word))
			continue;
		if (at < GT_VALUE_FIRST || at % GT_VALUE_STEP || value >= GT_VALUES)
			return "the probes' machine code reads a value in an unknown way";
		stub->words[i] = fill_value(word, stub->arch, value);
		stub->ctaidz |= stub->arch < 90 && value == GT_VALUE_BLOCK + 2;
	}
	return NULL;
}
