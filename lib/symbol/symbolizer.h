/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SYMBOL_SYMBOLIZER_H
#define GT_SYMBOL_SYMBOLIZER_H

#include <stdint.h>

struct gputrace_symbolizer;

/*
 * A stack was met at that time (CLOCK_MONOTONIC ns): keep what its addresses need
 * to be resolved later, though the process may end and its files be deleted.
 * Failures show when an address is resolved.
 */
void gt_symbolizer_note(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
			const uint64_t *stack, unsigned count);

#endif
