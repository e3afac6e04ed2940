/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of helpers. */
#include <errno.h>

#include "lib/compile/helper-id.h"
#include "lib/compile/ir.h"
#include "lib/compile/runtime/runtime.h"

/* First words of the context's triples, see struct gputrace_gpu_ctx. */
#define WORD_THREAD 8
#define WORD_BLOCK 11
#define WORD_BLOCK_DIM 14
#define WORD_GRID_DIM 17

static int special(struct gt_ir *ir, enum gt_special which)
{
	LLVMValueRef args[] = { ir->env[GT_ENV_ADDR], gt_ir_i32(ir, which) };

	gt_ir_set(ir, 0, gt_ir_runtime(ir, "gt_rt_special", args, 2));
	return 0;
}

/* bpftime's: three words go to where r1 to r3 point, as 64 bits. */
static int triple(struct gt_ir *ir, uint32_t word)
{
	unsigned i;

	for (i = 0; i < 3; i++)
		gt_ir_store(ir, LLVMBuildZExt(ir->builder, gt_ir_context_word(ir, word + i), ir->i64, ""),
			    gt_ir_pointer(ir, 1 + i), 1);
	gt_ir_set(ir, 0, gt_ir_i64(ir, 0));
	return 0;
}

static int fence(struct gt_ir *ir)
{
	gt_ir_runtime(ir, "gt_rt_fence", NULL, 0);
	gt_ir_set(ir, 0, gt_ir_i64(ir, 0));
	return 0;
}

/* The calling thread leaves the kernel; on the host, the program ends. */
static int leave(struct gt_ir *ir)
{
	LLVMBasicBlockRef after = gt_ir_block(ir, "never");

	if (ir->gpu)
		gt_ir_asm(ir, ir->nothing, NULL, 0, "exit;", "~{memory}");
	if (ir->function->start)
		LLVMBuildRet(ir->builder, gt_ir_i64(ir, 0));
	else if (ir->gpu)
		LLVMBuildRetVoid(ir->builder);
	else
		LLVMBuildRet(ir->builder, gt_ir_i64(ir, 0));
	LLVMPositionBuilderAtEnd(ir->builder, after);
	gt_ir_set(ir, 0, gt_ir_i64(ir, 0));
	return 0;
}

/* Where the caller does not say how long the parameters are: the least that every GPU allows. */
#define PARAMS_BYTES 4096

/* gputrace_read_param(to, size, offset): -EINVAL if there are no parameters or they end before. */
static int read_param(struct gt_ir *ir)
{
	LLVMBuilderRef b = ir->builder;
	LLVMValueRef params = ir->env[GT_ENV_PARAMS], from, bytes, offset, size, ok;
	LLVMBasicBlockRef copy = gt_ir_block(ir, "copy"), after = gt_ir_block(ir, "after");
	LLVMValueRef address;

	size = LLVMBuildAnd(b, gt_ir_get(ir, 2), gt_ir_i64(ir, 0xffffffff), "");
	offset = LLVMBuildAnd(b, gt_ir_get(ir, 3), gt_ir_i64(ir, 0xffffffff), "");
	/* The block's length may come in the upper 16 bits of its address. */
	bytes = LLVMBuildLShr(b, params, gt_ir_i64(ir, 48), "");
	bytes = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, bytes, gt_ir_i64(ir, 0), ""),
				gt_ir_i64(ir, PARAMS_BYTES), bytes, "");
	address = LLVMBuildAnd(b, params, gt_ir_i64(ir, (1ll << 48) - 1), "");
	ok = LLVMBuildICmp(b, LLVMIntULE, LLVMBuildAdd(b, offset, size, ""), bytes, "");
	ok = LLVMBuildAnd(b, ok, LLVMBuildICmp(b, LLVMIntNE, params, gt_ir_i64(ir, 0), ""), "");
	LLVMBuildCondBr(b, ok, copy, after);
	LLVMPositionBuilderAtEnd(b, copy);
	from = LLVMBuildIntToPtr(b, LLVMBuildAdd(b, address, offset, ""), ir->ptr, "");
	LLVMBuildMemCpy(b, gt_ir_pointer(ir, 1), 1, from, 1, size);
	LLVMBuildBr(b, after);
	LLVMPositionBuilderAtEnd(b, after);
	gt_ir_set(ir, 0, LLVMBuildSelect(b, ok, gt_ir_i64(ir, 0), gt_ir_i64(ir, -EINVAL), ""));
	return 0;
}

