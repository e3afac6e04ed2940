/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about BPF instructions, and parts of the instruction set that older kernel headers do not name. */
#ifndef GT_UTIL_INSN_H
#define GT_UTIL_INSN_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#define GT_MEMSX 0x80		/* mode: load with sign extension */
#define GT_JCOND 0xe0		/* may_goto and its kin */

static inline unsigned gt_insn_bytes(unsigned code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return 1;
	case BPF_H:
		return 2;
	case BPF_W:
		return 4;
	default:
		return 8;
	}
}

/* Takes the place of two. */
static inline bool gt_insn_is_wide(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW);
}

static inline unsigned gt_insn_length(const struct bpf_insn *insn)
{
	return gt_insn_is_wide(insn) ? 2 : 1;
}

static inline bool gt_insn_is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

static inline bool gt_insn_is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL);
}

/* Of a function of the program's own, not of a helper. */
static inline bool gt_insn_calls_function(const struct bpf_insn *insn)
{
	return gt_insn_is_call(insn) && insn->src_reg == BPF_PSEUDO_CALL;
}

/* On a condition or not; calls and exits are none. */
static inline bool gt_insn_is_jump(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code), op = BPF_OP(insn->code);

	return (class == BPF_JMP || class == BPF_JMP32) && op != BPF_CALL && op != BPF_EXIT;
}

static inline bool gt_insn_is_goto(const struct bpf_insn *insn)
{
	return gt_insn_is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

static inline bool gt_insn_is_condition(const struct bpf_insn *insn)
{
	return gt_insn_is_jump(insn) && BPF_OP(insn->code) != BPF_JA;
}

static inline bool gt_insn_falls_through(const struct bpf_insn *insn)
{
	return !gt_insn_is_exit(insn) && !gt_insn_is_goto(insn);
}

/* Where a jump goes.  With BPF v4 one without a condition may be long. */
static inline int64_t gt_insn_target(const struct bpf_insn *insns, unsigned at)
{
	const struct bpf_insn *insn = &insns[at];

	return (int64_t)at + 1 + (insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : insn->off);
}

#endif
