/* SPDX-License-Identifier: Apache-2.0 */
/* Where a process has code: the executable lines of its /proc/PID/maps. */
#ifndef GT_UTIL_MAPPINGS_H
#define GT_UTIL_MAPPINGS_H

#include <stdint.h>
#include <stdio.h>

struct gt_mapping {
	uint64_t start, end;
	uint64_t offset;	/* in the file */
	uint64_t device, inode;	/* 0: no file */
	char *path;		/* "": memory without a name */
};

struct gt_mappings {
	struct gt_mapping *list;	/* ascending */
	unsigned count, room;
};

/* Replaces what is there, also on failure.  -ENOMEM; -EIO and the like: reading.  Lines that make no sense are skipped. */
int gt_mappings_read(struct gt_mappings *mappings, FILE *file);
/* NULL: nothing executable is there. */
const struct gt_mapping *gt_mappings_find(const struct gt_mappings *mappings, uint64_t address);
void gt_mappings_free(struct gt_mappings *mappings);

#endif
