/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic instructions.  In memory of this thread alone they are plain reads and
 * writes.  On the GPU the scope follows the map's memory: the GPU for device
 * memory, the whole system for host memory, which the CPU reads meanwhile.  Those
 * that return the old value order memory like the kernel's, the others do not.
 */
#include <gputrace/gputrace.h>
#include <stdio.h>

#include "lib/compile/ir.h"

struct operation {
	int32_t imm;		/* without BPF_FETCH */
	LLVMAtomicRMWBinOp rmw;
	LLVMOpcode opcode;	/* the same on plain values; 0: exchange */
	const char *ptx;	/* with its type but for the size */
	char type;
};

static const struct operation operations[] = {
	{ BPF_ADD, LLVMAtomicRMWBinOpAdd, LLVMAdd, "add", 'u' },
	{ BPF_OR, LLVMAtomicRMWBinOpOr, LLVMOr, "or", 'b' },
	{ BPF_AND, LLVMAtomicRMWBinOpAnd, LLVMAnd, "and", 'b' },
	{ BPF_XOR, LLVMAtomicRMWBinOpXor, LLVMXor, "xor", 'b' },
	{ BPF_XCHG & ~BPF_FETCH, LLVMAtomicRMWBinOpXchg, 0, "exch", 'b' },
};

struct atomic {
	const struct operation *op;	/* NULL: compare and exchange */
	bool fetch;
	unsigned bytes;
	LLVMTypeRef type;
	LLVMValueRef operand, expected;
	struct gt_access access;
};

static LLVMValueRef on_plain_memory(struct gt_ir *ir, const struct atomic *a)
{
	LLVMBuilderRef b = ir->builder;
	LLVMValueRef old, new;
	unsigned align = gt_ir_alignment(ir, a->bytes);

	old = gt_ir_load(ir, a->type, a->access.pointer, align);
	if (!a->op)
		new = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, old, a->expected, ""), a->operand, old, "");
	else if (a->op->opcode)
		new = LLVMBuildBinOp(b, a->op->opcode, old, a->operand, "");
	else
		new = a->operand;
	gt_ir_store(ir, new, a->access.pointer, align);
	return old;
}

static LLVMValueRef on_host(struct gt_ir *ir, const struct atomic *a)
{
	LLVMValueRef pair;

	if (a->op)
		return LLVMBuildAtomicRMW(ir->builder, a->op->rmw, a->access.pointer, a->operand,
					  LLVMAtomicOrderingSequentiallyConsistent, 0);
	pair = LLVMBuildAtomicCmpXchg(ir->builder, a->access.pointer, a->expected, a->operand,
				      LLVMAtomicOrderingSequentiallyConsistent,
				      LLVMAtomicOrderingSequentiallyConsistent, 0);
	return LLVMBuildExtractValue(ir->builder, pair, 0, "");
}

static bool in_device_memory(const struct gt_ir *ir, const struct gt_access *access)
{
	return access->space == GT_SPACE_MAP && access->map >= 0 &&
	       gt_map_arena(ir->object->maps[access->map]) == GT_ARENA_DEV;
}

/* One PTX instruction; NULL when it gives nothing back. */
static LLVMValueRef on_gpu(struct gt_ir *ir, const struct atomic *a)
{
	const char *scope = in_device_memory(ir, &a->access) ? "gpu" : "sys";
	const char *space = a->access.space == GT_SPACE_MAP ? ".global" : "";
	LLVMValueRef args[] = { a->access.pointer, a->op ? a->operand : a->expected, a->operand };
	unsigned bits = a->bytes * 8;
	char reg = bits == 64 ? 'l' : 'r', text[96], constraints[48];

	if (a->op && !a->fetch) {
		snprintf(text, sizeof(text), "red.relaxed.%s%s.%s.%c%u [$0], $1;", scope, space, a->op->ptx,
			 a->op->type, bits);
		snprintf(constraints, sizeof(constraints), "l,%c,~{memory}", reg);
		gt_ir_asm(ir, ir->nothing, args, 2, text, constraints);
		return NULL;
	}
	if (a->op) {
		snprintf(text, sizeof(text), "atom.acq_rel.%s%s.%s.%c%u $0, [$1], $2;", scope, space, a->op->ptx,
			 a->op->type, bits);
		snprintf(constraints, sizeof(constraints), "=%c,l,%c,~{memory}", reg, reg);
		return gt_ir_asm(ir, a->type, args, 2, text, constraints);
	}
	snprintf(text, sizeof(text), "atom.acq_rel.%s%s.cas.b%u $0, [$1], $2, $3;", scope, space, bits);
	snprintf(constraints, sizeof(constraints), "=%c,l,%c,%c,~{memory}", reg, reg, reg);
	return gt_ir_asm(ir, a->type, args, 3, text, constraints);
}

