/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, blocks and instructions. */
#include "lib/compile/ir.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/helper-id.h"
#include "lib/util/error.h"
#include "lib/util/insn.h"

#define MAX_LOOPS (1u << 23)	/* as in the kernel */
#define ARGS 5			/* r1 to r5 */
#define NO_CONTEXT 8		/* what r1 holds on the GPU, where the context is not in memory */

static void find_types(struct gt_ir *ir)
{
	LLVMTypeRef types[ARGS + GT_ENV_COUNT];
	LLVMTypeRef *env = types + ARGS;
	unsigned i;

	ir->i1 = LLVMInt1TypeInContext(ir->context);
	ir->i8 = LLVMInt8TypeInContext(ir->context);
	ir->i16 = LLVMInt16TypeInContext(ir->context);
	ir->i32 = LLVMInt32TypeInContext(ir->context);
	ir->i64 = LLVMInt64TypeInContext(ir->context);
	ir->nothing = LLVMVoidTypeInContext(ir->context);
	ir->ptr = LLVMPointerTypeInContext(ir->context, 0);
	ir->global_ptr = LLVMPointerTypeInContext(ir->context, ir->gpu ? 1 : 0);
	for (i = 0; i < ARGS + GT_ENV_COUNT; i++)
		types[i] = ir->i64;
	env[GT_ENV_KERNEL] = env[GT_ENV_SIZE] = env[GT_ENV_SPACE] = ir->i32;
	ir->main_type = LLVMFunctionType(ir->gpu ? ir->nothing : ir->i64, env, GT_ENV_COUNT, 0);
	ir->inner_type = LLVMFunctionType(ir->i64, types, ARGS + GT_ENV_COUNT, 0);
}

