/* SPDX-License-Identifier: Apache-2.0 */
/* The vocabulary of the translation: constants, registers, calls. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/compile/ir.h"
#include "lib/util/error.h"

int gt_ir_unsupported(const struct gt_ir *ir, const char *format, ...)
{
	const struct gt_line *line = NULL;
	char text[256], place[160] = "";
	va_list args;
	unsigned i;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	for (i = 0; i < ir->prog->line_count && ir->prog->lines[i].insn <= ir->at; i++)
		line = &ir->prog->lines[i];
	if (line)
		snprintf(place, sizeof(place), " (%s:%u)", line->file, line->line);
	return gt_error(-EOPNOTSUPP, "program %s, instruction %u%s: %s", ir->prog->name, ir->at, place, text);
}

LLVMValueRef gt_ir_const(const struct gt_ir *ir, LLVMTypeRef type, int64_t value)
{
	(void)ir;
	return LLVMConstInt(type, (unsigned long long)value, 1);
}

LLVMValueRef gt_ir_i64(const struct gt_ir *ir, int64_t value)
{
	return gt_ir_const(ir, ir->i64, value);
}

LLVMValueRef gt_ir_i32(const struct gt_ir *ir, uint32_t value)
{
	return LLVMConstInt(ir->i32, value, 0);
}

LLVMTypeRef gt_ir_int(const struct gt_ir *ir, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return ir->i8;
	case 2:
		return ir->i16;
	case 4:
		return ir->i32;
	default:
		return ir->i64;
	}
}

LLVMValueRef gt_ir_get(struct gt_ir *ir, unsigned reg)
{
	return LLVMBuildLoad2(ir->builder, ir->i64, ir->regs[reg], "");
}

void gt_ir_set(struct gt_ir *ir, unsigned reg, LLVMValueRef value)
{
	LLVMBuildStore(ir->builder, value, ir->regs[reg]);
}

LLVMValueRef gt_ir_alloca(struct gt_ir *ir, uint32_t bytes, const char *name)
{
	LLVMBasicBlockRef here = LLVMGetInsertBlock(ir->builder);
	LLVMBasicBlockRef first = LLVMGetEntryBasicBlock(ir->llvm_function);
	LLVMValueRef before = LLVMGetFirstInstruction(first), memory;

	if (before)
		LLVMPositionBuilderBefore(ir->builder, before);
	else
		LLVMPositionBuilderAtEnd(ir->builder, first);
	memory = LLVMBuildAlloca(ir->builder, LLVMArrayType(ir->i8, bytes), name);
	LLVMSetAlignment(memory, 8);
	LLVMPositionBuilderAtEnd(ir->builder, here);
	return memory;
}

LLVMValueRef gt_ir_offset(struct gt_ir *ir, LLVMValueRef pointer, int64_t bytes)
{
	LLVMValueRef index = gt_ir_i64(ir, bytes);

	return LLVMBuildGEP2(ir->builder, ir->i8, pointer, &index, 1, "");
}

LLVMValueRef gt_ir_load(struct gt_ir *ir, LLVMTypeRef type, LLVMValueRef pointer, unsigned align)
{
	LLVMValueRef load = LLVMBuildLoad2(ir->builder, type, pointer, "");

	LLVMSetAlignment(load, align);
	return load;
}

void gt_ir_store(struct gt_ir *ir, LLVMValueRef value, LLVMValueRef pointer, unsigned align)
{
	LLVMSetAlignment(LLVMBuildStore(ir->builder, value, pointer), align);
}

static void add_attribute(struct gt_ir *ir, LLVMValueRef function, const char *name, bool call)
{
	unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
	LLVMAttributeRef attribute = LLVMCreateEnumAttribute(ir->context, kind, 0);

	if (call)
		LLVMAddCallSiteAttribute(function, LLVMAttributeFunctionIndex, attribute);
	else
		LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
}

void gt_ir_function_attributes(struct gt_ir *ir, LLVMValueRef function)
{
	add_attribute(ir, function, "nounwind", false);
	if (ir->gpu)
		add_attribute(ir, function, "convergent", false);
	/* A table would be a module-scope variable, which probe text cannot have. */
	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
				LLVMCreateStringAttribute(ir->context, "no-jump-tables", 14, "true", 4));
}

LLVMValueRef gt_ir_asm(struct gt_ir *ir, LLVMTypeRef result, LLVMValueRef *args, unsigned count,
		       const char *text, const char *constraints)
{
	LLVMTypeRef types[4], type;
	LLVMValueRef code, call;
	unsigned i;

	for (i = 0; i < count; i++)
		types[i] = LLVMTypeOf(args[i]);
	type = LLVMFunctionType(result, types, count, 0);
	code = LLVMGetInlineAsm(type, (char *)text, strlen(text), (char *)constraints,
				strlen(constraints), 1, 0, LLVMInlineAsmDialectATT, 0);
	call = LLVMBuildCall2(ir->builder, type, code, args, count, "");
	add_attribute(ir, call, "nounwind", true);
	return call;
}

LLVMValueRef gt_ir_runtime(struct gt_ir *ir, const char *name, LLVMValueRef *args, unsigned count)
{
	LLVMValueRef function = LLVMGetNamedFunction(ir->module, name);

	return LLVMBuildCall2(ir->builder, LLVMGlobalGetValueType(function), function, args, count, "");
}

