/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verify/vm-alu.h"

static uint64_t divide64(uint64_t a, uint64_t b, bool is_signed)
{
	if (b == 0)
		return 0;
	if (!is_signed)
		return a / b;
	return b == UINT64_MAX ? -a : (uint64_t)((int64_t)a / (int64_t)b);
}

static uint64_t modulo64(uint64_t a, uint64_t b, bool is_signed)
{
	if (b == 0)
		return a;
	if (!is_signed)
		return a % b;
	return b == UINT64_MAX ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
}

uint64_t vm_arithmetic(unsigned op, bool is32, bool is_signed, uint64_t a, uint64_t b)
{
	unsigned count = (unsigned)(b & (is32 ? 31 : 63));

	if (is32) {
		a = is_signed ? (uint64_t)(int64_t)(int32_t)a : (uint32_t)a;
		b = is_signed ? (uint64_t)(int64_t)(int32_t)b : (uint32_t)b;
	}
	switch (op) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return divide64(a, b, is_signed);
	case BPF_MOD:
		return modulo64(a, b, is_signed);
	case BPF_OR:
		return a | b;
	case BPF_AND:
		return a & b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return a << count;
	case BPF_RSH:
		return a >> count;
	case BPF_ARSH:
		return is32 ? (uint64_t)(int64_t)((int32_t)a >> count) : (uint64_t)((int64_t)a >> count);
	case BPF_NEG:
		return -a;
	default:
		return b;
	}
}

uint64_t vm_sign_extend(uint64_t value, unsigned bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

uint64_t vm_swap(const struct bpf_insn *insn, uint64_t a)
{
	uint64_t cut = insn->imm == 64 ? a : a & ((UINT64_C(1) << insn->imm) - 1);

	if (BPF_CLASS(insn->code) == BPF_ALU && BPF_SRC(insn->code) == BPF_TO_LE)
		return cut;
	return insn->imm == 16 ? __builtin_bswap16((uint16_t)a) :
	       insn->imm == 32 ? __builtin_bswap32((uint32_t)a) : __builtin_bswap64(a);
}

static bool holds(unsigned op, uint64_t a, uint64_t b, int64_t sa, int64_t sb)
{
	switch (op) {
	case BPF_JEQ:
		return a == b;
	case BPF_JNE:
		return a != b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	case BPF_JLT:
		return a < b;
	case BPF_JLE:
		return a <= b;
	case BPF_JSET:
		return a & b;
	case BPF_JSGT:
		return sa > sb;
	case BPF_JSGE:
		return sa >= sb;
	case BPF_JSLT:
		return sa < sb;
	default:
		return sa <= sb;
	}
}

bool vm_compare(unsigned op, bool is32, uint64_t a, uint64_t b)
{
	if (is32)
		return holds(op, (uint32_t)a, (uint32_t)b, (int32_t)a, (int32_t)b);
	return holds(op, a, b, (int64_t)a, (int64_t)b);
}
