/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/keep.h"

#include "lib/agent/graft/stack.h"

#define ARCH 90u

#define STALL_RESULT 10u	/* results of arithmetic are there after so many cycles */
#define STALL_PREDICATES 12u	/* and predicates in a register */
#define STALL_LONGEST 15u

/* Of the longest stalls the bit beside them must be 0. */
static gt_word with_stall(gt_word word, unsigned stall, unsigned wait)
{
	return gt_with_control(word, stall, stall < STALL_PREDICATES, wait);
}

static gt_word local(unsigned op, unsigned below)
{
	gt_word word = (gt_word)op | (gt_word)GT_PT << 12 | (gt_word)GT_STACK_POINTER << 24 | (gt_word)0x100800 << 64;

	return with_stall(gt_with(word, 40, 24, -below), 4, 0);
}

gt_word gt_make_keep(unsigned reg, unsigned below)
{
	return gt_with_read_barrier(gt_with(local(0x387, below), 32, 8, reg), GT_LATE_BARRIER);
}

gt_word gt_make_restore(unsigned reg, unsigned below)
{
	return gt_with(gt_with(local(0x983, below), 16, 8, reg), 110, 3, GT_KEEP_BARRIER);
}

gt_word gt_make_keep_predicates(unsigned reg)
{
	gt_word word = (gt_word)0x7803 | (gt_word)reg << 16 | (gt_word)GT_RZ << 24 | (gt_word)0x7f << 32;

	return with_stall(word, STALL_PREDICATES, 0);
}

gt_word gt_make_restore_predicates(unsigned reg)
{
	return with_stall((gt_word)0x7804 | (gt_word)reg << 24 | (gt_word)0x7f << 32, STALL_LONGEST, 0);
}

gt_word gt_make_number(unsigned reg, uint32_t value)
{
	gt_word word = (gt_word)0x7802 | (gt_word)reg << 16 | (gt_word)value << 32 | (gt_word)0xf00 << 64;

	return with_stall(word, STALL_RESULT, 0);
}

gt_word gt_make_add(unsigned reg, unsigned from, int32_t number)
{
	gt_word word = (gt_word)0x7810 | (gt_word)reg << 16 | (gt_word)from << 24 | (gt_word)(uint32_t)number << 32;

	return with_stall(word | (gt_word)0x07ffe0ff << 64, STALL_RESULT, 0);
}

gt_word gt_make_add_wide(unsigned reg, unsigned from, int32_t number)
{
	gt_word word = (gt_word)0x7825 | (gt_word)reg << 16 | (gt_word)reg << 24 | (gt_word)(uint32_t)number << 32;

	return with_stall(word | (gt_word)(0x078e0200 | from) << 64, STALL_RESULT, 0);
}

gt_word gt_make_return(int64_t at, unsigned reg)
{
	gt_word word = (gt_word)GT_OP_RET | (gt_word)GT_PT << 12 | (gt_word)reg << 24 | (gt_word)0x03c00000 << 64;

	return with_stall(gt_with_target(gt_with(word, 87, 3, GT_PT), ARCH, at, 0), 6, 0);
}

gt_word gt_make_pause(unsigned wait)
{
	return with_stall((gt_word)GT_OP_NOP | (gt_word)GT_PT << 12, STALL_LONGEST, wait);
}
