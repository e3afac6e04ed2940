/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_AGENT_CALL_STACK_H
#define GT_AGENT_CALL_STACK_H

#include <stddef.h>
#include <stdint.h>

struct gt_thread;

/*
 * The return addresses of a call of this thread that returns to `address`, where the
 * frame pointer is `frame_pointer` again; at most `max`, the caller's first.  Returns
 * how many.  Only the thread's own stack is looked at, whatever frame pointers say.
 */
unsigned gt_call_stack(struct gt_thread *thread, uint64_t address, uint64_t frame_pointer, uint64_t *frames,
		       unsigned max);

/* How many bytes, at most `max`, this thread's own stack has from an address on; 0: that is not on it. */
size_t gt_call_stack_bytes(struct gt_thread *thread, uint64_t sp, size_t max);

/* How much of this thread's own stack is left below the caller; 0: it is on another, or that is not known. */
size_t gt_call_stack_left(struct gt_thread *thread);

#endif