/* A name for PTX: letters, digits and underscores. */
static void function_name(const struct gt_ir *ir, unsigned index, char *name, size_t size)
{
	char *c;

	if (index == 0)
		snprintf(name, size, GT_FUNCTION_PREFIX "%.64s", ir->prog->name);
	else
		snprintf(name, size, GT_FUNCTION_PREFIX "%.64s_%u", ir->prog->name,
			 ir->flow.functions[index].start);
	for (c = name; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
}

static int declare_functions(struct gt_ir *ir)
{
	char name[128];
	unsigned i;

	ir->functions = calloc(ir->flow.function_count, sizeof(*ir->functions));
	if (!ir->functions)
		return gt_error(-ENOMEM, "out of memory for program %s", ir->prog->name);
	for (i = 0; i < ir->flow.function_count; i++) {
		function_name(ir, i, name, sizeof(name));
		ir->functions[i] = LLVMAddFunction(ir->module, name, i ? ir->inner_type : ir->main_type);
		gt_ir_function_attributes(ir, ir->functions[i]);
		if (i)
			LLVMSetLinkage(ir->functions[i], LLVMInternalLinkage);
		else
			ir->main_name = strdup(name);
	}
	return ir->main_name ? 0 : gt_error(-ENOMEM, "out of memory for program %s", ir->prog->name);
}

/* Arenas are aligned for everything in them. */
static void assume_aligned(struct gt_ir *ir, LLVMValueRef address)
{
	LLVMValueRef low = LLVMBuildAnd(ir->builder, address, gt_ir_i64(ir, GT_MAP_ALIGN - 1), "");

	gt_ir_assume(ir, LLVMBuildICmp(ir->builder, LLVMIntEQ, low, gt_ir_i64(ir, 0), ""));
}

static uint32_t frame_bytes(const struct gt_ir *ir)
{
	int32_t used;

	if (!ir->facts)
		return GT_STACK_BYTES;
	used = ir->facts[ir->function->start].stack_frame_bytes;
	if (used < 0 || used > (int32_t)GT_STACK_BYTES)
		return GT_STACK_BYTES;
	return ((uint32_t)used + 7) & ~7u;
}

/* r1 and r2 of the program itself. */
static void set_program_arguments(struct gt_ir *ir)
{
	if (ir->prog->context_size && ir->gpu) {
		gt_ir_set(ir, 1, gt_ir_i64(ir, NO_CONTEXT));
		return;
	}
	gt_ir_set(ir, 1, ir->env[GT_ENV_ADDR]);
	if (!ir->prog->context_size)
		gt_ir_set(ir, 2, LLVMBuildZExt(ir->builder, ir->env[GT_ENV_SIZE], ir->i64, ""));
}

/* Only the program itself has loops that a countdown ends. */
static void begin_countdown(struct gt_ir *ir, bool is_main)
{
	ir->countdown = NULL;
	if (!ir->loop_budget || !is_main)
		return;
	ir->countdown = LLVMBuildAlloca(ir->builder, ir->i32, "countdown");
	LLVMBuildStore(ir->builder, gt_ir_i32(ir, ir->loop_budget), ir->countdown);
}

static void begin_function(struct gt_ir *ir)
{
	bool is_main = ir->function == &ir->flow.functions[0];
	unsigned first_env = is_main ? 0 : ARGS, i;

	LLVMPositionBuilderAtEnd(ir->builder, gt_ir_block(ir, "entry"));
	gt_ir_lines_function(ir);
	ir->stack_bytes = frame_bytes(ir);
	/* The greatest alignment that anything on a stack asks for. */
	ir->stack = LLVMBuildAlloca(ir->builder, LLVMArrayType(ir->i8, ir->stack_bytes ? ir->stack_bytes : 8),
				    "stack");
	LLVMSetAlignment(ir->stack, 16);
	begin_countdown(ir, is_main);
	for (i = 0; i < GT_ENV_COUNT; i++)
		ir->env[i] = LLVMGetParam(ir->llvm_function, first_env + i);
	assume_aligned(ir, ir->env[GT_ENV_DEV]);
	assume_aligned(ir, ir->env[GT_ENV_HOST]);
	for (i = 0; i < GT_REGS; i++) {
		ir->regs[i] = LLVMBuildAlloca(ir->builder, ir->i64, "");
		gt_ir_set(ir, i, gt_ir_i64(ir, 0));
	}
	if (is_main)
		set_program_arguments(ir);
	else
		for (i = 0; i < ARGS; i++)
			gt_ir_set(ir, 1 + i, LLVMGetParam(ir->llvm_function, i));
	gt_ir_set(ir, 10, LLVMBuildPtrToInt(ir->builder, gt_ir_offset(ir, ir->stack, ir->stack_bytes),
					    ir->i64, ""));
}

static int wide_immediate(struct gt_ir *ir, const struct bpf_insn *insn)
{
	uint64_t value = (uint32_t)insn[0].imm | (uint64_t)(uint32_t)insn[1].imm << 32;
	LLVMValueRef result;

	switch (insn->src_reg) {
	case 0:
		result = gt_ir_i64(ir, (int64_t)value);
		break;
	case BPF_PSEUDO_MAP_FD:
	case BPF_PSEUDO_FUNC:
		/* Never a number: helpers know which map or function is meant. */
		result = gt_ir_i64(ir, NO_CONTEXT);
		break;
	case BPF_PSEUDO_MAP_VALUE:
		if (insn->imm < 0 || (unsigned)insn->imm >= ir->object->map_count)
			return gt_ir_unsupported(ir, "there is no map number %d", insn->imm);
		if (ir->object->maps[insn->imm]->layout_error ||
		    ir->object->maps[insn->imm]->layout.kind != GT_KIND_ARRAY)
			return gt_ir_unsupported(ir, "map %s has no value to point at",
						 ir->object->maps[insn->imm]->name);
		result = LLVMBuildAdd(ir->builder, gt_ir_map_memory(ir, insn->imm),
				      gt_ir_i64(ir, (uint32_t)insn[1].imm), "");
		break;
	default:
		return gt_ir_unsupported(ir, "unknown kind %u of 64-bit immediate", insn->src_reg);
	}
	gt_ir_set(ir, insn->dst_reg, result);
	return 0;
}

/* Call a BPF function with `args` as its r1 to r5. */
static LLVMValueRef call_function(struct gt_ir *ir, unsigned index, LLVMValueRef *args)
{
	LLVMValueRef all[ARGS + GT_ENV_COUNT];
	unsigned i;

	for (i = 0; i < ARGS; i++)
		all[i] = args[i];
	for (i = 0; i < GT_ENV_COUNT; i++)
		all[ARGS + i] = ir->env[i];
	return LLVMBuildCall2(ir->builder, ir->inner_type, ir->functions[index], all, ARGS + GT_ENV_COUNT, "");
}

static int call(struct gt_ir *ir, const struct bpf_insn *insn)
{
	LLVMValueRef args[ARGS];
	unsigned i;
	int index;

	if (insn->src_reg == 0)
		return gt_ir_helper(ir, insn);
	if (insn->src_reg != BPF_PSEUDO_CALL)
		return gt_ir_unsupported(ir, "functions of the operating system's kernel cannot be called");
	index = gt_flow_function_at(&ir->flow, (unsigned)((int64_t)ir->at + 1 + insn->imm));
	if (index <= 0)
		return gt_ir_unsupported(ir, "calls the program itself");
	for (i = 0; i < ARGS; i++)
		args[i] = gt_ir_get(ir, 1 + i);
	gt_ir_set(ir, 0, call_function(ir, (unsigned)index, args));
	return 0;
}

/* bpf_loop(times, callback, context, flags): how often the callback ran. */
int gt_ir_loop(struct gt_ir *ir)
{
	LLVMBuilderRef b = ir->builder;
	LLVMBasicBlockRef before, body = gt_ir_block(ir, "loop"), after = gt_ir_block(ir, "after"), end;
	LLVMValueRef times = gt_ir_get(ir, 1), flags = gt_ir_get(ir, 4), first, count, next, more, result;
	LLVMValueRef args[ARGS], incoming[2];
	int index = -1;

	if (ir->known.r[2].what == GT_KNOW_FUNCTION)
		index = gt_flow_function_at(&ir->flow, (unsigned)ir->known.r[2].index);
	else if (ir->facts && ir->facts[ir->at].callback)
		index = gt_flow_function_at(&ir->flow, ir->facts[ir->at].callback);
	if (index < 0)
		return gt_ir_unsupported(ir, "r2 does not hold one certain function");
	if (index == 0)
		return gt_ir_unsupported(ir, "the program itself cannot be a callback");
	/* The kernel's number of iterations is 32 bits wide. */
	times = LLVMBuildAnd(b, times, gt_ir_i64(ir, 0xffffffff), "");
	first = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntUGT, times, gt_ir_i64(ir, MAX_LOOPS), ""),
				gt_ir_i64(ir, -E2BIG), gt_ir_i64(ir, 0), "");
	first = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntNE, flags, gt_ir_i64(ir, 0), ""),
				gt_ir_i64(ir, -EINVAL), first, "");
	more = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, first, gt_ir_i64(ir, 0), ""),
			    LLVMBuildICmp(b, LLVMIntNE, times, gt_ir_i64(ir, 0), ""), "");
	before = LLVMGetInsertBlock(b);
	args[1] = gt_ir_get(ir, 3);
	args[2] = args[3] = args[4] = gt_ir_i64(ir, 0);
	LLVMBuildCondBr(b, more, body, after);

	LLVMPositionBuilderAtEnd(b, body);
	count = LLVMBuildPhi(b, ir->i64, "");
	args[0] = count;
	result = call_function(ir, (unsigned)index, args);
	next = LLVMBuildAdd(b, count, gt_ir_i64(ir, 1), "");
	more = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntEQ, result, gt_ir_i64(ir, 0), ""),
			    LLVMBuildICmp(b, LLVMIntULT, next, times, ""), "");
	end = LLVMGetInsertBlock(b);
	LLVMBuildCondBr(b, more, body, after);
	incoming[0] = gt_ir_i64(ir, 0);
	incoming[1] = next;
	LLVMAddIncoming(count, incoming, (LLVMBasicBlockRef[]){ before, end }, 2);

	LLVMPositionBuilderAtEnd(b, after);
	result = LLVMBuildPhi(b, ir->i64, "");
	incoming[0] = first;
	LLVMAddIncoming(result, incoming, (LLVMBasicBlockRef[]){ before, end }, 2);
	gt_ir_set(ir, 0, result);
	return 0;
}

