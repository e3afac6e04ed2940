/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's stack as it was when a call returned, sent to the controller, which
 * finds the callers in it.
 */
#ifndef GT_WIRE_STACK_H
#define GT_WIRE_STACK_H

#include <stdint.h>

/* What the caller finds in its registers, those that functions keep; copied bytes are those from sp on. */
struct gt_stack_registers {
	uint64_t pc;		/* where the call returned to */
	uint64_t sp;		/* behind the return address */
	uint64_t rbx, rbp, r12, r13, r14, r15;
};

#define GT_STACK_COPY_MAX 61440u	/* bytes of a copy, so that a record holds it */

#endif
