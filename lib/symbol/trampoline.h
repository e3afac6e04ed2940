/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code through which Python calls each of its functions with -X perf: one copy for
 * every function, all alike, so that one that was read serves for others when the
 * process has ended.
 */
#ifndef GT_SYMBOL_TRAMPOLINE_H
#define GT_SYMBOL_TRAMPOLINE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/symbol/perf_map.h"

#define GT_TRAMPOLINE_MAX 64	/* bytes; it has about 16 */

struct gt_trampoline {
	uint8_t code[GT_TRAMPOLINE_MAX];
	size_t size;		/* 0: not known */
};

/* Read one of those that the map names out of the process, if it can be had. */
void gt_trampoline_learn(struct gt_trampoline *trampoline, const struct gt_perf_map *map, int pid);

/* What is at an address in the code of this name, NULL if that is none, and behind it; how many bytes, at most `size`. */
size_t gt_trampoline_read(const struct gt_trampoline *trampoline, const struct gt_perf_entry *entry, uint64_t address,
			  uint8_t *code, size_t size);

#endif
