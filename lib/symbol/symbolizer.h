/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_SYMBOL_SYMBOLIZER_H
#define GT_SYMBOL_SYMBOLIZER_H

#include <stdint.h>

struct gputrace_symbolizer;
struct gt_place;
struct gt_symbol_process;

/*
 * A stack was met at that time (CLOCK_MONOTONIC ns): keep what its addresses need
 * to be resolved later, though the process may end and its files be deleted.
 * Failures show when an address is resolved.
 */
void gt_symbolizer_note(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
			const uint64_t *stack, unsigned count);

/* A process runs, which will be asked about: what it has mapped is known then, should it end before. */
void gt_symbolizer_meet(struct gputrace_symbolizer *symbolizer, int pid);

/*
 * A place in the code of whoever had the process's number then, and that process.
 * Valid until the next call.  NULL: no memory.
 */
struct gt_place *gt_symbolizer_place(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
				     uint64_t address, struct gt_symbol_process **ret_process);

#endif
