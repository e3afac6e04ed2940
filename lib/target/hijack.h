/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowing a thread of a running process for a moment, by ptrace.  Only that
 * thread is stopped, and only where it holds no lock of the C library's and is
 * not in the dynamic loader; afterwards it goes on as if nothing had been, and
 * restarts the call that it was in.  It does so by itself if we are killed.
 */
#ifndef GT_TARGET_HIJACK_H
#define GT_TARGET_HIJACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct gt_hijack {
	pid_t pid, tid;
	uint64_t deadline;	/* CLOCK_MONOTONIC ns */
	struct user_regs_struct registers;	/* as they were, and as they shall be */
	uint64_t mask;		/* of blocked signals */
	void *vectors;		/* its vector registers */
	size_t vectors_size;
};

/*
 * Stop a thread at such a place; copies: see gt_seccomp_check().  With gt_error() text: -EPERM: not allowed to;
 * -ESRCH: no such process; -EBUSY: another tracer has it; -EAGAIN: no thread came to such a
 * place in time, or all are stopped; -ENOMEM.
 */
int gt_hijack_begin(pid_t pid, bool copies, struct gt_hijack *ret_hijack);

/* Write into the process's code.  -EFAULT with gt_error() text. */
int gt_hijack_poke(const struct gt_hijack *hijack, uint64_t address, const void *bytes, size_t size);

/*
 * Let the thread run code of ours, which has what `in` says in rbp, r14 and r15, and
 * ends with the system call rt_sigreturn, whose instruction is before `end`, without
 * having moved rsp.  What it has in r12 and r13 then.  With gt_error() text: -EFAULT: no
 * room on its stack; -ETIMEDOUT; -ESRCH: it has ended.
 */
int gt_hijack_run(struct gt_hijack *hijack, uint64_t code, uint64_t end, const uint64_t in[3],
		  uint64_t ret_out[2]);

/* Put everything back and let it go. */
void gt_hijack_end(struct gt_hijack *hijack);

#endif