static LLVMValueRef is_constant(struct gt_ir *ir, LLVMValueRef value)
{
	LLVMTypeRef type = LLVMTypeOf(value);

	/* Known to LLVM later, when registers have become values. */
	return gt_ir_intrinsic(ir, "llvm.is.constant", &type, 1, &value, 1);
}

/*
 * Do all threads add the same to the same place?  Then the driver's compiler sees it
 * too, and lets one add for all better than we can; but not in a spread map, since it
 * does not know that the threads of a warp are on one multiprocessor.
 */
static LLVMValueRef is_uniform(struct gt_ir *ir, const struct atomic *a, LLVMValueRef address,
			       LLVMValueRef constant)
{
	LLVMBuilderRef b = ir->builder;

	if (a->access.map < 0)
		return LLVMConstInt(ir->i1, 0, 0);
	address = LLVMBuildSub(b, address, gt_ir_map_memory(ir, a->access.map), "");
	return LLVMBuildAnd(b, is_constant(ir, address), constant, "");
}

/*
 * An addition that gives nothing back: one thread of the warp adds for all that
 * add the same to the same place.
 */
static LLVMValueRef add_together(struct gt_ir *ir, struct atomic *a)
{
	LLVMBuilderRef b = ir->builder;
	LLVMBasicBlockRef alike = gt_ir_block(ir, "alike"), compare = gt_ir_block(ir, "compare");
	LLVMBasicBlockRef adds = gt_ir_block(ir, "adds"), after = gt_ir_block(ir, "after");
	LLVMValueRef args[] = {
		LLVMBuildPtrToInt(b, a->access.pointer, ir->i64, ""),
		LLVMBuildZExt(b, a->operand, ir->i64, ""),
		LLVMConstInt(ir->i1, a->access.map >= 0, 0),
		is_constant(ir, a->operand),
	};
	bool spread = a->access.map >= 0 && ir->object->maps[a->access.map]->spread;
	LLVMValueRef count, counts[2];

	LLVMBuildCondBr(b, is_uniform(ir, a, args[0], args[3]), alike, compare);
	LLVMPositionBuilderAtEnd(b, alike);
	if (spread) {
		counts[0] = gt_ir_runtime(ir, "gt_rt_all_add", NULL, 0);
		LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, counts[0], gt_ir_i32(ir, 0), ""), adds, after);
	} else {
		on_gpu(ir, a);
		LLVMBuildBr(b, after);
	}
	LLVMPositionBuilderAtEnd(b, compare);
	counts[1] = gt_ir_runtime(ir, "gt_rt_adders", args, 4);
	LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, counts[1], gt_ir_i32(ir, 0), ""), adds, after);
	LLVMPositionBuilderAtEnd(b, adds);
	count = LLVMBuildPhi(b, ir->i32, "");
	if (spread)
		LLVMAddIncoming(count, &counts[0], &alike, 1);
	LLVMAddIncoming(count, &counts[1], &compare, 1);
	a->operand = LLVMBuildMul(b, a->operand, LLVMBuildZExtOrBitCast(b, count, a->type, ""), "");
	on_gpu(ir, a);
	LLVMBuildBr(b, after);
	LLVMPositionBuilderAtEnd(b, after);
	return NULL;
}

static bool in_own_slots(const struct gt_ir *ir, const struct atomic *a)
{
	return a->access.map >= 0 && ir->object->maps[a->access.map]->layout.slot == GT_SLOT_THREAD;
}

