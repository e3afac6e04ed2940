/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the instruction set that older kernel headers do not name, and questions about instructions. */
#ifndef GT_VERIFY_INSN_H
#define GT_VERIFY_INSN_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stdint.h>

#define GT_MEMSX 0x80		/* mode: load with sign extension */
#define GT_JCOND 0xe0		/* may_goto and its kin */
#define GT_LD_IMM64 (BPF_LD | BPF_IMM | BPF_DW)

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

static inline bool gt_insn_is_jump(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code);

	return class == BPF_JMP || class == BPF_JMP32;
}

static inline bool gt_insn_is_exit(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_EXIT);
}

static inline bool gt_insn_is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL);
}

static inline bool gt_insn_is_goto(const struct bpf_insn *insn)
{
	return gt_insn_is_jump(insn) && BPF_OP(insn->code) == BPF_JA;
}

static inline bool gt_insn_is_condition(const struct bpf_insn *insn)
{
	return gt_insn_is_jump(insn) && !gt_insn_is_exit(insn) && !gt_insn_is_call(insn) &&
	       !gt_insn_is_goto(insn);
}

/* How far a jump goes, from the instruction after it. */
static inline int64_t gt_insn_distance(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP32 | BPF_JA) ? insn->imm : insn->off;
}

#endif
