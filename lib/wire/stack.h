/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's stack as it was when a call returned, sent to the controller, which
 * finds the callers in it.
 */
#ifndef GT_WIRE_STACK_H
#define GT_WIRE_STACK_H

/*
 * What the caller finds in its registers, those that functions keep; copied bytes are
 * those from sp on.  Without <stdint.h>, which programs for the operating system's
 * kernel do not have.
 */
struct gt_stack_registers {
	unsigned long long pc;		/* where the call returned to */
	unsigned long long sp;		/* behind the return address */
	unsigned long long rbx, rbp, r12, r13, r14, r15;
};

#define GT_STACK_COPY_MAX 61440u	/* bytes of a copy, so that a record holds it */

#endif