static int warp_sum(struct gt_ir *ir)
{
	LLVMValueRef value = gt_ir_get(ir, 1);

	gt_ir_set(ir, 0, gt_ir_runtime(ir, "gt_rt_warp_sum", &value, 1));
	return 0;
}

static int launch_id(struct gt_ir *ir)
{
	gt_ir_set(ir, 0, gt_ir_context_launch(ir));
	return 0;
}

static int pid_tgid(struct gt_ir *ir)
{
	gt_ir_set(ir, 0, gt_ir_symbol(ir, GT_SYMBOL_RING0, GT_SYMBOL_PID_TGID));
	return 0;
}

int gt_ir_helper(struct gt_ir *ir, const struct bpf_insn *insn)
{
	switch (insn->imm) {
	case GT_HELPER_MAP_LOOKUP:
		return gt_ir_map_lookup(ir);
	case GT_HELPER_MAP_UPDATE:
		return gt_ir_map_update(ir);
	case GT_HELPER_MAP_DELETE:
		return gt_ir_map_delete(ir);
	case GT_HELPER_KTIME_GET_NS:
	case GT_HELPER_GLOBALTIMER:
	case GT_HELPER_BT_GLOBALTIMER:
		return special(ir, GT_SPECIAL_TIME);
	case GT_HELPER_CLOCK64:
		return special(ir, GT_SPECIAL_CLOCK);
	case GT_HELPER_SMP_PROCESSOR_ID:
	case GT_HELPER_SM_ID:
	case GT_HELPER_BT_SM_ID:
		return special(ir, GT_SPECIAL_SM);
	case GT_HELPER_WARP_ID:
	case GT_HELPER_BT_WARP_ID:
		return special(ir, GT_SPECIAL_WARP);
	case GT_HELPER_LANE_ID:
	case GT_HELPER_BT_LANE_ID:
		return special(ir, GT_SPECIAL_LANE);
	case GT_HELPER_ACTIVE_MASK:
		return special(ir, GT_SPECIAL_MASK);
	case GT_HELPER_GRID_ID:
		return special(ir, GT_SPECIAL_GRID);
	case GT_HELPER_PRANDOM_U32:
		return special(ir, GT_SPECIAL_RANDOM);
	case GT_HELPER_LAUNCH_ID:
		return launch_id(ir);
	case GT_HELPER_PID_TGID:
		return pid_tgid(ir);
	case GT_HELPER_READ_PARAM:
		return read_param(ir);
	case GT_HELPER_WARP_SUM:
		return warp_sum(ir);
	case GT_HELPER_RINGBUF_OUTPUT:
		return gt_ir_ring_output(ir, 1, 2, 3);
	case GT_HELPER_PERF_EVENT_OUTPUT:
		return gt_ir_ring_output(ir, 2, 4, 5);
	case GT_HELPER_RINGBUF_RESERVE:
		return gt_ir_ring_reserve(ir);
	case GT_HELPER_RINGBUF_SUBMIT:
		return gt_ir_ring_submit(ir, false);
	case GT_HELPER_RINGBUF_DISCARD:
		return gt_ir_ring_submit(ir, true);
	case GT_HELPER_TRACE_PRINTK:
		return gt_ir_printk(ir, false);
	case GT_HELPER_TRACE_VPRINTK:
		return gt_ir_printk(ir, true);
	case GT_HELPER_LOOP:
		return gt_ir_loop(ir);
	case GT_HELPER_BT_BLOCK_IDX:
		return triple(ir, WORD_BLOCK);
	case GT_HELPER_BT_BLOCK_DIM:
		return triple(ir, WORD_BLOCK_DIM);
	case GT_HELPER_BT_THREAD_IDX:
		return triple(ir, WORD_THREAD);
	case GT_HELPER_BT_GRID_DIM:
		return triple(ir, WORD_GRID_DIM);
	case GT_HELPER_BT_MEMBAR:
		return fence(ir);
	case GT_HELPER_BT_EXIT:
		return leave(ir);
	default:
		return gt_ir_unsupported(ir, "helper number %d is not for GPU programs", insn->imm);
	}
}
