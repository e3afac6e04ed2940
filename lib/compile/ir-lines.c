/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source lines on their way through LLVM, which knows them as debug locations: the
 * "line" is the number of an entry of gt_prog.lines, from 1, so that the PTX text
 * can be given comments with the author's own lines.
 */
#include "lib/compile/ir.h"

#include <llvm-c/DebugInfo.h>
#include <string.h>

#define PRODUCER "gputrace"

void gt_ir_lines_begin(struct gt_ir *ir)
{
	LLVMMetadataRef version;

	if (!ir->gpu || !ir->prog->line_count)
		return;
	version = LLVMValueAsMetadata(gt_ir_i32(ir, LLVMDebugMetadataVersion()));
	LLVMAddModuleFlag(ir->module, LLVMModuleFlagBehaviorWarning, "Debug Info Version", 18, version);
	ir->lines = LLVMCreateDIBuilder(ir->module);
	ir->lines_file = LLVMDIBuilderCreateFile(ir->lines, "lines", 5, "", 0);
	LLVMDIBuilderCreateCompileUnit(ir->lines, LLVMDWARFSourceLanguageC99, ir->lines_file, PRODUCER,
				       strlen(PRODUCER), 1, "", 0, 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0,
				       0, 0, "", 0, "", 0);
}

void gt_ir_lines_function(struct gt_ir *ir)
{
	LLVMMetadataRef type;
	size_t length;
	const char *name;

	if (!ir->lines)
		return;
	name = LLVMGetValueName2(ir->llvm_function, &length);
	type = LLVMDIBuilderCreateSubroutineType(ir->lines, ir->lines_file, NULL, 0, LLVMDIFlagZero);
	ir->lines_scope = LLVMDIBuilderCreateFunction(ir->lines, ir->lines_file, name, length, name, length,
						      ir->lines_file, 1, type, 1, 1, 1, LLVMDIFlagZero, 1);
	LLVMSetSubprogram(ir->llvm_function, ir->lines_scope);
	LLVMSetCurrentDebugLocation2(ir->builder, LLVMDIBuilderCreateDebugLocation(ir->context, 0, 0,
										   ir->lines_scope, NULL));
}

/* The number of the last line at or before the current instruction; 0: none. */
static unsigned line_number(const struct gt_ir *ir)
{
	unsigned low = 0, high = ir->prog->line_count, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (ir->prog->lines[middle].insn <= ir->at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void gt_ir_lines_insn(struct gt_ir *ir)
{
	if (!ir->lines)
		return;
	LLVMSetCurrentDebugLocation2(ir->builder, LLVMDIBuilderCreateDebugLocation(ir->context, line_number(ir), 0,
										   ir->lines_scope, NULL));
}

void gt_ir_lines_end(struct gt_ir *ir)
{
	if (!ir->lines)
		return;
	LLVMDIBuilderFinalize(ir->lines);
	LLVMDisposeDIBuilder(ir->lines);
}
