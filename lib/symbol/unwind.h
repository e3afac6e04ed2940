/* SPDX-License-Identifier: Apache-2.0 */
/* The callers in a copy of a thread's stack. */
#ifndef GT_SYMBOL_UNWIND_H
#define GT_SYMBOL_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "lib/wire/stack.h"

struct gputrace_symbolizer;

#define GT_UNWIND_FRAMES 1024u	/* most that are asked for */

/*
 * Of a call that process `pid` made at `time` (CLOCK_MONOTONIC ns): where it and its
 * callers return to, the caller's first, at most `max`; `bytes`: the stack from
 * registers->sp on.  What they need to be resolved later is kept, as by
 * gt_symbolizer_note().  Returns how many, at least one if max is, and in *ret_end
 * (enum gputrace_stack_end) why they are no more.
 */
unsigned gt_symbolizer_unwind(struct gputrace_symbolizer *symbolizer, int pid, uint64_t time,
			      const struct gt_stack_registers *registers, const uint8_t *bytes, size_t size,
			      uint64_t *frames, unsigned max, int *ret_end);

#endif