static void leave(struct gt_ir *ir)
{
	bool is_main = ir->function == &ir->flow.functions[0];
	LLVMBasicBlockRef store, after;
	LLVMValueRef given;

	if (!is_main || !ir->gpu) {
		LLVMBuildRet(ir->builder, gt_ir_get(ir, 0));
		return;
	}
	/* A program over plain memory leaves its result where `params` points. */
	if (!ir->prog->context_size) {
		store = gt_ir_block(ir, "result");
		after = gt_ir_block(ir, "after");
		given = LLVMBuildICmp(ir->builder, LLVMIntNE, ir->env[GT_ENV_PARAMS], gt_ir_i64(ir, 0), "");
		LLVMBuildCondBr(ir->builder, given, store, after);
		LLVMPositionBuilderAtEnd(ir->builder, store);
		gt_ir_store(ir, gt_ir_get(ir, 0),
			    LLVMBuildIntToPtr(ir->builder, ir->env[GT_ENV_PARAMS], ir->ptr, ""), 8);
		LLVMBuildBr(ir->builder, after);
		LLVMPositionBuilderAtEnd(ir->builder, after);
	}
	LLVMBuildRetVoid(ir->builder);
}

/* One round less; none left: the program ends with 0. */
static void count_down(struct gt_ir *ir)
{
	LLVMBasicBlockRef end = gt_ir_block(ir, "enough"), go_on = gt_ir_block(ir, "");
	LLVMValueRef left = LLVMBuildLoad2(ir->builder, ir->i32, ir->countdown, "");

	LLVMBuildCondBr(ir->builder, LLVMBuildICmp(ir->builder, LLVMIntEQ, left, gt_ir_i32(ir, 0), ""), end, go_on);
	LLVMPositionBuilderAtEnd(ir->builder, end);
	gt_ir_set(ir, 0, gt_ir_i64(ir, 0));
	leave(ir);
	LLVMPositionBuilderAtEnd(ir->builder, go_on);
	LLVMBuildStore(ir->builder, LLVMBuildSub(ir->builder, left, gt_ir_i32(ir, 1), ""), ir->countdown);
}

