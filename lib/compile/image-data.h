/* SPDX-License-Identifier: Apache-2.0 */
/* What an image holds, for this folder. */
#ifndef GT_COMPILE_IMAGE_DATA_H
#define GT_COMPILE_IMAGE_DATA_H

#include "lib/compile/compile.h"
#include "lib/compile/symbol.h"
#include "lib/object/object.h"

struct gt_host_code;

struct gputrace_image {
	int refs;
	struct gputrace_object *object;	/* counted */
	char *main_name;		/* in the text, GT_FUNCTION_PREFIX included */
	char *ptx;			/* GPU images */
	struct gt_host_code *host;	/* host images */
	uint32_t context_size;
	struct gt_symbols symbols;
	uint32_t probe_flags;
};

/* Code of this machine, from an object file that LLVM made; symbols get the maps' own memory. */
int gt_host_load(const void *object_file, size_t size, const struct gputrace_image *image,
		 struct gt_host_code **ret_code);
void gt_host_free(struct gt_host_code *code);
uint64_t gt_host_run(const struct gt_host_code *code, const void *context, uint32_t size);

/*
 * PTX as LLVM writes it without header, declarations of symbols and debug sections,
 * and with the program's lines as comments; malloc'd.
 */
int gt_ptx_tidy(const char *text, size_t length, const struct gt_prog *prog, char **ret_text);

#endif
