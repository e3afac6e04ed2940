/* SPDX-License-Identifier: Apache-2.0 */
/* A file with code, and what its symbols and DWARF say of a place in it. */
#ifndef GT_SYMBOL_MODULE_H
#define GT_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/symbol/rules.h"

struct gputrace_frame;
struct gt_mapping;

struct gt_module {
	struct gt_module *next;
	uint64_t device, inode;
	char *path;		/* as the process knows it; of memory without a name "[memory]" */
	int generated;		/* code that the process made, or that the kernel gave it: there is no file */
	int fd;			/* the mapped file; -1: it could not be opened, or is libdwfl's by now */
	const char *missing;	/* why the file could not be opened; static text */
	const char *reason;	/* why nothing can be known of it: that, or because of what the file is */
	struct Elf *elf;	/* until libdwfl asks for it */
	struct Dwfl *dwfl;
	struct Dwfl_Module *module;
	const uint8_t *build_id;
	int build_id_size;
	bool has_cfi;
	struct gt_cfi cfi;
};

/* Takes over the descriptor; fd -1: with the reason, if there should be a file.  NULL: no memory. */
struct gt_module *gt_module_new(const struct gt_mapping *mapping, int fd, const char *reason);
void gt_module_free(struct gt_module *module);

/*
 * Say in a frame what is at an offset of the file, with frames for what was
 * inlined there: `frame` becomes the innermost.  -ENOMEM.
 */
int gt_module_resolve(struct gt_module *module, uint64_t file_offset, struct gputrace_frame *frame);

/* The rules by which a caller's registers are found from an offset of the file; false: there are none. */
bool gt_module_rules(struct gt_module *module, uint64_t file_offset, struct gt_rules *ret_rules);

#endif