static int jump(struct gt_ir *ir, const struct bpf_insn *insn)
{
	LLVMBasicBlockRef target = ir->blocks[gt_insn_target(ir->prog->insns, ir->at)];
	LLVMValueRef condition;

	if (BPF_OP(insn->code) == BPF_JA) {
		LLVMBuildBr(ir->builder, target);
		return 0;
	}
	condition = gt_ir_condition(ir, insn);
	if (!condition)
		return gt_ir_unsupported(ir, "unknown jump (opcode 0x%02x)", insn->code);
	LLVMBuildCondBr(ir->builder, condition, target, ir->blocks[ir->at + 1]);
	return 0;
}

static int translate_insn(struct gt_ir *ir, const struct bpf_insn *insn)
{
	if (insn->dst_reg >= GT_REGS || insn->src_reg >= GT_REGS)
		return gt_ir_unsupported(ir, "there is no register %u",
					 insn->dst_reg >= GT_REGS ? insn->dst_reg : insn->src_reg);
	switch (BPF_CLASS(insn->code)) {
	case BPF_ALU:
	case BPF_ALU64:
		return gt_ir_alu(ir, insn);
	case BPF_LD:
		if (gt_insn_is_wide(insn))
			return wide_immediate(ir, insn);
		return gt_ir_unsupported(ir, "packet access (opcode 0x%02x)", insn->code);
	case BPF_LDX:
		return gt_ir_load_insn(ir, insn);
	case BPF_ST:
	case BPF_STX:
		return gt_ir_store_insn(ir, insn);
	default:
		break;
	}
	if (gt_insn_is_call(insn))
		return call(ir, insn);
	if (gt_insn_is_exit(insn)) {
		leave(ir);
		return 0;
	}
	if (insn->code == (BPF_JMP | BPF_CALL | BPF_X))
		return gt_ir_unsupported(ir, "a call through a register");
	if (!gt_insn_is_jump(insn))
		return gt_ir_unsupported(ir, "unknown instruction (opcode 0x%02x)", insn->code);
	return jump(ir, insn);
}

