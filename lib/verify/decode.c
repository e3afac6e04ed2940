/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shape of a program, before any meaning: every instruction known, its unused
 * fields zero, jumps land on instructions of their own function.
 */
#include <string.h>

#include "lib/util/insn.h"
#include "lib/verify/verifier.h"

#define NEWER "compile with -mcpu=v4 or lower"

static int unknown_code(struct gt_verifier *v, unsigned at)
{
	return gt_refuse(v, at, NEWER, "unknown opcode 0x%02x", v->prog->insns[at].code);
}

static int unused_field(struct gt_verifier *v, unsigned at)
{
	return gt_refuse(v, at, NEWER, "a field that this instruction does not use is not zero");
}

static int check_alu(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	bool is64 = BPF_CLASS(insn->code) == BPF_ALU64, from_reg = BPF_SRC(insn->code) == BPF_X;
	unsigned op = BPF_OP(insn->code);

	switch (op) {
	case BPF_NEG:
		if (from_reg)
			return unknown_code(v, at);
		return insn->src_reg || insn->off || insn->imm ? unused_field(v, at) : 0;
	case BPF_END:
		if (is64 && from_reg)
			return unknown_code(v, at);
		if (insn->src_reg || insn->off)
			return unused_field(v, at);
		if (insn->imm != 16 && insn->imm != 32 && insn->imm != 64)
			return gt_refuse(v, at, NULL, "a byte swap has 16, 32 or 64 bits, not %d", insn->imm);
		return 0;
	case BPF_MOV:
		if (!from_reg || !insn->off)
			break;
		if (insn->imm)
			return unused_field(v, at);
		if (insn->off != 8 && insn->off != 16 && !(is64 && insn->off == 32))
			return gt_refuse(v, at, NEWER, "no sign extension from %d bits", insn->off);
		return 0;
	case BPF_DIV:
	case BPF_MOD:
		if (insn->off == 1)
			return (from_reg ? insn->imm : insn->src_reg) ? unused_field(v, at) : 0;
		break;
	default:
		if (op > BPF_END)
			return unknown_code(v, at);
		break;
	}
	if (insn->off || (from_reg ? insn->imm != 0 : insn->src_reg != 0))
		return unused_field(v, at);
	return 0;
}

static int check_call_shape(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];

	if (insn->dst_reg || insn->off)
		return unused_field(v, at);
	switch (insn->src_reg) {
	case 0:
	case BPF_PSEUDO_CALL:
		return 0;
	case 2:
		return gt_refuse(v, at, "use a helper of <gputrace/bpf/gputrace_gpu.h>",
				 "kernel functions (kfuncs) do not exist on the GPU");
	default:
		return gt_refuse(v, at, NULL, "a call of unknown kind %u", insn->src_reg);
	}
}

static int check_jump(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32, from_reg = BPF_SRC(insn->code) == BPF_X;

	switch (BPF_OP(insn->code)) {
	case BPF_JA:
		if (from_reg)
			return unknown_code(v, at);
		return insn->dst_reg || insn->src_reg || (is32 ? insn->off : insn->imm) ?
			unused_field(v, at) : 0;
	case BPF_EXIT:
		if (is32 || from_reg)
			return unknown_code(v, at);
		return insn->dst_reg || insn->src_reg || insn->off || insn->imm ? unused_field(v, at) : 0;
	case BPF_CALL:
		if (from_reg)
			return gt_refuse(v, at, "make the callee known at compile time",
					 "a call through a register");
		return is32 ? unknown_code(v, at) : check_call_shape(v, at);
	case GT_JCOND:
		return gt_refuse(v, at, "use bpf_loop()", "may_goto does not exist on the GPU");
	case 0xf0:
		return unknown_code(v, at);
	default:
		return (from_reg ? insn->imm != 0 : insn->src_reg != 0) ? unused_field(v, at) : 0;
	}
}

static int check_atomic(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];

	if (BPF_SIZE(insn->code) != BPF_W && BPF_SIZE(insn->code) != BPF_DW)
		return gt_refuse(v, at, "use a 4 or 8 byte counter", "atomics have 4 or 8 bytes");
	switch (insn->imm) {
	case BPF_ADD:
	case BPF_OR:
	case BPF_AND:
	case BPF_XOR:
	case BPF_ADD | BPF_FETCH:
	case BPF_OR | BPF_FETCH:
	case BPF_AND | BPF_FETCH:
	case BPF_XOR | BPF_FETCH:
	case BPF_XCHG:
	case BPF_CMPXCHG:
		break;
	default:
		return gt_refuse(v, at, NEWER, "unknown atomic operation 0x%x", (unsigned)insn->imm);
	}
	if ((insn->imm & BPF_FETCH) && insn->imm != BPF_CMPXCHG && insn->src_reg == 10)
		return gt_refuse(v, at, NULL, "r10 is read-only");
	return 0;
}

static int check_memory_shape(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	unsigned class = BPF_CLASS(insn->code), mode = BPF_MODE(insn->code);

	if (class == BPF_STX && mode == BPF_ATOMIC)
		return check_atomic(v, at);
	if (class == BPF_LDX && mode == GT_MEMSX)
		return BPF_SIZE(insn->code) == BPF_DW ? unknown_code(v, at) :
		       insn->imm ? unused_field(v, at) : 0;
	if (mode != BPF_MEM)
		return unknown_code(v, at);
	return (class == BPF_ST ? insn->src_reg != 0 : insn->imm != 0) ? unused_field(v, at) : 0;
}

