/* SPDX-License-Identifier: Apache-2.0 */
/* Where the section of a user's program for the kernel says that it goes. */
#ifndef GT_UPROBE_PROGRAM_PLACE_H
#define GT_UPROBE_PROGRAM_PLACE_H

#include <stdbool.h>
#include <stddef.h>

struct gt_program_place {
	bool is_uprobe, at_return;	/* the rest is a uprobe's */
	bool sleepable;
	char library[512];		/* as the section says; any name of libcuda as GT_LIBCUDA */
	char function[256];
	size_t offset;			/* into the function */
};

/* -EINVAL with gt_error() text. */
int gt_program_place_parse(const char *section, struct gt_program_place *ret_place);

#endif
