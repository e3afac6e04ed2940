/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_AGENT_CALL_STACK_H
#define GT_AGENT_CALL_STACK_H

#include <stdint.h>

struct gt_thread;

/*
 * The return addresses of a call of this thread that returns to `address`, where the
 * frame pointer is `frame_pointer` again; at most `max`, the caller's first.  Returns
 * how many.  Only the thread's own stack is looked at, whatever frame pointers say.
 */
unsigned gt_call_stack(struct gt_thread *thread, uint64_t address, uint64_t frame_pointer, uint64_t *frames,
		       unsigned max);

#endif