static void make_blocks(struct gt_ir *ir)
{
	unsigned i;

	for (i = ir->function->start; i < ir->function->end; i++)
		if (ir->flow.leader[i])
			ir->blocks[i] = gt_ir_block(ir, "");
}

/* Blocks that no path leads to are left empty. */
static bool reached(const struct gt_ir *ir, unsigned leader)
{
	return ir->flow.at[leader].r[10].what != GT_KNOW_UNREACHED;
}

static int translate_block(struct gt_ir *ir, unsigned leader, unsigned *ret_end)
{
	const struct bpf_insn *insns = ir->prog->insns;
	bool skip = !reached(ir, leader);
	unsigned i;
	int r;

	LLVMPositionBuilderAtEnd(ir->builder, ir->blocks[leader]);
	ir->known = ir->flow.at[leader];
	for (i = leader; i < ir->function->end && (i == leader || !ir->flow.leader[i]); i++) {
		ir->at = i;
		if (!skip) {
			gt_ir_lines_insn(ir);
			if (ir->countdown && ir->facts[i].countdown)
				count_down(ir);
			r = translate_insn(ir, &insns[i]);
			if (r < 0)
				return r;
			gt_flow_step(&ir->flow, i, &ir->known);
		}
		i += gt_insn_is_wide(&insns[i]);
	}
	if (skip)
		LLVMBuildUnreachable(ir->builder);
	else if (!LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(ir->builder)))
		LLVMBuildBr(ir->builder, ir->blocks[i]);
	*ret_end = i;
	return 0;
}

static int translate_function(struct gt_ir *ir, unsigned index)
{
	LLVMBasicBlockRef entry;
	unsigned at;
	int r = 0;

	ir->function = &ir->flow.functions[index];
	ir->llvm_function = ir->functions[index];
	ir->record_count = 0;
	begin_function(ir);
	entry = LLVMGetInsertBlock(ir->builder);
	make_blocks(ir);
	LLVMPositionBuilderAtEnd(ir->builder, entry);
	LLVMBuildBr(ir->builder, ir->blocks[ir->function->start]);
	for (at = ir->function->start; at < ir->function->end && r >= 0;)
		r = translate_block(ir, at, &at);
	return r;
}

int gt_ir_translate(struct gt_ir *ir)
{
	unsigned i;
	int r;

	find_types(ir);
	r = gt_flow_analyse(ir->prog, &ir->flow);
	if (r < 0)
		return r;
	ir->builder = LLVMCreateBuilderInContext(ir->context);
	ir->blocks = calloc(ir->prog->insn_count + 1, sizeof(*ir->blocks));
	r = ir->blocks ? declare_functions(ir) : gt_error(-ENOMEM, "out of memory for program %s", ir->prog->name);
	gt_ir_lines_begin(ir);
	for (i = 0; i < ir->flow.function_count && r >= 0; i++)
		r = translate_function(ir, i);
	gt_ir_lines_end(ir);
	if (r >= 0 && ir->out_of_memory)
		r = gt_error(-ENOMEM, "out of memory for program %s", ir->prog->name);
	free(ir->records);
	free(ir->blocks);
	free(ir->functions);
	LLVMDisposeBuilder(ir->builder);
	gt_flow_free(&ir->flow);
	return r;
}