/* Is it an addition of threads that run the program side by side, which may mean the same place? */
static bool has_company(const struct gt_ir *ir, const struct atomic *a)
{
	return a->op && a->op->imm == BPF_ADD && !a->fetch && ir->prog->granularity == GPUTRACE_PER_THREAD &&
	       !in_own_slots(ir, a);
}

/* Nobody said where the address points: PTX has no atomics on local memory, so ask. */
static LLVMValueRef on_gpu_unknown(struct gt_ir *ir, const struct atomic *a)
{
	LLVMBasicBlockRef local = gt_ir_block(ir, "local"), shared = gt_ir_block(ir, "shared");
	LLVMBasicBlockRef after = gt_ir_block(ir, "after");
	LLVMValueRef pointer = a->access.pointer, is_local, old_local, old_shared, phi;

	is_local = gt_ir_asm(ir, ir->i32, &pointer, 1,
			     "{ .reg .pred p; isspacep.local p, $1; selp.u32 $0, 1, 0, p; }", "=r,l");
	is_local = LLVMBuildICmp(ir->builder, LLVMIntNE, is_local, gt_ir_i32(ir, 0), "");
	LLVMBuildCondBr(ir->builder, is_local, local, shared);
	LLVMPositionBuilderAtEnd(ir->builder, local);
	old_local = on_plain_memory(ir, a);
	LLVMBuildBr(ir->builder, after);
	LLVMPositionBuilderAtEnd(ir->builder, shared);
	old_shared = on_gpu(ir, a);
	LLVMBuildBr(ir->builder, after);
	LLVMPositionBuilderAtEnd(ir->builder, after);
	if (!old_shared)
		return NULL;
	phi = LLVMBuildPhi(ir->builder, a->type, "");
	LLVMAddIncoming(phi, &old_local, &local, 1);
	LLVMAddIncoming(phi, &old_shared, &shared, 1);
	return phi;
}

static int decode(struct gt_ir *ir, const struct bpf_insn *insn, struct atomic *a)
{
	unsigned i;
	int r;

	if (BPF_SIZE(insn->code) != BPF_W && BPF_SIZE(insn->code) != BPF_DW)
		return gt_ir_unsupported(ir, "atomic access of less than 4 bytes");
	a->bytes = BPF_SIZE(insn->code) == BPF_W ? 4 : 8;
	a->type = gt_ir_int(ir, a->bytes);
	a->fetch = insn->imm & BPF_FETCH;
	if (insn->imm != BPF_CMPXCHG) {
		for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
			if (operations[i].imm == (insn->imm & ~BPF_FETCH))
				a->op = &operations[i];
		if (!a->op || insn->imm == (BPF_XCHG & ~BPF_FETCH))
			return gt_ir_unsupported(ir, "unknown atomic operation 0x%x", (unsigned)insn->imm);
	}
	r = gt_ir_access(ir, insn->dst_reg, insn->off, &a->access);
	if (r < 0)
		return r;
	if (a->access.space == GT_SPACE_CONTEXT)
		return gt_ir_unsupported(ir, "writes the context");
	a->operand = LLVMBuildTrunc(ir->builder, gt_ir_get(ir, insn->src_reg), a->type, "");
	a->expected = LLVMBuildTrunc(ir->builder, gt_ir_get(ir, 0), a->type, "");
	return 0;
}

int gt_ir_atomic(struct gt_ir *ir, const struct bpf_insn *insn)
{
	struct atomic a = {};
	LLVMValueRef old;
	int r;

	r = decode(ir, insn, &a);
	if (r < 0)
		return r;
	if (a.access.space == GT_SPACE_PRIVATE)
		old = on_plain_memory(ir, &a);
	else if (!ir->gpu)
		old = on_host(ir, &a);
	else if (a.access.space == GT_SPACE_MAP)
		old = has_company(ir, &a) ? add_together(ir, &a) : on_gpu(ir, &a);
	else
		old = on_gpu_unknown(ir, &a);
	if (!a.fetch)
		return 0;
	old = LLVMBuildZExt(ir->builder, old, ir->i64, "");
	gt_ir_set(ir, a.op ? insn->src_reg : 0, old);
	return 0;
}
