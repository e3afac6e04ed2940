/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and comparisons, as the kernel defines them. */
#include "lib/compile/ir.h"

/* Not in the headers of older kernels. */
#define ALU_SIGNED 1	/* offset of a signed division */

struct operands {
	LLVMTypeRef type;	/* i32 or i64 */
	unsigned bits;
	LLVMValueRef dst, src;
};

static LLVMValueRef zero(const struct operands *o)
{
	return LLVMConstInt(o->type, 0, 0);
}

static LLVMValueRef is(struct gt_ir *ir, const struct operands *o, int64_t value)
{
	return LLVMBuildICmp(ir->builder, LLVMIntEQ, o->src, LLVMConstInt(o->type, (unsigned long long)value, 1), "");
}

/* The divisor, or 1 where dividing by it would trap. */
static LLVMValueRef safe_divisor(struct gt_ir *ir, const struct operands *o, LLVMValueRef unsafe)
{
	return LLVMBuildSelect(ir->builder, unsafe, LLVMConstInt(o->type, 1, 0), o->src, "");
}

/* x / 0 = 0, x % 0 = x */
static LLVMValueRef divide(struct gt_ir *ir, const struct operands *o, bool modulo)
{
	LLVMValueRef by_zero = is(ir, o, 0);
	LLVMValueRef divisor = safe_divisor(ir, o, by_zero), result;

	if (modulo)
		result = LLVMBuildURem(ir->builder, o->dst, divisor, "");
	else
		result = LLVMBuildUDiv(ir->builder, o->dst, divisor, "");
	return LLVMBuildSelect(ir->builder, by_zero, modulo ? o->dst : zero(o), result, "");
}

/* And x / -1 = -x, x % -1 = 0, the most negative number included. */
static LLVMValueRef divide_signed(struct gt_ir *ir, const struct operands *o, bool modulo)
{
	LLVMValueRef by_zero = is(ir, o, 0), by_minus_one = is(ir, o, -1), divisor, result;

	divisor = safe_divisor(ir, o, LLVMBuildOr(ir->builder, by_zero, by_minus_one, ""));
	if (modulo) {
		result = LLVMBuildSRem(ir->builder, o->dst, divisor, "");
		result = LLVMBuildSelect(ir->builder, by_minus_one, zero(o), result, "");
	} else {
		result = LLVMBuildSDiv(ir->builder, o->dst, divisor, "");
		result = LLVMBuildSelect(ir->builder, by_minus_one, LLVMBuildNeg(ir->builder, o->dst, ""),
					 result, "");
	}
	return LLVMBuildSelect(ir->builder, by_zero, modulo ? o->dst : zero(o), result, "");
}

static LLVMValueRef shift_count(struct gt_ir *ir, const struct operands *o)
{
	return LLVMBuildAnd(ir->builder, o->src, LLVMConstInt(o->type, o->bits - 1, 0), "");
}

/* Plain, or the low bits of the source with their sign. */
static LLVMValueRef move(struct gt_ir *ir, const struct bpf_insn *insn, const struct operands *o)
{
	LLVMValueRef low;

	if (!insn->off)
		return o->src;
	if ((insn->off != 8 && insn->off != 16 && insn->off != 32) || insn->off >= (int)o->bits ||
	    BPF_SRC(insn->code) != BPF_X)
		return NULL;
	low = LLVMBuildTrunc(ir->builder, o->src, gt_ir_int(ir, (unsigned)insn->off / 8), "");
	return LLVMBuildSExt(ir->builder, low, o->type, "");
}

static LLVMValueRef operate(struct gt_ir *ir, const struct bpf_insn *insn, const struct operands *o)
{
	LLVMBuilderRef b = ir->builder;
	bool is_signed = insn->off == ALU_SIGNED;
	unsigned op = BPF_OP(insn->code);

	if (insn->off && op != BPF_MOV && !((op == BPF_DIV || op == BPF_MOD) && is_signed))
		return NULL;
	switch (op) {
	case BPF_ADD:
		return LLVMBuildAdd(b, o->dst, o->src, "");
	case BPF_SUB:
		return LLVMBuildSub(b, o->dst, o->src, "");
	case BPF_MUL:
		return LLVMBuildMul(b, o->dst, o->src, "");
	case BPF_DIV:
		return is_signed ? divide_signed(ir, o, false) : divide(ir, o, false);
	case BPF_MOD:
		return is_signed ? divide_signed(ir, o, true) : divide(ir, o, true);
	case BPF_OR:
		return LLVMBuildOr(b, o->dst, o->src, "");
	case BPF_AND:
		return LLVMBuildAnd(b, o->dst, o->src, "");
	case BPF_XOR:
		return LLVMBuildXor(b, o->dst, o->src, "");
	case BPF_LSH:
		return LLVMBuildShl(b, o->dst, shift_count(ir, o), "");
	case BPF_RSH:
		return LLVMBuildLShr(b, o->dst, shift_count(ir, o), "");
	case BPF_ARSH:
		return LLVMBuildAShr(b, o->dst, shift_count(ir, o), "");
	case BPF_NEG:
		return BPF_SRC(insn->code) == BPF_K ? LLVMBuildNeg(b, o->dst, "") : NULL;
	case BPF_MOV:
		return move(ir, insn, o);
	default:
		return NULL;
	}
}

