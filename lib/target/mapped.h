/* SPDX-License-Identifier: Apache-2.0 */
/* The libraries that a running process has mapped, and where their functions are in it. */
#ifndef GT_TARGET_MAPPED_H
#define GT_TARGET_MAPPED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A file that is mapped. */
struct gt_mapped {
	uint64_t device, inode;	/* as its mappings show them */
	char path[4096];	/* as we can open it */
};

/*
 * The library of this soname, or of a name like it (libc-2.31.so).  -ENOENT: it is
 * not mapped; the errors of opening /proc/PID/maps.  No gt_error() text.
 */
int gt_mapped_find(pid_t pid, const char *soname, struct gt_mapped *ret_mapped);

/* Is this address in a mapping of a library whose name begins so, or in the memory right behind it? */
bool gt_mapped_owns(pid_t pid, const char *name, uint64_t address);

/* Where a piece of a library's file is that is mapped as code; 0: it is not. */
uint64_t gt_mapped_place(pid_t pid, const struct gt_mapped *library, uint64_t offset);

/* Where an exported function is in the process; 0: in none of these libraries (NULL at the end). */
uint64_t gt_mapped_function(pid_t pid, const char *const *sonames, const char *function);

#endif
