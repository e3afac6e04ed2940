/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/graft/insn.h"

/* Bits that say under which conditions and when, not what. */
static gt_word essence(gt_word word)
{
	word = gt_with(word, 12, 4, 0);
	word = gt_with(word, 87, 4, 0);
	return gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, 0);
}

bool gt_is_exit(gt_word word)
{
	return essence(word) == GT_OP_EXIT;
}

bool gt_is_odd_exit(gt_word word)
{
	return gt_op_proper(word) == (GT_OP_EXIT & 0x1ff) && !gt_is_exit(word);
}

bool gt_names_barrier(gt_word word)
{
	unsigned op = gt_op(word);

	return op == GT_OP_BSSY || op == GT_OP_BSYNC || op == GT_OP_BREAK;
}

bool gt_is_collective(gt_word word)
{
	return gt_op_proper(word) == GT_OPP_WARPSYNC && gt_bits(word, 86, 1);
}

bool gt_has_target(gt_word word)
{
	unsigned op = gt_op(word);

	return op == GT_OP_BRA || op == GT_OP_BRA_UNIFORM || op == GT_OP_BSSY || op == GT_OP_CALL || gt_is_collective(word);
}

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return (int64_t)((value ^ sign) - sign);
}

/* From the next instruction on, in units of 4 bytes; the field depends on the instruction. */
int64_t gt_target(gt_word word, unsigned arch, int64_t at)
{
	int64_t distance;

	if (gt_op(word) == GT_OP_BSSY) {
		distance = sign_extend(gt_bits(word, 34, 30), 30);
	} else {
		distance = sign_extend((uint64_t)(word >> 34) & 0xffffffffffffull, 48);
		if (arch >= 90)
			distance = distance * 256 + gt_bits(word, 16, 8);
	}
	return at + (int64_t)GT_WORD + distance * 4;
}

gt_word gt_with_target(gt_word word, unsigned arch, int64_t at, int64_t target)
{
	int64_t distance = (target - at - (int64_t)GT_WORD) / 4;

	if (gt_op(word) == GT_OP_BSSY)
		return gt_with(word, 34, 30, (uint64_t)distance);
	if (arch < 90)
		return gt_with(word, 34, 48, (uint64_t)distance);
	word = gt_with(word, 16, 8, (uint64_t)distance);
	return gt_with(word, 34, 48, (uint64_t)(distance >> 8));
}

gt_word gt_with_control(gt_word word, unsigned stall, unsigned yield, unsigned wait)
{
	word = gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, 0);
	word = gt_with(word, 105, 4, stall);
	word = gt_with(word, 109, 1, yield);
	word = gt_with(word, 110, 3, GT_BARRIER_NONE);
	word = gt_with_read_barrier(word, GT_BARRIER_NONE);
	return gt_with(word, 116, 6, wait);
}

/* Always executed. */
static gt_word plain(unsigned op)
{
	return (gt_word)op | (gt_word)GT_PT << 12;
}

gt_word gt_with_stall(gt_word word, unsigned stall)
{
	return gt_with(gt_with(word, 105, 4, stall), 109, 1, stall < 12);
}

gt_word gt_make_branch(unsigned arch, int64_t at, int64_t target)
{
	gt_word word = gt_with(plain(GT_OP_BRA), 87, 3, GT_PT);

	return gt_with_target(gt_with_control(word, 5, 1, 0), arch, at, target);
}

gt_word gt_make_branch_like(gt_word exit, unsigned arch, int64_t at, int64_t target)
{
	gt_word word = gt_make_branch(arch, at, target);

	word = gt_with(word, 12, 4, gt_bits(exit, 12, 4));
	word = gt_with(word, 87, 4, gt_bits(exit, 87, 4));
	return gt_with(word, GT_CONTROL_AT, GT_CONTROL_BITS, gt_bits(exit, GT_CONTROL_AT, GT_CONTROL_BITS));
}

gt_word gt_make_nop(unsigned wait)
{
	return gt_with_control(plain(GT_OP_NOP), wait ? 4 : 0, wait ? 1 : 0, wait);
}

gt_word gt_make_nop_like(gt_word like)
{
	gt_word word = gt_with_control(plain(GT_OP_NOP), 0, 0, 0);

	word = gt_with(word, 105, 5, gt_bits(like, 105, 5));
	return gt_with(word, 116, 6, gt_bits(like, 116, 6));
}

/* From compute capability 10.0 on convergence barriers carry a bit more. */
static gt_word convergence(unsigned op, unsigned arch, unsigned barrier)
{
	gt_word word = gt_with(plain(op), 87, 3, GT_PT);

	word = gt_with(word, 16, 4, barrier);
	return gt_with_control(gt_with(word, 73, 1, arch >= 100), 5, 1, 0);
}