/*
 * The low 16, 32 or 64 bits in the order asked for.  Host and GPU are little
 * endian, so "to little" only cuts off.
 */
static int swap(struct gt_ir *ir, const struct bpf_insn *insn)
{
	bool always = BPF_CLASS(insn->code) == BPF_ALU64;
	bool to_big = BPF_SRC(insn->code) == BPF_X;
	LLVMValueRef value;
	LLVMTypeRef type;

	if ((insn->imm != 16 && insn->imm != 32 && insn->imm != 64) || (always && to_big))
		return gt_ir_unsupported(ir, "byte swap of %d bits", insn->imm);
	type = gt_ir_int(ir, (unsigned)insn->imm / 8);
	value = LLVMBuildTrunc(ir->builder, gt_ir_get(ir, insn->dst_reg), type, "");
	if (always || to_big)
		value = gt_ir_intrinsic(ir, "llvm.bswap", &type, 1, &value, 1);
	gt_ir_set(ir, insn->dst_reg, LLVMBuildZExt(ir->builder, value, ir->i64, ""));
	return 0;
}

static void read_operands(struct gt_ir *ir, const struct bpf_insn *insn, bool wide, struct operands *o)
{
	o->type = wide ? ir->i64 : ir->i32;
	o->bits = wide ? 64 : 32;
	o->dst = gt_ir_get(ir, insn->dst_reg);
	o->src = BPF_SRC(insn->code) == BPF_X ? gt_ir_get(ir, insn->src_reg) : gt_ir_i64(ir, insn->imm);
	if (!wide) {
		o->dst = LLVMBuildTrunc(ir->builder, o->dst, ir->i32, "");
		o->src = LLVMBuildTrunc(ir->builder, o->src, ir->i32, "");
	}
}

int gt_ir_alu(struct gt_ir *ir, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct operands o;
	LLVMValueRef result;

	if (BPF_OP(insn->code) == BPF_END)
		return swap(ir, insn);
	read_operands(ir, insn, wide, &o);
	result = operate(ir, insn, &o);
	if (!result)
		return gt_ir_unsupported(ir, "unknown arithmetic (opcode 0x%02x, offset %d)", insn->code, insn->off);
	if (!wide)
		result = LLVMBuildZExt(ir->builder, result, ir->i64, "");
	gt_ir_set(ir, insn->dst_reg, result);
	return 0;
}

LLVMValueRef gt_ir_condition(struct gt_ir *ir, const struct bpf_insn *insn)
{
	static const struct {
		unsigned op;
		LLVMIntPredicate predicate;
	} predicates[] = {
		{ BPF_JEQ, LLVMIntEQ },	  { BPF_JNE, LLVMIntNE },   { BPF_JGT, LLVMIntUGT },
		{ BPF_JGE, LLVMIntUGE },  { BPF_JLT, LLVMIntULT },  { BPF_JLE, LLVMIntULE },
		{ BPF_JSGT, LLVMIntSGT }, { BPF_JSGE, LLVMIntSGE }, { BPF_JSLT, LLVMIntSLT },
		{ BPF_JSLE, LLVMIntSLE },
	};
	struct operands o;
	unsigned i;

	read_operands(ir, insn, BPF_CLASS(insn->code) == BPF_JMP, &o);
	if (BPF_OP(insn->code) == BPF_JSET)
		return LLVMBuildICmp(ir->builder, LLVMIntNE, LLVMBuildAnd(ir->builder, o.dst, o.src, ""),
				     zero(&o), "");
	for (i = 0; i < sizeof(predicates) / sizeof(predicates[0]); i++)
		if (predicates[i].op == BPF_OP(insn->code))
			return LLVMBuildICmp(ir->builder, predicates[i].predicate, o.dst, o.src, "");
	return NULL;
}
