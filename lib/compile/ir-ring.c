/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring buffers and printing.  A reserved record is put together in this thread's
 * own memory, since in the ring it may wrap, and copied at submit; so a reserve
 * always succeeds, and a record for which there is no room at submit is counted as
 * lost in the ring.
 */
#include <errno.h>
#include <gputrace/object.h>
#include <stdlib.h>

#include "lib/compile/ir.h"
#include "lib/compile/runtime/runtime.h"
#include "lib/wire/wire.h"

/* The arguments every function of the runtime takes for a ring. */
static void ring_arguments(struct gt_ir *ir, int map, LLVMValueRef args[4])
{
	LLVMBuilderRef b = ir->builder;

	args[0] = LLVMBuildAdd(b, ir->env[GT_ENV_DEV], gt_ir_symbol(ir, map, GT_SYMBOL_CTL), "");
	args[1] = LLVMBuildAdd(b, ir->env[GT_ENV_HOST], gt_ir_symbol(ir, map, GT_SYMBOL_TAIL), "");
	args[2] = LLVMBuildAdd(b, ir->env[GT_ENV_HOST], gt_ir_symbol(ir, map, GT_SYMBOL_OFFSET), "");
	args[3] = gt_ir_symbol(ir, map, GT_SYMBOL_SIZE);
}

/* Programs that run once per warp or block have no neighbours. */
static enum gt_company company_of(const struct gt_ir *ir, bool constant_size)
{
	if (!constant_size)
		return GT_COMPANY_ANY;
	return ir->prog->granularity == GPUTRACE_PER_THREAD ? GT_COMPANY_ALIKE : GT_COMPANY_NONE;
}

static LLVMValueRef output(struct gt_ir *ir, int map, LLVMValueRef data, LLVMValueRef size, bool constant_size)
{
	LLVMValueRef args[9];

	ring_arguments(ir, map, args);
	args[4] = gt_ir_i32(ir, GT_REC_DATA);
	args[5] = LLVMBuildTrunc(ir->builder, gt_ir_symbol(ir, map, GT_SYMBOL_SOURCE), ir->i32, "");
	args[6] = data;
	args[7] = size;
	args[8] = gt_ir_i32(ir, company_of(ir, constant_size));
	return gt_ir_runtime(ir, "gt_rt_ring_output", args, 9);
}

int gt_ir_ring_output(struct gt_ir *ir, unsigned map_reg, unsigned data_reg, unsigned size_reg)
{
	LLVMValueRef size;
	int64_t constant;
	int map, r;

	r = gt_ir_map_argument(ir, map_reg, 1u << GT_KIND_RING, &map);
	if (r < 0)
		return r;
	if (gt_ir_known_const(ir, size_reg, &constant)) {
		if (constant < 0 || constant > GT_RECORD_MAX_PAYLOAD)
			return gt_ir_unsupported(ir, "record of %lld bytes, at most %u are possible",
						 (long long)constant, GT_RECORD_MAX_PAYLOAD);
		size = gt_ir_i32(ir, (uint32_t)constant);
		gt_ir_set(ir, 0, output(ir, map, gt_ir_pointer(ir, data_reg), size, true));
		return 0;
	}
	size = LLVMBuildTrunc(ir->builder, gt_ir_get(ir, size_reg), ir->i32, "");
	gt_ir_set(ir, 0, output(ir, map, gt_ir_pointer(ir, data_reg), size, false));
	return 0;
}

