/* SPDX-License-Identifier: Apache-2.0 */
/* What the name of a section says about its programs. */
#ifndef GT_OBJECT_SECTION_NAME_H
#define GT_OBJECT_SECTION_NAME_H

#include <stdbool.h>

struct gt_attach_point {
	int point;		/* enum gputrace_point */
	int granularity;	/* enum gputrace_granularity */
	const char *pattern;	/* into the name, or "*"; NULL for kernel programs */
	const char *opcode;	/* instructions: into the name, up to opcode_length */
	unsigned opcode_length;
};

/*
 * Sections that are not this library's are for the operating system's kernel.
 * -ENOTSUP with gt_error() text: begins like one of this library's and is none.
 */
int gt_section_parse(const char *name, struct gt_attach_point *ret_point);

/*
 * bpftime puts GPU programs into sections named like the kernel's: is this such a
 * section?  `certain` is set when the names of section and function tell, else it
 * depends on what the program does.
 */
bool gt_section_parse_bpftime(const char *name, const char *function,
			      struct gt_attach_point *ret_point, bool *ret_certain);

#endif
