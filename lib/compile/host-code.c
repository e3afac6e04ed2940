/* SPDX-License-Identifier: Apache-2.0 */
/* Host images: code of this machine through LLVM's ORC. */
#include <errno.h>
#include <llvm-c/LLJIT.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/compile/image-data.h"
#include "lib/compile/ir.h"
#include "lib/util/error.h"
#include "lib/wire/wire.h"

typedef uint64_t (*host_function)(uint64_t launch, uint64_t dev, uint64_t host, uint32_t kernel,
				  uint64_t params, uint64_t addr, uint32_t size, uint32_t space);

struct gt_host_code {
	LLVMOrcLLJITRef jit;
	host_function function;
	unsigned char *ring0;		/* printed text, NULL: the program prints nothing */
};

#define RING0_BYTES 65536u

static uint64_t host_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int orc_error(LLVMErrorRef error, const char *what)
{
	char *message = LLVMGetErrorMessage(error);
	int r = gt_error(-EIO, "%s: %s", what, message);

	LLVMDisposeErrorMessage(message);
	return r;
}

/*
 * A ring's parts lie behind one another: data, tail, control block.  Host code gets
 * 0 for both arenas, so that each offset is an address.
 */
static uint64_t ring_part(const unsigned char *memory, uint64_t bytes, enum gt_symbol_kind kind)
{
	switch (kind) {
	case GT_SYMBOL_TAIL:
		return (uintptr_t)(memory + bytes);
	case GT_SYMBOL_CTL:
		return (uintptr_t)(memory + bytes + GT_MAP_ALIGN);
	case GT_SYMBOL_SIZE:
		return bytes;
	case GT_SYMBOL_SOURCE:
		/* 0 in its 16 bits; older LLVMs take a symbol that is all 0 for undefined. */
		return 1u << 16;
	default:
		return (uintptr_t)memory;
	}
}

static int make_ring0(struct gt_host_code *code)
{
	struct gt_ring_ctl *ctl;

	if (code->ring0)
		return 0;
	code->ring0 = aligned_alloc(GT_MAP_ALIGN, RING0_BYTES + 2 * GT_MAP_ALIGN);
	if (!code->ring0)
		return gt_error(-ENOMEM, "out of memory for printed text");
	memset(code->ring0, 0, RING0_BYTES + 2 * GT_MAP_ALIGN);
	ctl = (void *)(code->ring0 + RING0_BYTES + GT_MAP_ALIGN);
	ctl->credits = RING0_BYTES;
	return 0;
}

static int symbol_value(struct gt_host_code *code, const struct gputrace_image *image,
			const struct gt_symbol *symbol, uint64_t *ret_value)
{
	struct gputrace_map *map;
	void *memory;
	int r;

	if (symbol->kind == GT_SYMBOL_PID_TGID) {
		*ret_value = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
		return 0;
	}
	if (symbol->map == GT_SYMBOL_RING0) {
		r = make_ring0(code);
		if (r >= 0)
			*ret_value = ring_part(code->ring0, RING0_BYTES, symbol->kind);
		return r;
	}
	map = image->object->maps[symbol->map];
	r = gt_map_host_instance(map, &memory);
	if (r < 0)
		return r;
	*ret_value = gt_map_is_ring(map) ? ring_part(memory, map->layout.bytes, symbol->kind) :
					   (uintptr_t)memory;
	return 0;
}

struct definition {
	const char *name;
	uint64_t value;
};

static int define(struct gt_host_code *code, const struct definition *list, unsigned count)
{
	LLVMOrcJITDylibRef library = LLVMOrcLLJITGetMainJITDylib(code->jit);
	LLVMOrcCSymbolMapPairs pairs = calloc(count, sizeof(*pairs));
	LLVMErrorRef error;
	unsigned i;

	if (!pairs)
		return gt_error(-ENOMEM, "out of memory while compiling");
	for (i = 0; i < count; i++) {
		pairs[i].Name = LLVMOrcLLJITMangleAndIntern(code->jit, list[i].name);
		pairs[i].Sym.Address = list[i].value;
		pairs[i].Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
	}
	error = LLVMOrcJITDylibDefine(library, LLVMOrcAbsoluteSymbols(pairs, count));
	free(pairs);
	return error ? orc_error(error, "cannot define the maps' addresses") : 0;
}

static int define_all(struct gt_host_code *code, const struct gputrace_image *image)
{
	const struct definition functions[] = {
		{ "__gt_host_time", (uintptr_t)host_time },
		{ "__gt_host_yield", (uintptr_t)sched_yield },
		/* What LLVM makes of loops that copy or clear. */
		{ "memcpy", (uintptr_t)memcpy },
		{ "memmove", (uintptr_t)memmove },
		{ "memset", (uintptr_t)memset },
		{ "memcmp", (uintptr_t)memcmp },
		{ "bcmp", (uintptr_t)memcmp },
	};
	struct definition symbol;
	unsigned i;
	int r;

	r = define(code, functions, sizeof(functions) / sizeof(functions[0]));
	for (i = 0; i < image->symbols.count && r >= 0; i++) {
		symbol.name = image->symbols.list[i].name;
		r = symbol_value(code, image, &image->symbols.list[i], &symbol.value);
		if (r >= 0)
			r = define(code, &symbol, 1);
	}
	return r;
}

static int load(struct gt_host_code *code, const void *object_file, size_t size,
		const struct gputrace_image *image)
{
	LLVMOrcExecutorAddress address;
	LLVMMemoryBufferRef buffer;
	LLVMErrorRef error;
	int r;

	error = LLVMOrcCreateLLJIT(&code->jit, NULL);
	if (error) {
		code->jit = NULL;
		return orc_error(error, "LLVM cannot compile for this machine");
	}
	r = define_all(code, image);
	if (r < 0)
		return r;
	buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(object_file, size, "image");
	error = LLVMOrcLLJITAddObjectFile(code->jit, LLVMOrcLLJITGetMainJITDylib(code->jit), buffer);
	if (error)
		return orc_error(error, "cannot load compiled code");
	error = LLVMOrcLLJITLookup(code->jit, &address, image->main_name);
	if (error)
		return orc_error(error, "cannot link compiled code");
	code->function = (host_function)(uintptr_t)address;
	return 0;
}

int gt_host_load(const void *object_file, size_t size, const struct gputrace_image *image,
		 struct gt_host_code **ret_code)
{
	struct gt_host_code *code = calloc(1, sizeof(*code));
	int r;

	if (!code)
		return gt_error(-ENOMEM, "out of memory while compiling");
	r = load(code, object_file, size, image);
	if (r < 0) {
		gt_host_free(code);
		return r;
	}
	*ret_code = code;
	return 0;
}

void gt_host_free(struct gt_host_code *code)
{
	LLVMErrorRef error;

	if (!code)
		return;
	if (code->jit) {
		error = LLVMOrcDisposeLLJIT(code->jit);
		if (error)
			LLVMConsumeError(error);
	}
	free(code->ring0);
	free(code);
}

uint64_t gt_host_run(const struct gt_host_code *code, const void *context, uint32_t size)
{
	return code->function(0, 0, 0, 0, 0, (uintptr_t)context, size, 0);
}