gt_word gt_make_bssy(unsigned arch, unsigned barrier, int64_t at, int64_t target)
{
	return gt_with_target(convergence(GT_OP_BSSY, arch, barrier), arch, at, target);
}

gt_word gt_make_bsync(unsigned arch, unsigned barrier)
{
	return convergence(GT_OP_BSYNC, arch, barrier);
}

/*
 * Whoever reads the register waits for a barrier that is not taken any more, so
 * the stall alone must cover the time that a move takes.
 */
static gt_word move_like(gt_word like, unsigned op)
{
	gt_word word = gt_with_control(plain(op), 0, 0, gt_bits(like, 116, 6));

	/* It may have waited for what came before it, too. */
	word = gt_with_stall(word, gt_stall(like) > GT_STALL_MOVE_75 ? gt_stall(like) : GT_STALL_MOVE_75);
	word = gt_with(word, 12, 4, gt_bits(like, 12, 4));
	word = gt_with(word, 16, 8, gt_bits(like, 16, 8));
	return gt_with(word, 72, 4, 0xf);
}

gt_word gt_make_mov_like(gt_word like, uint32_t value)
{
	return gt_with(move_like(like, GT_OP_MOV_IMM), 32, 32, value);
}

gt_word gt_make_copy_like(gt_word like, unsigned from)
{
	return gt_with(move_like(like, GT_OP_MOV), 32, 8, from);
}

gt_word gt_make_constant_like(gt_word like, unsigned offset)
{
	return gt_with(move_like(like, GT_OP_MOV_CONSTANT), 38, 16, offset);
}

gt_word gt_make_read_special(unsigned reg, unsigned special)
{
	gt_word word = gt_with_control(plain(GT_OP_S2R), 2, 1, 0);

	word = gt_with(gt_with(word, 16, 8, reg), 72, 8, special);
	return gt_with(word, 110, 3, GT_LATE_BARRIER);
}

bool gt_loads_constant(gt_word word, unsigned bank, bool indexed)
{
	gt_word what = gt_with(gt_with(essence(word), 16, 16, 0), 38, 16, 0);

	return what == ((gt_word)GT_OP_LDC | (gt_word)bank << 54 | (gt_word)4 << 73) &&
	       (gt_bits(word, 24, 8) != GT_RZ) == indexed;
}

bool gt_is_relative(gt_word word)
{
	switch (gt_op_proper(word)) {
	case GT_OP_BSSY & 0x1ff:
	case GT_OP_RET & 0x1ff:
	case GT_OPP_BRA:
	case GT_OPP_CALL:
	case GT_OPP_BRX:
	case GT_OPP_BRXU:
	case GT_OPP_LEPC:
	case GT_OPP_WARPSYNC:
		return true;
	}
	return false;
}

bool gt_reads_late(gt_word word)
{
	if (gt_write_barrier(word) != GT_BARRIER_NONE || gt_read_barrier(word) != GT_BARRIER_NONE)
		return false;
	switch (gt_op_proper(word)) {
	case 0x185:	/* ST */
	case 0x186:	/* STG */
	case 0x187:	/* STL */
	case 0x188:	/* STS */
	case 0x189:	/* SHFL */
	case 0x18a:	/* ATOM */
	case 0x18b:	/* its compare-and-swap */
	case 0x18c:	/* ATOMS */
	case 0x18d:	/* its compare-and-swap */
	case 0x18e:	/* RED */
	case 0x1a2:	/* ATOM on floats */
	case 0x1a3:	/* ATOMG on floats */
	case 0x1a4:	/* multimem */
	case 0x1a6:	/* RED on floats */
	case 0x1a8:	/* ATOMG */
	case 0x1a9:	/* its compare-and-swap */
	case 0x1ae:	/* LDGSTS */
		return true;
	}
	return false;
}

bool gt_answers_late(gt_word word)
{
	return gt_takes_time(word) && gt_write_barrier(word) == GT_BARRIER_NONE;
}

bool gt_takes_time(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	switch (proper) {
	case 0x03b:	/* LDSM */
	case 0x03f:	/* DMMA */
	case 0x119:	/* S2R */
	case 0x11c:	/* B2R */
	case 0x182:	/* LDC */
	case 0x183:	/* LDL */
	case 0x184:	/* LDS */
	case 0x189:	/* SHFL */
	case 0x1a1:	/* MATCH */
	case 0x1aa:	/* QSPC */
		return true;
	}
	return proper >= 0x100 && proper <= 0x113;	/* conversions, counting of bits, functions of floats */
}