static int check_function_start(struct gt_verifier *v, unsigned at, int64_t target)
{
	if (target < 0 || target >= v->prog->insn_count)
		return gt_refuse(v, at, NULL, "the function at instruction %lld is outside the program",
				 (long long)target);
	if (target == 0)
		return gt_refuse(v, at, "move the common part to a function of its own",
				 "the program calls its own beginning");
	v->flags[target] |= GT_INSN_FUNCTION | GT_INSN_JOIN;
	return 0;
}

static int check_ld_imm64(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at], *second = insn + 1;

	if (at + 1 >= v->prog->insn_count)
		return gt_refuse(v, at, NULL, "the second half of a 64-bit constant is missing");
	if (second->code || second->dst_reg || second->src_reg || second->off)
		return gt_refuse(v, at, NULL, "the second half of a 64-bit constant is damaged");
	if (insn->off)
		return unused_field(v, at);
	v->flags[at + 1] |= GT_INSN_SECOND;
	switch (insn->src_reg) {
	case 0:
		return 0;
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_MAP_VALUE:
		if (insn->imm < 0 || (unsigned)insn->imm >= v->prog->map_count)
			return gt_refuse(v, at, NULL, "no map has index %d", insn->imm);
		return insn->src_reg == BPF_PSEUDO_MAP_FD && second->imm ? unused_field(v, at) : 0;
	case BPF_PSEUDO_FUNC:
		/* Relative to the instruction after the first half, as for calls. */
		return second->imm ? unused_field(v, at) :
		       check_function_start(v, at, (int64_t)at + 1 + insn->imm);
	default:
		return gt_refuse(v, at, NULL, "a 64-bit constant of unknown kind %u", insn->src_reg);
	}
}

/* Does the instruction replace dst_reg? */
static bool writes_dst(const struct bpf_insn *insn)
{
	unsigned class = BPF_CLASS(insn->code);

	return class == BPF_ALU || class == BPF_ALU64 || class == BPF_LD || class == BPF_LDX;
}

static int check_insn(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];

	if (insn->dst_reg > 10 || (insn->src_reg > 10))
		return gt_refuse(v, at, NULL, "there is no register r%u",
				 insn->dst_reg > 10 ? insn->dst_reg : insn->src_reg);
	if (insn->dst_reg == 10 && writes_dst(insn))
		return gt_refuse(v, at, NULL, "r10 is read-only");
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return check_alu(v, at);
	case BPF_JMP:
	case BPF_JMP32:
		return check_jump(v, at);
	case BPF_LD:
		if (!gt_insn_is_wide(insn))
			return gt_refuse(v, at, "read the context's fields",
					 "there are no packets on the GPU");
		return check_ld_imm64(v, at);
	default:
		return check_memory_shape(v, at);
	}
}

static void name_functions(struct gt_verifier *v)
{
	uint32_t start = 0;

	for (unsigned at = 0; at < v->prog->insn_count; at++) {
		if (v->flags[at] & GT_INSN_FUNCTION)
			start = at;
		v->function[at] = start;
	}
}

/* Calls are looked at before jumps, so that functions' ends are known. */
static int find_functions(struct gt_verifier *v)
{
	int r;

	for (unsigned at = 0; at < v->prog->insn_count; at++) {
		const struct bpf_insn *insn = &v->prog->insns[at];

		if (v->flags[at] & GT_INSN_SECOND)
			continue;
		r = check_insn(v, at);
		if (r < 0)
			return r;
		if (gt_insn_calls_function(insn)) {
			r = check_function_start(v, at, (int64_t)at + 1 + insn->imm);
			if (r < 0)
				return r;
		}
	}
	for (unsigned at = 1; at < v->prog->insn_count; at++)
		if ((v->flags[at] & GT_INSN_FUNCTION) && (v->flags[at] & GT_INSN_SECOND))
			return gt_refuse(v, at - 1, NULL, "a function begins in the middle of a 64-bit constant");
	name_functions(v);
	return 0;
}

static int check_target(struct gt_verifier *v, unsigned at)
{
	int64_t target = gt_insn_target(v->prog->insns, at);

	if (target < 0 || target >= v->prog->insn_count)
		return gt_refuse(v, at, NULL, "jumps to instruction %lld, outside the program",
				 (long long)target);
	if (v->flags[target] & GT_INSN_SECOND)
		return gt_refuse(v, at, NULL, "jumps into the middle of a 64-bit constant");
	if (v->function[target] != v->function[at])
		return gt_refuse(v, at, NULL, "jumps out of its function");
	v->flags[target] |= GT_INSN_JOIN;
	if (target <= at)
		v->flags[target] |= GT_INSN_BACK;
	return 0;
}

static int check_flow(struct gt_verifier *v, unsigned at)
{
	const struct bpf_insn *insn = &v->prog->insns[at];
	unsigned next = at + gt_insn_length(insn);
	int r;

	if (gt_insn_is_jump(insn)) {
		r = check_target(v, at);
		if (r < 0)
			return r;
	}
	if (!gt_insn_falls_through(insn))
		return 0;
	if (next >= v->prog->insn_count)
		return gt_refuse(v, at, "end with exit", "runs off the end of the program");
	if (v->function[next] != v->function[at])
		return gt_refuse(v, at, "end every function with exit",
				 "runs off the end of its function into the next");
	if (gt_insn_is_call(insn))
		v->flags[next] |= GT_INSN_JOIN;
	return 0;
}

int gt_verify_decode(struct gt_verifier *v)
{
	int r;

	if (v->prog->insn_count == 0)
		return gt_refuse(v, 0, NULL, "the program has no instructions");
	r = find_functions(v);
	if (r < 0)
		return r;
	for (unsigned at = 0; at < v->prog->insn_count; at++) {
		if (v->flags[at] & GT_INSN_SECOND)
			continue;
		r = check_flow(v, at);
		if (r < 0)
			return r;
	}
	return 0;
}
