/* SPDX-License-Identifier: Apache-2.0 */
/* LLVM's side: the runtime as a module, passes, code generation. */
#ifndef GT_COMPILE_LLVM_H
#define GT_COMPILE_LLVM_H

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>

struct gt_llvm {
	bool gpu;
	LLVMContextRef context;
	LLVMModuleRef module;		/* begins as the runtime */
	LLVMTargetMachineRef machine;
	char *complaint;		/* LLVM's first error message, or NULL */
};

/* -ENOTSUP: this LLVM lacks the target; -ENOMEM; with gt_error() text. */
int gt_llvm_open(bool gpu, struct gt_llvm *ret_llvm);
void gt_llvm_close(struct gt_llvm *llvm);

/*
 * Keep only what `main_name` needs and optimise at level 0 to 3.  -EIO with
 * gt_error() text: LLVM refuses the module.
 */
int gt_llvm_optimize(struct gt_llvm *llvm, const char *main_name, unsigned level);

/* Generate assembly (PTX) or an object file.  The buffer is LLVM's to dispose of. */
int gt_llvm_emit(struct gt_llvm *llvm, LLVMMemoryBufferRef *ret_buffer);

#endif
