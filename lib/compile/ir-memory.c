/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores. */
#include <stddef.h>

#include "lib/compile/ir.h"
#include "lib/object/gpu-abi.h"
#include "lib/util/insn.h"

#define CONTEXT_WORDS (sizeof(struct gputrace_gpu_ctx) / 4)

static const struct gt_fact *fact_here(const struct gt_ir *ir)
{
	return ir->facts ? &ir->facts[ir->at] : NULL;
}

/* What the address in `reg` points at, by what is known and by what the verifier proved. */
static enum gt_space space_of(const struct gt_ir *ir, unsigned reg, int *ret_map)
{
	const struct gt_known *k = &ir->known.r[reg];
	const struct gt_fact *fact = fact_here(ir);

	*ret_map = -1;
	switch (k->what) {
	case GT_KNOW_FRAME:
	case GT_KNOW_RECORD:
		return GT_SPACE_PRIVATE;
	case GT_KNOW_CONTEXT:
		return GT_SPACE_CONTEXT;
	case GT_KNOW_VALUE:
		*ret_map = k->index;
		return GT_SPACE_MAP;
	default:
		break;
	}
	if (!fact)
		return GT_SPACE_UNKNOWN;
	switch (fact->mem) {
	case GT_MEM_STACK:
	case GT_MEM_RECORD:
		return GT_SPACE_PRIVATE;
	case GT_MEM_CONTEXT:
		return GT_SPACE_CONTEXT;
	case GT_MEM_MAP:
		*ret_map = fact->map;
		return GT_SPACE_MAP;
	default:
		return GT_SPACE_UNKNOWN;
	}
}

/* Verified accesses are aligned.  Of others nothing is promised, and LLVM finds out what it can. */
unsigned gt_ir_alignment(const struct gt_ir *ir, unsigned bytes)
{
	return ir->facts ? bytes : 1;
}

static int access_context(struct gt_ir *ir, unsigned reg, int16_t off, struct gt_access *access)
{
	const struct gt_known *k = &ir->known.r[reg];
	int64_t offset;

	if (!ir->prog->context_size)
		return gt_ir_unsupported(ir, "the program has no context");
	if (k->what == GT_KNOW_CONTEXT)
		offset = k->value + off;
	else
		offset = fact_here(ir)->offset;
	if (offset < 0 || offset >= (int64_t)ir->prog->context_size)
		return gt_ir_unsupported(ir, "reads the context at offset %lld, it has %u bytes",
					 (long long)offset, ir->prog->context_size);
	access->offset = (int32_t)offset;
	if (!ir->gpu)
		access->pointer = gt_ir_offset(ir,
					       LLVMBuildIntToPtr(ir->builder, ir->env[GT_ENV_ADDR], ir->ptr, ""),
					       offset);
	return 0;
}

int gt_ir_access(struct gt_ir *ir, unsigned reg, int16_t off, struct gt_access *ret_access)
{
	struct gt_access access = { .map = -1 };
	LLVMValueRef address;
	int r;

	access.space = space_of(ir, reg, &access.map);
	if (access.space == GT_SPACE_CONTEXT) {
		r = access_context(ir, reg, off, &access);
		if (r < 0)
			return r;
	} else if (access.space == GT_SPACE_PRIVATE) {
		access.pointer = gt_ir_offset(ir, gt_ir_pointer(ir, reg), off);
	} else {
		address = LLVMBuildAdd(ir->builder, gt_ir_get(ir, reg), gt_ir_i64(ir, off), "");
		access.pointer = LLVMBuildIntToPtr(ir->builder, address,
						   access.space == GT_SPACE_MAP ? ir->global_ptr : ir->ptr, "");
	}
	*ret_access = access;
	return 0;
}

LLVMValueRef gt_ir_context_word(struct gt_ir *ir, uint32_t word)
{
	LLVMValueRef args[] = {
		ir->env[GT_ENV_LAUNCH], ir->env[GT_ENV_KERNEL], ir->env[GT_ENV_ADDR],
		ir->env[GT_ENV_SIZE],	ir->env[GT_ENV_SPACE],	gt_ir_i32(ir, word),
	};

	return gt_ir_runtime(ir, "gt_rt_context_word", args, 6);
}

