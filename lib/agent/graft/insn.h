/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instruction words of compute capability 7.5 and later: 128 bits, little
 * endian.  Only what moving code about needs to know of them.
 */
#ifndef GT_GRAFT_INSN_H
#define GT_GRAFT_INSN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef unsigned __int128 gt_word;

#define GT_WORD 16u	/* bytes */

/* Opcode with its operand form: bits 0..11. */
enum gt_opcode {
	GT_OP_IADD3 = 0x210,		/* of registers */
	GT_OP_IADD3_IMM = 0x810,
	GT_OP_VIADD_IMM = 0x836,
	GT_OP_S2R = 0x919,
	GT_OP_NOP = 0x918,
	GT_OP_BRA_UNIFORM = 0x547,	/* as a predicate of the warp's says */
	GT_OP_ENDCOLLECTIVE = 0x91b,
	GT_OP_BSYNC = 0x941,
	GT_OP_BREAK = 0x942,
	GT_OP_CALL = 0x944,		/* relative */
	GT_OP_BSSY = 0x945,
	GT_OP_BRA = 0x947,
	GT_OP_EXIT = 0x94d,
	GT_OP_RET = 0x950,		/* relative to a register that counts from the function's start */
	GT_OP_MOV = 0x202,
	GT_OP_MOV_IMM = 0x802,
	GT_OP_MOV_CONSTANT = 0xa02,	/* up to compute capability 9.0 */
	GT_OP_LDC = 0xb82,
	GT_OP_ULDC = 0xab9,
	GT_OP_LDCU = 0x7ac,		/* the same since compute capability 10.0, where it takes its time */
};

/* The opcode proper: bits 0..8. */
enum gt_opcode_proper {
	GT_OPP_VOTE = 0x006,
	GT_OPP_SHFL = 0x189,
	GT_OPP_MATCH = 0x1a1,
	GT_OPP_BAR = 0x11d,
	GT_OPP_BRA = 0x147,
	GT_OPP_CALL_ABS = 0x143,
	GT_OPP_CALL = 0x144,
	GT_OPP_BRX = 0x149,
	GT_OPP_JMX = 0x14c,
	GT_OPP_LEPC = 0x14e,
	GT_OPP_WARPSYNC = 0x148,
	GT_OPP_BMOV = 0x155,		/* to 0x157 */
	GT_OPP_BRXU = 0x158,
	GT_OPP_JMP = 0x14a,
	GT_OPP_BPT = 0x15c,
	GT_OPP_NANOSLEEP = 0x15d,
	GT_OPP_REDUX = 0x1c4,
	GT_OPP_USETMAXREG = 0x1c8,
	GT_OPP_MATRIX_ASYNC = 0x1f0,	/* HGMMA and those behind it, of compute capability 9.0 */
};

/* Bits 72..79 of S2R. */
enum gt_special {
	GT_SR_VIRTID = 0x03,		/* the lane, and from bit 20 on the multiprocessor */
	GT_SR_TID = 0x20,		/* packed */
	GT_SR_CTAID_X = 0x25,
	GT_SR_CTAID_Z = 0x27,
	GT_SR_LANEMASK_LE = 0x3a,
	GT_SR_LANEMASK_GT = 0x3b,
	GT_SR_VIRTUALSMID = 0x43,
};

static inline unsigned gt_bits(gt_word word, unsigned at, unsigned count)
{
	return (unsigned)(word >> at) & (count < 32 ? (1u << count) - 1 : ~0u);
}

static inline gt_word gt_with(gt_word word, unsigned at, unsigned count, uint64_t value)
{
	gt_word mask = (((gt_word)1 << count) - 1) << at;

	return (word & ~mask) | ((gt_word)value << at & mask);
}

