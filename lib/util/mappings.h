/* SPDX-License-Identifier: Apache-2.0 */
/* What a process has mapped: /proc/PID/maps. */
#ifndef GT_UTIL_MAPPINGS_H
#define GT_UTIL_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct gt_mapping {
	uint64_t start, end;
	uint64_t offset;	/* in the file */
	uint64_t device, inode;	/* 0: no file */
	bool executable;
	bool from_event;	/* of the kernel, not from /proc: device may be that of a file below an overlay's */
	char *path;		/* in the process's own view; "": memory without a name */
};

struct gt_mappings {
	struct gt_mapping *list;	/* ascending */
	unsigned count, room;
};

/* Replaces what is there, also on failure.  -ENOMEM; -EIO and the like: reading.  Lines that make no sense are skipped. */
int gt_mappings_read(struct gt_mappings *mappings, FILE *file);
/* The same of a running process; the errors of opening the file, too. */
int gt_mappings_of_process(struct gt_mappings *mappings, int pid);
/* The executable one; NULL: nothing executable is there. */
const struct gt_mapping *gt_mappings_find(const struct gt_mappings *mappings, uint64_t address);
void gt_mappings_free(struct gt_mappings *mappings);

/*
 * Is it a file of the library of that soname?  Its name may have a longer number, or
 * the number elsewhere: libcuda.so.550.54 for libcuda.so.1, libc-2.31.so for libc.so.6.
 */
bool gt_mapping_is_library(const struct gt_mapping *mapping, const char *soname);

#endif