LLVMValueRef gt_ir_context_launch(struct gt_ir *ir)
{
	LLVMValueRef low = LLVMBuildZExt(ir->builder, gt_ir_context_word(ir, 0), ir->i64, "");
	LLVMValueRef high = LLVMBuildZExt(ir->builder, gt_ir_context_word(ir, 1), ir->i64, "");

	high = LLVMBuildShl(ir->builder, high, gt_ir_i64(ir, 32), "");
	return LLVMBuildOr(ir->builder, low, high, "");
}

/* `bytes` of the context at `offset`, put together from its words. */
static LLVMValueRef context_value(struct gt_ir *ir, int32_t offset, unsigned bytes)
{
	LLVMBuilderRef b = ir->builder;
	LLVMValueRef value = gt_ir_i64(ir, 0), word;
	uint32_t first = (uint32_t)offset / 4, last = ((uint32_t)offset + bytes - 1) / 4, i;
	int shift;

	for (i = first; i <= last && i < CONTEXT_WORDS; i++) {
		word = LLVMBuildZExt(b, gt_ir_context_word(ir, i), ir->i64, "");
		shift = ((int)i * 4 - offset) * 8;
		if (shift >= 0)
			word = LLVMBuildShl(b, word, gt_ir_i64(ir, shift), "");
		else
			word = LLVMBuildLShr(b, word, gt_ir_i64(ir, -shift), "");
		value = LLVMBuildOr(b, value, word, "");
	}
	return LLVMBuildTrunc(b, value, gt_ir_int(ir, bytes), "");
}

int gt_ir_load_insn(struct gt_ir *ir, const struct bpf_insn *insn)
{
	unsigned bytes = gt_insn_bytes(insn->code), mode = BPF_MODE(insn->code);
	struct gt_access access;
	LLVMValueRef value;
	int r;

	if (mode != BPF_MEM && (mode != GT_MEMSX || bytes == 8))
		return gt_ir_unsupported(ir, "unknown load (opcode 0x%02x)", insn->code);
	r = gt_ir_access(ir, insn->src_reg, insn->off, &access);
	if (r < 0)
		return r;
	if (access.pointer)
		value = gt_ir_load(ir, gt_ir_int(ir, bytes), access.pointer, gt_ir_alignment(ir, bytes));
	else
		value = context_value(ir, access.offset, bytes);
	if (mode == GT_MEMSX)
		value = LLVMBuildSExt(ir->builder, value, ir->i64, "");
	else
		value = LLVMBuildZExt(ir->builder, value, ir->i64, "");
	gt_ir_set(ir, insn->dst_reg, value);
	return 0;
}

int gt_ir_store_insn(struct gt_ir *ir, const struct bpf_insn *insn)
{
	bool immediate = BPF_CLASS(insn->code) == BPF_ST;
	struct gt_access access;
	LLVMValueRef value;
	int r;

	if (BPF_MODE(insn->code) == BPF_ATOMIC && !immediate)
		return gt_ir_atomic(ir, insn);
	if (BPF_MODE(insn->code) != BPF_MEM)
		return gt_ir_unsupported(ir, "unknown store (opcode 0x%02x)", insn->code);
	r = gt_ir_access(ir, insn->dst_reg, insn->off, &access);
	if (r < 0)
		return r;
	if (access.space == GT_SPACE_CONTEXT)
		return gt_ir_unsupported(ir, "writes the context");
	value = immediate ? gt_ir_i64(ir, insn->imm) : gt_ir_get(ir, insn->src_reg);
	value = LLVMBuildTrunc(ir->builder, value, gt_ir_int(ir, gt_insn_bytes(insn->code)), "");
	gt_ir_store(ir, value, access.pointer, gt_ir_alignment(ir, gt_insn_bytes(insn->code)));
	return 0;
}