static inline gt_word gt_word_read(const uint8_t *at)
{
	gt_word word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline void gt_word_write(uint8_t *at, gt_word word)
{
	memcpy(at, &word, sizeof(word));
}

static inline unsigned gt_op(gt_word word)
{
	return gt_bits(word, 0, 12);
}

static inline unsigned gt_op_proper(gt_word word)
{
	return gt_bits(word, 0, 9);
}

static inline unsigned gt_op_form(gt_word word)
{
	return gt_bits(word, 9, 3);
}

/* Arithmetic on registers, whose form says what the operands are. */
static inline bool gt_is_arithmetic(gt_word word)
{
	unsigned proper = gt_op_proper(word);

	return proper < 0x080 || (proper >= 0x100 && proper < 0x114);
}

#define GT_OUTER_BARRIER 15u	/* the convergence barrier of what is added to a kernel; compilers count from 0 */
#define GT_PT 7u	/* the predicate that always holds */
#define GT_RZ 255u	/* the register that is always 0 */

/* An instruction under no condition. */
static inline bool gt_unguarded(gt_word word)
{
	return gt_bits(word, 12, 4) == GT_PT;
}

/*
 * When the next instruction may issue and what this one waits for or announces:
 * stall cycles 105..108, 109, write barrier 110..112, read barrier 113..115
 * (7: none), wait mask over the six barriers 116..121, operand reuse 122..125.
 */
#define GT_CONTROL_AT 105u
#define GT_CONTROL_BITS 21u
#define GT_BARRIER_NONE 7u
#define GT_WAIT_ALL 0x3fu
/*
 * Cycles until what is moved is there: for arithmetic 4 or 5, for accesses to memory and the like 5 or, before compute
 * capability 8.0, 8; and any result that does not announce itself.
 */
#define GT_STALL_MOVE 6u
#define GT_STALL_MOVE_75 8u
#define GT_STALL_RESULT 15u

static inline unsigned gt_write_barrier(gt_word word)
{
	return gt_bits(word, 110, 3);
}

static inline unsigned gt_read_barrier(gt_word word)
{
	return gt_bits(word, 113, 3);
}

static inline gt_word gt_with_read_barrier(gt_word word, unsigned barrier)
{
	return gt_with(word, 113, 3, barrier);
}

/* An EXIT as compilers write it; guards and control bits may be anything. */
bool gt_is_exit(gt_word word);
/* An EXIT with some modifier that we do not know. */
bool gt_is_odd_exit(gt_word word);

/* BSSY, BSYNC or BREAK, of which bits 16..19 are the convergence barrier. */
bool gt_names_barrier(gt_word word);

/* WARPSYNC.COLLECTIVE: goes to a place where the threads that it names are together. */
bool gt_is_collective(gt_word word);

/* A branch whose target is in the instruction: BRA, BRA.U, BSSY, CALL, WARPSYNC.COLLECTIVE. */
bool gt_has_target(gt_word word);
int64_t gt_target(gt_word word, unsigned arch, int64_t at);
gt_word gt_with_target(gt_word word, unsigned arch, int64_t at, int64_t target);

static inline unsigned gt_stall(gt_word word)
{
	return gt_bits(word, 105, 4);
}

/* Of the longest the bit beside it must be 0. */
gt_word gt_with_stall(gt_word word, unsigned stall);

/* No barrier but those to wait for. */
gt_word gt_with_control(gt_word word, unsigned stall, unsigned yield, unsigned wait);

gt_word gt_make_branch(unsigned arch, int64_t at, int64_t target);
gt_word gt_make_nop(unsigned wait);
/* With the timing of `like`. */
gt_word gt_make_nop_like(gt_word like);
/* Announces itself with GT_LATE_BARRIER. */
gt_word gt_make_read_special(unsigned reg, unsigned special);
gt_word gt_make_bssy(unsigned arch, unsigned barrier, int64_t at, int64_t target);
gt_word gt_make_bsync(unsigned arch, unsigned barrier);
/* In place of an instruction that wrote the same register. */
gt_word gt_make_mov_like(gt_word like, uint32_t value);
gt_word gt_make_copy_like(gt_word like, unsigned from);
gt_word gt_make_constant_like(gt_word like, unsigned offset);	/* from bank 0 */
/* A branch under the guards of `exit`, with its timing. */
gt_word gt_make_branch_like(gt_word exit, unsigned arch, int64_t at, int64_t target);

/* Cannot be moved on its own: it, or what it writes, depends on where it is. */
bool gt_is_relative(gt_word word);

/*
 * Stores, atomics and shuffles read their registers late.  One with neither
 * write nor read barrier can still be reading when code that follows overwrites
 * them; compilers leave both out where nothing but EXIT follows.
 */
bool gt_reads_late(gt_word word);
/* The barrier that we give to those. */
#define GT_LATE_BARRIER 5u

/*
 * What takes its time and answers in order may have no barrier when one behind it has:
 * with the last answer all are there.  No code may come between that counts on them.
 */
bool gt_answers_late(gt_word word);
/* The same whether it has a barrier or not. */
bool gt_takes_time(gt_word word);

/* 32 bits from a place in a constant bank, under any guard; indexed: that a register adds to. */
bool gt_loads_constant(gt_word word, unsigned bank, bool indexed);
static inline unsigned gt_constant_at(gt_word word)
{
	return gt_bits(word, 38, 16);
}

/* LDCU without an index: where in its bank, which is where that of gt_constant_at() is; below 0 it is large. */
static inline unsigned gt_uniform_constant_at(gt_word word)
{
	return gt_bits(word, 37, 17);
}

/*
 * ---- uniform registers: one set for each warp, not for each thread ----
 *
 * Since compute capability 10.0 there are more, with numbers of 8 bits, of which all set are the one that is always 0.
 * What is asked here is which of the first 63 an instruction may name, and by the low 6 bits any other is one of these.
 */
#define GT_UR_COUNT 64u	/* the last is always 0 */
#define GT_URZ 63u
#define GT_UR_WIDE_SINCE 100u

struct gt_uniform {	/* one place where an instruction names uniform registers */
	uint8_t at;	/* bit */
	uint8_t width;	/* registers */
	bool written;
};
#define GT_UNIFORM_MAX 4

/*
 * The places in `word`; at most GT_UNIFORM_MAX.  -1: an instruction of which we
 * do not know.
 */
int gt_uniform_places(gt_word word, struct gt_uniform places[GT_UNIFORM_MAX]);

/* Sets those that `word` may touch, overestimated. */
void gt_uniform_mark(gt_word word, bool used[GT_UR_COUNT]);

#endif
