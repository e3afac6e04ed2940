/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping a thread by ptrace, and letting it go on. */
#ifndef GT_TARGET_HIJACK_STOP_H
#define GT_TARGET_HIJACK_STOP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#define GT_STOP_PATIENCE_NS 5000000000ull

/* CLOCK_MONOTONIC ns. */
uint64_t gt_stop_now(void);

/* Wait for the thread's next stop; its status, or -ETIMEDOUT, -ESRCH. */
int gt_stop_wait(pid_t tid, uint64_t deadline);
bool gt_stop_is_event(int status);

/* Stop it where the kernel would deliver a signal, since there a system call is restarted.  -errno. */
int gt_stop_interrupt(pid_t tid);
void gt_stop_let_go(pid_t tid);

/* The call has not been made: it will be when the thread goes on. */
void gt_stop_put_off(struct user_regs_struct *registers);

#endif