int gt_ir_ring_reserve(struct gt_ir *ir)
{
	struct gt_ir_record *more, record = { .insn = ir->at };
	int64_t size;
	int r;

	r = gt_ir_map_argument(ir, 1, 1u << GT_KIND_RING, &record.map);
	if (r < 0)
		return r;
	if (!gt_ir_known_const(ir, 2, &size))
		return gt_ir_unsupported(ir, "the size of a reserved record must be a constant");
	if (size <= 0 || size > GT_RECORD_MAX_PAYLOAD)
		return gt_ir_unsupported(ir, "record of %lld bytes, 1 to %u are possible", (long long)size,
					 GT_RECORD_MAX_PAYLOAD);
	record.size = (uint32_t)size;
	record.memory = gt_ir_alloca(ir, (record.size + 7) & ~7u, "record");
	more = realloc(ir->records, (ir->record_count + 1) * sizeof(*more));
	if (!more) {
		ir->out_of_memory = true;
		return 0;
	}
	ir->records = more;
	more[ir->record_count++] = record;
	/* What the program leaves out is zero, not what the memory held before. */
	LLVMBuildMemSet(ir->builder, record.memory, LLVMConstInt(ir->i8, 0, 0),
			gt_ir_i64(ir, (record.size + 7) & ~7u), 8);
	gt_ir_set(ir, 0, LLVMBuildPtrToInt(ir->builder, record.memory, ir->i64, ""));
	return 0;
}

int gt_ir_ring_submit(struct gt_ir *ir, bool discard)
{
	const struct gt_known *k = &ir->known.r[1];
	unsigned i;

	gt_ir_set(ir, 0, gt_ir_i64(ir, 0));
	if (discard)
		return 0;
	for (i = 0; i < ir->record_count; i++) {
		if (k->what != GT_KNOW_RECORD || ir->records[i].insn != (unsigned)k->index)
			continue;
		output(ir, ir->records[i].map, ir->records[i].memory, gt_ir_i32(ir, ir->records[i].size), true);
		return 0;
	}
	return gt_ir_unsupported(ir, "a record is submitted that may come from several places, "
				 "or from another function");
}

/* ---- printing ---- */

/* r3 to r5 as an array. */
static LLVMValueRef three_arguments(struct gt_ir *ir)
{
	LLVMValueRef array = gt_ir_alloca(ir, 24, "");
	unsigned i;

	for (i = 0; i < 3; i++)
		gt_ir_store(ir, gt_ir_get(ir, 3 + i), gt_ir_offset(ir, array, 8 * i), 8);
	return array;
}

/* r3 points at r4 bytes of arguments: copied, so that they are aligned. */
static LLVMValueRef array_arguments(struct gt_ir *ir, LLVMValueRef *ret_count)
{
	LLVMBuilderRef b = ir->builder;
	LLVMValueRef array = gt_ir_alloca(ir, 8 * GT_PRINTK_ARGS, "");
	LLVMValueRef bytes = gt_ir_get(ir, 4), most = gt_ir_i64(ir, 8 * GT_PRINTK_ARGS);

	bytes = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, bytes, most, ""), bytes, most, "");
	bytes = LLVMBuildAnd(b, bytes, gt_ir_i64(ir, -8), "");
	LLVMBuildMemCpy(b, array, 8, gt_ir_pointer(ir, 3), 1, bytes);
	*ret_count = LLVMBuildTrunc(b, LLVMBuildLShr(b, bytes, gt_ir_i64(ir, 3), ""), ir->i32, "");
	return array;
}

int gt_ir_printk(struct gt_ir *ir, bool array)
{
	LLVMValueRef args[9], result, size = gt_ir_get(ir, 2);

	ring_arguments(ir, GT_SYMBOL_RING0, args);
	args[4] = gt_ir_context_launch(ir);
	args[5] = gt_ir_pointer(ir, 1);
	args[6] = LLVMBuildTrunc(ir->builder, size, ir->i32, "");
	args[8] = gt_ir_i32(ir, 3);
	args[7] = array ? array_arguments(ir, &args[8]) : three_arguments(ir);
	result = gt_ir_runtime(ir, "gt_rt_printk", args, 9);
	/* As in the kernel: the length, or an error. */
	result = LLVMBuildSelect(ir->builder,
				 LLVMBuildICmp(ir->builder, LLVMIntSLT, result, gt_ir_i64(ir, 0), ""), result,
				 size, "");
	gt_ir_set(ir, 0, result);
	return 0;
}
