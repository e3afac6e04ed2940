/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translation of one program to LLVM's intermediate code.  The module begins as a
 * copy of the runtime, and one function is added for each BPF function.
 */
#ifndef GT_COMPILE_IR_H
#define GT_COMPILE_IR_H

#include <llvm-c/Core.h>
#include <stdbool.h>

#include "lib/compile/flow.h"
#include "lib/compile/symbol.h"
#include "lib/object/object.h"
#include "lib/verify/verify.h"

#define GT_STACK_BYTES 512u

/* Names in compiled text begin with these; gt_image_link() replaces them. */
#define GT_FUNCTION_PREFIX "__gt_fn_"
#define GT_SYMBOL_PREFIX "__gt_sym_"

/* Parameters of a probe, see wire.h; other functions take r1 to r5 before them. */
enum gt_env {
	GT_ENV_LAUNCH,
	GT_ENV_DEV,
	GT_ENV_HOST,
	GT_ENV_KERNEL,
	GT_ENV_PARAMS,
	GT_ENV_ADDR,
	GT_ENV_SIZE,
	GT_ENV_SPACE,
	GT_ENV_COUNT,
};

/* A record reserved at some instruction of the current function. */
struct gt_ir_record {
	unsigned insn;
	LLVMValueRef memory;
	uint32_t size;
	int map;
};

struct gt_ir {
	const struct gt_prog *prog;
	const struct gt_fact *facts;	/* NULL: not verified */
	uint32_t loop_budget;		/* of gt_verify_result */
	struct gputrace_object *object;
	bool gpu;
	struct gt_flow flow;
	struct gt_symbols *symbols;
	bool out_of_memory;		/* somewhere on the way; checked at the end */

	LLVMContextRef context;
	LLVMModuleRef module;
	LLVMBuilderRef builder;
	LLVMTypeRef i1, i8, i16, i32, i64, ptr, global_ptr, nothing;

	LLVMDIBuilderRef lines;		/* NULL: none to keep */
	LLVMMetadataRef lines_file, lines_scope;

	LLVMValueRef *functions;	/* by index in flow.functions */
	char *main_name;		/* of the first of them, for the caller to free */
	LLVMTypeRef main_type, inner_type;

	/* The function being translated. */
	const struct gt_function *function;
	LLVMValueRef llvm_function;
	LLVMBasicBlockRef *blocks;	/* by instruction, leaders only */
	LLVMValueRef regs[GT_REGS];	/* allocas of i64 */
	LLVMValueRef stack;
	uint32_t stack_bytes;
	LLVMValueRef countdown;		/* rounds left, an i32; NULL: nothing counts */
	LLVMValueRef env[GT_ENV_COUNT];
	struct gt_ir_record *records;
	unsigned record_count;

	/* The instruction being translated, and what its registers are known to hold. */
	unsigned at;
	struct gt_regs known;
};

/*
 * Add a program to a module that holds the runtime.  facts may be NULL.
 * -EOPNOTSUPP with gt_error() text: an instruction or helper that cannot be
 * translated; -ENOMEM.
 */
int gt_ir_translate(struct gt_ir *ir);

