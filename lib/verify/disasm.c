/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions as text, in the notation that llvm-objdump and the kernel use. */
#include <linux/bpf.h>
#include <stdio.h>

#include "lib/verify/helpers.h"
#include "lib/util/insn.h"
#include "lib/verify/log.h"

static const char *alu_sign(unsigned op)
{
	static const char *const signs[16] = {
		"+=", "-=", "*=", "/=", "|=", "&=", "<<=", ">>=", NULL, "%=", "^=", "=", "s>>=",
	};

	return signs[op >> 4];
}

static const char *jump_sign(unsigned op)
{
	static const char *const signs[16] = {
		NULL, "==", ">", ">=", "&", "!=", "s>", "s>=", NULL, NULL, "<", "<=", "s<", "s<=",
	};

	return signs[op >> 4];
}

static const char *memory_type(unsigned code)
{
	switch (BPF_SIZE(code)) {
	case BPF_B:
		return "u8";
	case BPF_H:
		return "u16";
	case BPF_W:
		return "u32";
	default:
		return "u64";
	}
}

static void unknown(const struct bpf_insn *insn, char *text)
{
	snprintf(text, GT_DISASM_SIZE, "code 0x%02x dst %u src %u off %d imm %d", insn->code,
		 insn->dst_reg, insn->src_reg, insn->off, insn->imm);
}

static void alu(const struct bpf_insn *insn, char *text)
{
	unsigned op = BPF_OP(insn->code);
	char half = BPF_CLASS(insn->code) == BPF_ALU ? 'w' : 'r';
	const char *sign = alu_sign(op);

	if (op == BPF_NEG) {
		snprintf(text, GT_DISASM_SIZE, "%c%u = -%c%u", half, insn->dst_reg, half, insn->dst_reg);
	} else if (op == BPF_END) {
		const char *name = half == 'r' ? "bswap" : BPF_SRC(insn->code) ? "be" : "le";

		snprintf(text, GT_DISASM_SIZE, "r%u = %s%d r%u", insn->dst_reg, name, insn->imm, insn->dst_reg);
	} else if (!sign) {
		unknown(insn, text);
	} else if (op == BPF_MOV && insn->off && BPF_SRC(insn->code)) {
		snprintf(text, GT_DISASM_SIZE, "%c%u = (s%d)%c%u", half, insn->dst_reg, insn->off,
			 half, insn->src_reg);
	} else {
		const char *s = insn->off == 1 ? "s" : "";

		if (BPF_SRC(insn->code))
			snprintf(text, GT_DISASM_SIZE, "%c%u %s%s %c%u", half, insn->dst_reg, s, sign,
				 half, insn->src_reg);
		else
			snprintf(text, GT_DISASM_SIZE, "%c%u %s%s %d", half, insn->dst_reg, s, sign, insn->imm);
	}
}

static void call(const struct bpf_insn *insn, char *text)
{
	const struct gt_helper *helper;

	if (insn->src_reg == BPF_PSEUDO_CALL) {
		snprintf(text, GT_DISASM_SIZE, "call pc%+d", insn->imm);
		return;
	}
	helper = insn->src_reg ? NULL : gt_helper_find((uint32_t)insn->imm);
	if (helper)
		snprintf(text, GT_DISASM_SIZE, "call %s#%d", helper->name, insn->imm);
	else
		snprintf(text, GT_DISASM_SIZE, "call #%d", insn->imm);
}

static void jump(const struct bpf_insn *insn, char *text)
{
	unsigned op = BPF_OP(insn->code);
	bool is32 = BPF_CLASS(insn->code) == BPF_JMP32;
	char half = is32 ? 'w' : 'r';

	if (op == BPF_JA) {
		snprintf(text, GT_DISASM_SIZE, is32 ? "gotol pc%+d" : "goto pc%+d", is32 ? insn->imm : insn->off);
	} else if (op == BPF_EXIT) {
		snprintf(text, GT_DISASM_SIZE, "exit");
	} else if (op == BPF_CALL) {
		call(insn, text);
	} else if (!jump_sign(op)) {
		unknown(insn, text);
	} else if (BPF_SRC(insn->code)) {
		snprintf(text, GT_DISASM_SIZE, "if %c%u %s %c%u goto pc%+d", half, insn->dst_reg,
			 jump_sign(op), half, insn->src_reg, insn->off);
	} else {
		snprintf(text, GT_DISASM_SIZE, "if %c%u %s %d goto pc%+d", half, insn->dst_reg,
			 jump_sign(op), insn->imm, insn->off);
	}
}

