/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/hijack_stop.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

uint64_t gt_stop_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int gt_stop_wait(pid_t tid, uint64_t deadline)
{
	static const struct timespec pause = { .tv_nsec = 50000 };

	for (;;) {
		int status;
		pid_t r = waitpid(tid, &status, __WALL | WNOHANG);

		if (r == tid)
			return WIFSTOPPED(status) ? status : -ESRCH;
		if (r < 0 && errno != EINTR)
			return -ESRCH;
		if (gt_stop_now() >= deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

bool gt_stop_is_event(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

int gt_stop_interrupt(pid_t tid)
{
	uint64_t deadline = gt_stop_now() + GT_STOP_PATIENCE_NS;
	int status;

	for (;;) {
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
			return -errno;
		status = gt_stop_wait(tid, deadline);
		if (status < 0 || gt_stop_is_event(status))
			return status < 0 ? status : 0;
		/* Something else came first, which answers the request too: a signal, SIGTRAP as well, is the program's. */
		ptrace(PTRACE_CONT, tid, NULL, WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0L : (long)WSTOPSIG(status));
	}
}

void gt_stop_let_go(pid_t tid)
{
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

void gt_stop_put_off(struct user_regs_struct *r)
{
	r->rip -= 2;
	r->rax = r->orig_rax;
	r->orig_rax = (unsigned long long)-1;
}
