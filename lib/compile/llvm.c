/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/llvm.h"

#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Target.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/compile/ir.h"
#include "lib/util/error.h"

/* The oldest GPU that CUDA 13 still compiles for; every newer one takes its PTX. */
#define GPU_TRIPLE "nvptx64-nvidia-cuda"
#define GPU_CPU "sm_75"
#define GPU_FEATURES "+ptx63"

static const unsigned char runtime_gpu[] = {
#include "lib/compile/runtime-gpu.inc"
};
static const unsigned char runtime_host[] = {
#include "lib/compile/runtime-host.inc"
};

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void initialize(void)
{
	LLVMInitializeNVPTXTargetInfo();
	LLVMInitializeNVPTXTarget();
	LLVMInitializeNVPTXTargetMC();
	LLVMInitializeNVPTXAsmPrinter();
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
}

/* Without a handler LLVM prints errors and ends the process. */
static void keep_complaint(LLVMDiagnosticInfoRef info, void *data)
{
	struct gt_llvm *llvm = data;
	char *text;

	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || llvm->complaint)
		return;
	text = LLVMGetDiagInfoDescription(info);
	llvm->complaint = strdup(text);
	LLVMDisposeMessage(text);
}

static int create_machine(struct gt_llvm *llvm)
{
	char *triple = llvm->gpu ? LLVMCreateMessage(GPU_TRIPLE) : LLVMGetDefaultTargetTriple();
	char *cpu = llvm->gpu ? LLVMCreateMessage(GPU_CPU) : LLVMGetHostCPUName();
	char *features = llvm->gpu ? LLVMCreateMessage(GPU_FEATURES) : LLVMGetHostCPUFeatures();
	char *message = NULL;
	LLVMTargetRef target;
	int r = 0;

	if (LLVMGetTargetFromTriple(triple, &target, &message)) {
		r = gt_error(-ENOTSUP, "this LLVM cannot compile for %s: %s", triple, message);
		LLVMDisposeMessage(message);
	} else {
		llvm->machine = LLVMCreateTargetMachine(target, triple, cpu, features, LLVMCodeGenLevelDefault,
							LLVMRelocPIC, LLVMCodeModelDefault);
		if (!llvm->machine)
			r = gt_error(-ENOTSUP, "this LLVM cannot compile for %s", triple);
	}
	LLVMDisposeMessage(triple);
	LLVMDisposeMessage(cpu);
	LLVMDisposeMessage(features);
	return r;
}

static int load_runtime(struct gt_llvm *llvm)
{
	const char *data = (const char *)(llvm->gpu ? runtime_gpu : runtime_host);
	size_t size = llvm->gpu ? sizeof(runtime_gpu) : sizeof(runtime_host);
	LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(data, size, "runtime", 0);
	int failed = LLVMParseBitcodeInContext2(llvm->context, buffer, &llvm->module);

	LLVMDisposeMemoryBuffer(buffer);
	if (failed)
		return gt_error(-ENOTSUP, "this LLVM is older than the one the library was built with: %s",
				llvm->complaint ? llvm->complaint : "it cannot read the runtime");
	return 0;
}

int gt_llvm_open(bool gpu, struct gt_llvm *llvm)
{
	int r;

	*llvm = (struct gt_llvm){ .gpu = gpu };
	pthread_once(&once, initialize);
	llvm->context = LLVMContextCreate();
	LLVMContextSetDiagnosticHandler(llvm->context, keep_complaint, llvm);
	r = create_machine(llvm);
	if (r >= 0)
		r = load_runtime(llvm);
	if (r < 0)
		gt_llvm_close(llvm);
	return r;
}

void gt_llvm_close(struct gt_llvm *llvm)
{
	if (llvm->module)
		LLVMDisposeModule(llvm->module);
	if (llvm->machine)
		LLVMDisposeTargetMachine(llvm->machine);
	LLVMContextDispose(llvm->context);
	free(llvm->complaint);
}