/* An error at the current instruction: -EOPNOTSUPP. */
int gt_ir_unsupported(const struct gt_ir *ir, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* ---- small things, ir-build.c ---- */

LLVMValueRef gt_ir_const(const struct gt_ir *ir, LLVMTypeRef type, int64_t value);
LLVMValueRef gt_ir_i64(const struct gt_ir *ir, int64_t value);
LLVMValueRef gt_ir_i32(const struct gt_ir *ir, uint32_t value);
LLVMTypeRef gt_ir_int(const struct gt_ir *ir, unsigned bytes);
LLVMValueRef gt_ir_get(struct gt_ir *ir, unsigned reg);
void gt_ir_set(struct gt_ir *ir, unsigned reg, LLVMValueRef value);
/* An allocation in the function's first block, zeroed if asked. */
LLVMValueRef gt_ir_alloca(struct gt_ir *ir, uint32_t bytes, const char *name);
LLVMValueRef gt_ir_offset(struct gt_ir *ir, LLVMValueRef pointer, int64_t bytes);
LLVMValueRef gt_ir_load(struct gt_ir *ir, LLVMTypeRef type, LLVMValueRef pointer, unsigned align);
void gt_ir_store(struct gt_ir *ir, LLVMValueRef value, LLVMValueRef pointer, unsigned align);
LLVMValueRef gt_ir_asm(struct gt_ir *ir, LLVMTypeRef result, LLVMValueRef *args, unsigned count,
		       const char *text, const char *constraints);
/* Call a function of the runtime. */
LLVMValueRef gt_ir_runtime(struct gt_ir *ir, const char *name, LLVMValueRef *args, unsigned count);
LLVMValueRef gt_ir_intrinsic(struct gt_ir *ir, const char *name, LLVMTypeRef *overloads,
			     unsigned overload_count, LLVMValueRef *args, unsigned count);
void gt_ir_assume(struct gt_ir *ir, LLVMValueRef condition);
LLVMBasicBlockRef gt_ir_block(struct gt_ir *ir, const char *name);
/* Mark a function as LLVM must treat it. */
void gt_ir_function_attributes(struct gt_ir *ir, LLVMValueRef function);

/* The pointer that a register holds, for reading or writing memory through it. */
LLVMValueRef gt_ir_pointer(struct gt_ir *ir, unsigned reg);
/* Is the register known to hold this constant? */
bool gt_ir_known_const(const struct gt_ir *ir, unsigned reg, int64_t *ret_value);

/* A link-time number, see symbol.h, as an i64. */
LLVMValueRef gt_ir_symbol(struct gt_ir *ir, int map, enum gt_symbol_kind kind);
/* Address of a map's memory, an i64. */
LLVMValueRef gt_ir_map_memory(struct gt_ir *ir, int map);

/* ---- parts of the translation: 0 or -errno ---- */

int gt_ir_alu(struct gt_ir *ir, const struct bpf_insn *insn);
LLVMValueRef gt_ir_condition(struct gt_ir *ir, const struct bpf_insn *insn);	/* NULL: unknown */
int gt_ir_load_insn(struct gt_ir *ir, const struct bpf_insn *insn);
int gt_ir_store_insn(struct gt_ir *ir, const struct bpf_insn *insn);
int gt_ir_atomic(struct gt_ir *ir, const struct bpf_insn *insn);
int gt_ir_helper(struct gt_ir *ir, const struct bpf_insn *insn);

/* ---- memory, ir-memory.c ---- */

enum gt_space {
	GT_SPACE_CONTEXT,	/* no memory on the GPU */
	GT_SPACE_PRIVATE,	/* this thread's alone: stack, records */
	GT_SPACE_MAP,		/* a map's value */
	GT_SPACE_UNKNOWN,
};

struct gt_access {
	enum gt_space space;
	int map;		/* GT_SPACE_MAP: index, -1: one of several */
	int32_t offset;		/* GT_SPACE_CONTEXT */
	LLVMValueRef pointer;	/* NULL for GT_SPACE_CONTEXT on the GPU */
};

/* What an access of so many bytes may take for granted of its address. */
unsigned gt_ir_alignment(const struct gt_ir *ir, unsigned bytes);

/* Where an instruction's memory operand [reg + off] lies. */
int gt_ir_access(struct gt_ir *ir, unsigned reg, int16_t off, struct gt_access *ret_access);

/* ---- helpers by subject ---- */

int gt_ir_map_argument(struct gt_ir *ir, unsigned reg, uint32_t kind_mask, int *ret_map);
int gt_ir_map_lookup(struct gt_ir *ir);
int gt_ir_map_update(struct gt_ir *ir);
int gt_ir_map_delete(struct gt_ir *ir);
int gt_ir_ring_output(struct gt_ir *ir, unsigned map_reg, unsigned data_reg, unsigned size_reg);
int gt_ir_ring_reserve(struct gt_ir *ir);
int gt_ir_ring_submit(struct gt_ir *ir, bool discard);
int gt_ir_printk(struct gt_ir *ir, bool array);
int gt_ir_loop(struct gt_ir *ir);
/* A word of the context, as i32. */
LLVMValueRef gt_ir_context_word(struct gt_ir *ir, uint32_t word);
LLVMValueRef gt_ir_context_launch(struct gt_ir *ir);

/* ---- source lines, ir-lines.c ---- */

void gt_ir_lines_begin(struct gt_ir *ir);
void gt_ir_lines_function(struct gt_ir *ir);	/* the function being translated begins */
void gt_ir_lines_insn(struct gt_ir *ir);	/* the instruction being translated begins */
void gt_ir_lines_end(struct gt_ir *ir);

#endif
