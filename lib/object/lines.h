/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of instructions, from .BTF.ext. */
#ifndef GT_OBJECT_LINES_H
#define GT_OBJECT_LINES_H

#include <bpf/btf.h>

#include "lib/object/elf-file.h"
#include "lib/object/prog.h"

struct gt_lines {
	struct gt_line *lines;	/* malloc'd; texts belong to the btf */
	unsigned count;
};

/*
 * Append the lines of `size` bytes of code at `offset` of a section, whose first
 * instruction is number `at` of the program.  Missing or damaged line information
 * is no error: there are no lines then.  -ENOMEM.
 */
int gt_lines_add(struct gt_lines *lines, const struct gt_elf_file *file, const struct btf *btf,
		 unsigned section, uint64_t offset, uint64_t size, unsigned at);

#endif