static void atomic(const struct bpf_insn *insn, char *text)
{
	const char *type = memory_type(insn->code), *name;

	switch (insn->imm & ~BPF_FETCH) {
	case BPF_ADD:
		name = "add";
		break;
	case BPF_OR:
		name = "or";
		break;
	case BPF_AND:
		name = "and";
		break;
	case BPF_XOR:
		name = "xor";
		break;
	case BPF_XCHG & ~BPF_FETCH:
		name = "xchg";
		break;
	case BPF_CMPXCHG & ~BPF_FETCH:
		name = "cmpxchg";
		break;
	default:
		unknown(insn, text);
		return;
	}
	if (insn->imm & BPF_FETCH)
		snprintf(text, GT_DISASM_SIZE, "r%u = atomic_%s((%s *)(r%u %+d), r%u)",
			 insn->imm == BPF_CMPXCHG ? 0 : insn->src_reg, name, type, insn->dst_reg,
			 insn->off, insn->src_reg);
	else
		snprintf(text, GT_DISASM_SIZE, "lock atomic_%s((%s *)(r%u %+d), r%u)", name, type,
			 insn->dst_reg, insn->off, insn->src_reg);
}

static void ld_imm64(const struct bpf_insn *insn, const struct bpf_insn *second, char *text)
{
	uint64_t high = second ? (uint32_t)second->imm : 0;

	switch (insn->src_reg) {
	case 0:
		snprintf(text, GT_DISASM_SIZE, "r%u = 0x%llx ll", insn->dst_reg,
			 (unsigned long long)(high << 32 | (uint32_t)insn->imm));
		break;
	case BPF_PSEUDO_MAP_FD:
		snprintf(text, GT_DISASM_SIZE, "r%u = map[%d]", insn->dst_reg, insn->imm);
		break;
	case BPF_PSEUDO_MAP_VALUE:
		snprintf(text, GT_DISASM_SIZE, "r%u = map[%d][0]+%d", insn->dst_reg, insn->imm,
			 second ? second->imm : 0);
		break;
	case BPF_PSEUDO_FUNC:
		snprintf(text, GT_DISASM_SIZE, "r%u = func pc%+d", insn->dst_reg, insn->imm);
		break;
	default:
		unknown(insn, text);
		break;
	}
}

void gt_disasm(const struct bpf_insn *insn, const struct bpf_insn *second, char text[GT_DISASM_SIZE])
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		alu(insn, text);
		return;
	case BPF_JMP:
	case BPF_JMP32:
		jump(insn, text);
		return;
	case BPF_LDX:
		snprintf(text, GT_DISASM_SIZE, "r%u = *(%c%s *)(r%u %+d)", insn->dst_reg,
			 BPF_MODE(insn->code) == GT_MEMSX ? 's' : 'u', memory_type(insn->code) + 1,
			 insn->src_reg, insn->off);
		return;
	case BPF_ST:
		snprintf(text, GT_DISASM_SIZE, "*(%s *)(r%u %+d) = %d", memory_type(insn->code),
			 insn->dst_reg, insn->off, insn->imm);
		return;
	case BPF_STX:
		if (BPF_MODE(insn->code) == BPF_ATOMIC)
			atomic(insn, text);
		else
			snprintf(text, GT_DISASM_SIZE, "*(%s *)(r%u %+d) = r%u", memory_type(insn->code),
				 insn->dst_reg, insn->off, insn->src_reg);
		return;
	default:
		if (gt_insn_is_wide(insn))
			ld_imm64(insn, second, text);
		else
			unknown(insn, text);
		return;
	}
}
