/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code that a program made while it ran: what it wrote into /tmp/perf-PID.map. */
#ifndef GT_SYMBOL_PERF_MAP_H
#define GT_SYMBOL_PERF_MAP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct gt_perf_entry {
	uint64_t start, size;
	uint64_t order;		/* a later one took the memory over */
	char *name;
};

#define GT_PERF_ENTRIES_MAX (1u << 21)

struct gt_perf_map {
	struct gt_perf_entry *list;
	unsigned count, room;
	unsigned sorted;	/* so many are in order; the few behind them are as they came */
	off_t taken;		/* bytes of the file that are in the list */
	char head[64];		/* the first of them */
	size_t head_size;
	bool full;		/* nothing more is taken in */
};

/*
 * Take in what the file has gained since the last time, up to a number of bytes and of
 * lines: it is the program's, who may make it as large as it likes.  One that begins
 * otherwise than it did replaces all.  -ENOMEM, the errors of read(2).
 */
int gt_perf_map_read(struct gt_perf_map *map, int fd);
/* NULL: no name for the address. */
const struct gt_perf_entry *gt_perf_map_find(struct gt_perf_map *map, uint64_t address);
void gt_perf_map_free(struct gt_perf_map *map);

#endif