/*
 * Of the runtime only what is called stays; and its functions must not differ from
 * the program's in what they may be compiled for, or nothing would be inlined.
 */
static void make_internal(LLVMModuleRef module, const char *main_name)
{
	static const char *const attributes[] = { "target-cpu", "target-features", "tune-cpu", "frame-pointer" };
	LLVMValueRef function;
	const char *name;
	size_t length;
	unsigned i;

	for (function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function)) {
		if (LLVMIsDeclaration(function))
			continue;
		name = LLVMGetValueName2(function, &length);
		if (strcmp(name, main_name))
			LLVMSetLinkage(function, LLVMInternalLinkage);
		for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
			LLVMRemoveStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, attributes[i],
							 (unsigned)strlen(attributes[i]));
	}
}

/* What is left but for the program gets names that linking can make unique. */
static int rename_leftovers(LLVMModuleRef module, const char *main_name)
{
	LLVMValueRef function;
	const char *name;
	char *longer;
	size_t length;

	for (function = LLVMGetFirstFunction(module); function; function = LLVMGetNextFunction(function)) {
		name = LLVMGetValueName2(function, &length);
		if (LLVMIsDeclaration(function) ||
		    !strncmp(name, GT_FUNCTION_PREFIX, strlen(GT_FUNCTION_PREFIX)))
			continue;
		if (asprintf(&longer, "%s_%s", main_name, name) < 0)
			return gt_error(-ENOMEM, "out of memory while compiling");
		for (char *c = longer; *c; c++)
			if (*c == '.')
				*c = '_';
		LLVMSetValueName2(function, longer, strlen(longer));
		free(longer);
	}
	return 0;
}

static int check_module(struct gt_llvm *llvm)
{
	char *message = NULL;
	int r = 0;

	if (LLVMVerifyModule(llvm->module, LLVMReturnStatusAction, &message))
		r = gt_error(-EIO, "LLVM refuses what the program was translated to: %s", message);
	LLVMDisposeMessage(message);
	return r;
}

static int run_passes(struct gt_llvm *llvm, const char *passes)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef error;
	char *message;
	int r = 0;

	/* clang has unrolled what is worth it; the runtime says so where it matters. */
	LLVMPassBuilderOptionsSetLoopUnrolling(options, 0);
	LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
	LLVMPassBuilderOptionsSetSLPVectorization(options, 0);
	error = LLVMRunPasses(llvm->module, passes, llvm->machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (error) {
		message = LLVMGetErrorMessage(error);
		r = gt_error(-EIO, "LLVM cannot optimise: %s", message);
		LLVMDisposeErrorMessage(message);
	}
	return r;
}

int gt_llvm_optimize(struct gt_llvm *llvm, const char *main_name, unsigned level)
{
	char passes[64];
	int r;

	make_internal(llvm->module, main_name);
	r = check_module(llvm);
	if (r < 0)
		return r;
	/* Level 0 still has to inline the runtime: its numbers become constants that way. */
	if (level)
		snprintf(passes, sizeof(passes), "globaldce,default<O%u>", level);
	else
		snprintf(passes, sizeof(passes), "globaldce,always-inline,globaldce,function(sroa)");
	r = run_passes(llvm, passes);
	if (r < 0)
		return r;
	return rename_leftovers(llvm->module, main_name);
}

int gt_llvm_emit(struct gt_llvm *llvm, LLVMMemoryBufferRef *ret_buffer)
{
	LLVMCodeGenFileType type = llvm->gpu ? LLVMAssemblyFile : LLVMObjectFile;
	char *message = NULL;
	int r;

	if (LLVMTargetMachineEmitToMemoryBuffer(llvm->machine, llvm->module, type, &message, ret_buffer)) {
		r = gt_error(-EIO, "LLVM cannot generate code: %s", message);
		LLVMDisposeMessage(message);
		return r;
	}
	if (llvm->complaint) {
		LLVMDisposeMemoryBuffer(*ret_buffer);
		return gt_error(-EIO, "LLVM cannot generate code: %s", llvm->complaint);
	}
	return 0;
}
