/* SPDX-License-Identifier: Apache-2.0 */
/* Who knows instructions by their place, and whom calls reach that leave a section of code. */
#ifndef GT_GRAFT_CALLS_H
#define GT_GRAFT_CALLS_H

#include "lib/agent/graft/edit.h"

enum gt_mark {
	GT_MARK_NAMED = 1,	/* the linker or the records know it by its place */
	GT_MARK_LINKED = 2,	/* the linker fills it in */
	GT_MARK_FUNCTION = 4,	/* with the place of code that is in the file */
	GT_MARK_DRIVER = 8,	/* with that of a function which the driver supplies; or the records say so of a call */
};

/* By instruction: bits of enum gt_mark; malloc'd.  NULL: out of memory. */
uint8_t *gt_mark_code(const struct gt_elf *elf, unsigned text, const struct gt_elf_companions *of);

enum gt_call {
	GT_CALL_NONE,		/* it is none, or one within the section */
	GT_CALL_DRIVER,
	GT_CALL_FUNCTION,	/* of the file */
	GT_CALL_UNKNOWN,
};

enum gt_call gt_call_of(gt_word word, unsigned marks);

/* Of calls by pointers. */
#define GT_CALLS_UNKNOWN "which functions it calls cannot be told, and their accesses would not be seen"

/*
 * All functions with sections of their own that a kernel reaches: how many accesses there are at the points, whether
 * some call the driver's, and why they are in the way, into *sites.  -ENOMEM.
 */
int gt_look_at_callees(const struct gt_elf *elf, const struct gt_elf_kernel *kernel, uint32_t points, struct gt_sites *sites);

#endif