LLVMValueRef gt_ir_intrinsic(struct gt_ir *ir, const char *name, LLVMTypeRef *overloads,
			     unsigned overload_count, LLVMValueRef *args, unsigned count)
{
	unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
	LLVMValueRef function = LLVMGetIntrinsicDeclaration(ir->module, id, overloads, overload_count);

	return LLVMBuildCall2(ir->builder, LLVMGlobalGetValueType(function), function, args, count, "");
}

void gt_ir_assume(struct gt_ir *ir, LLVMValueRef condition)
{
	gt_ir_intrinsic(ir, "llvm.assume", NULL, 0, &condition, 1);
}

LLVMBasicBlockRef gt_ir_block(struct gt_ir *ir, const char *name)
{
	return LLVMAppendBasicBlockInContext(ir->context, ir->llvm_function, name);
}

bool gt_ir_known_const(const struct gt_ir *ir, unsigned reg, int64_t *ret_value)
{
	if (ir->known.r[reg].what != GT_KNOW_CONST)
		return false;
	*ret_value = ir->known.r[reg].value;
	return true;
}

LLVMValueRef gt_ir_symbol(struct gt_ir *ir, int map, enum gt_symbol_kind kind)
{
	const char *map_name = map >= 0 ? ir->object->maps[map]->name : "";
	const struct gt_symbol *symbol = gt_symbols_want(ir->symbols, map, map_name, kind);
	bool address = kind == GT_SYMBOL_OFFSET || kind == GT_SYMBOL_CTL;
	LLVMValueRef global;

	if (!symbol) {
		ir->out_of_memory = true;
		return gt_ir_i64(ir, 0);
	}
	/* As the address of a variable that nobody defines: LLVM knows no other unknown constant. */
	global = LLVMGetNamedGlobal(ir->module, symbol->name);
	if (!global) {
		global = LLVMAddGlobalInAddressSpace(ir->module, ir->i8, symbol->name, ir->gpu ? 1 : 0);
		/* Lets LLVM know how map memory is aligned. */
		LLVMSetAlignment(global, address ? (kind == GT_SYMBOL_OFFSET ? GT_MAP_ALIGN : 128) : 1);
	}
	return LLVMConstPtrToInt(global, ir->i64);
}

/*
 * The same number, of which LLVM knows only that it is the same each time: it would
 * add constants to a symbol first, and not see any more that two addresses in one map
 * are a constant apart.
 */
static LLVMValueRef opaque(struct gt_ir *ir, LLVMValueRef number)
{
	LLVMTypeRef type = LLVMFunctionType(ir->i64, &ir->i64, 1, 0);
	LLVMValueRef code = LLVMGetInlineAsm(type, "", 0, "=l,0", 4, 0, 0, LLVMInlineAsmDialectATT, 0);
	LLVMValueRef call = LLVMBuildCall2(ir->builder, type, code, &number, 1, "");

	add_attribute(ir, call, "nounwind", true);
	add_attribute(ir, call, "memory", true);	/* none */
	return call;
}

/* From a spread map's first copy to that of the multiprocessor that this thread is on. */
static LLVMValueRef copy_offset(struct gt_ir *ir, const struct gputrace_map *map)
{
	LLVMBuilderRef b = ir->builder;
	LLVMTypeRef type = LLVMFunctionType(ir->i32, NULL, 0, 0);
	LLVMValueRef code = LLVMGetInlineAsm(type, "mov.u32 $0, %smid;", 18, "=r", 2, 0, 0, LLVMInlineAsmDialectATT, 0);
	LLVMValueRef sm = LLVMBuildCall2(b, type, code, NULL, 0, "");

	/* The same for the whole program, like the addresses that it goes into. */
	add_attribute(ir, sm, "nounwind", true);
	add_attribute(ir, sm, "memory", true);
	sm = LLVMBuildZExt(b, LLVMBuildAnd(b, sm, gt_ir_i32(ir, map->spread - 1), ""), ir->i64, "");
	return LLVMBuildMul(b, sm, gt_ir_i64(ir, (int64_t)gt_map_copy_bytes(map)), "");
}

LLVMValueRef gt_ir_map_memory(struct gt_ir *ir, int index)
{
	const struct gputrace_map *map = ir->object->maps[index];
	bool host = gt_map_arena(map) == GT_ARENA_HOST;
	LLVMValueRef offset = gt_ir_symbol(ir, index, GT_SYMBOL_OFFSET), address;

	address = LLVMBuildAdd(ir->builder, ir->env[host ? GT_ENV_HOST : GT_ENV_DEV], offset, "");
	if (!ir->gpu)
		return address;
	address = opaque(ir, address);
	return map->spread ? LLVMBuildAdd(ir->builder, address, copy_offset(ir, map), "") : address;
}

LLVMValueRef gt_ir_pointer(struct gt_ir *ir, unsigned reg)
{
	const struct gt_known *k = &ir->known.r[reg];
	unsigned i;

	if (k->what == GT_KNOW_FRAME)
		return gt_ir_offset(ir, ir->stack, (int64_t)ir->stack_bytes + k->value);
	if (k->what == GT_KNOW_RECORD)
		for (i = 0; i < ir->record_count; i++)
			if (ir->records[i].insn == (unsigned)k->index)
				return gt_ir_offset(ir, ir->records[i].memory, k->value);
	return LLVMBuildIntToPtr(ir->builder, gt_ir_get(ir, reg), ir->ptr, "");
}
