/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/hijack_place.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include <linux/ptrace.h>

#include "lib/target/hijack.h"
#include "lib/target/hijack_stop.h"
#include "lib/target/mapped.h"
#include "lib/util/error.h"
#include "lib/util/proc_stat.h"

/* What the kernel has in a register while a call that it will restart is interrupted. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

#define THREAD_PATIENCE_NS 100000000ull	/* for one of several */

/*
 * Neither malloc, nor the loader, nor pthread_create make these calls, so whoever is in
 * one of them is in none of those.
 */
static const short harmless[] = {
	SYS_poll, SYS_ppoll, SYS_select, SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait, SYS_nanosleep,
	SYS_clock_nanosleep, SYS_recvfrom, SYS_recvmsg, SYS_accept, SYS_accept4, SYS_wait4, SYS_waitid,
	SYS_pause, SYS_rt_sigsuspend,
};
/* The loader's reads do not wait. */
static const short patient[] = { SYS_read, SYS_readv };
/* The same for calls that must not be interrupted, but may be put off. */
static const short brief[] = {
	SYS_ioctl, SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sched_yield, SYS_clock_gettime,
	SYS_gettimeofday, SYS_getpid,
};

static bool is_in(const short *calls, size_t count, long number)
{
	for (size_t i = 0; i < count; i++) {
		if (calls[i] == number)
			return true;
	}
	return false;
}
#define IS_IN(calls, number) is_in(calls, sizeof(calls) / sizeof((calls)[0]), number)

#define HEAP (64ull << 20)	/* malloc's heaps begin at multiples of it, with their lock */

/* Whoever waits for a lock of the program's own holds none of those either. */
static bool is_foreign_lock(pid_t pid, uint64_t address)
{
	return address % HEAP >= 4096 && !gt_mapped_owns(pid, "libc.so", address) &&
	       !gt_mapped_owns(pid, "libc-", address) && !gt_mapped_owns(pid, "libpthread", address) &&
	       !gt_mapped_owns(pid, "ld-", address);
}

static bool may_borrow(pid_t pid, long number, uint64_t first_argument)
{
	return IS_IN(harmless, number) || (number == SYS_futex && is_foreign_lock(pid, first_argument));
}

/* Does the thread wait at such a place, as far as can be seen without stopping it? */
static bool looks_good(pid_t pid, pid_t tid)
{
	char name[64];
	uint64_t argument = 0;
	long number = -1;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
	file = fopen(name, "re");
	if (!file)
		return false;
	if (fscanf(file, "%ld %" SCNx64, &number, &argument) != 2)
		number = -1;
	fclose(file);
	return IS_IN(patient, number) || may_borrow(pid, number, argument);
}

static bool was_interrupted(const struct user_regs_struct *r)
{
	long result = (long)r->rax;

	return (long)r->orig_rax >= 0 &&
	       (result == -EINTR || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK));
}

static uint64_t status_mask(FILE *file, const char *name)
{
	char line[256];
	uint64_t mask = 0;

	rewind(file);
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, name, strlen(name)))
			mask = strtoull(line + strlen(name), NULL, 16);
	}
	return mask;
}

/* Was it a signal that will be delivered which ended its call? */
static bool has_signal(pid_t pid, pid_t tid)
{
	char name[64];
	uint64_t pending;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	file = fopen(name, "re");
	if (!file)
		return true;
	pending = (status_mask(file, "SigPnd:") | status_mask(file, "ShdPnd:")) & ~status_mask(file, "SigBlk:");
	fclose(file);
	return pending;
}

/* Stopped; is it at such a place? */
static bool is_good(struct gt_hijack *h)
{
	if (ptrace(PTRACE_GETREGS, h->tid, NULL, &h->registers) || !was_interrupted(&h->registers) ||
	    !(IS_IN(patient, (long)h->registers.orig_rax) ||
	      may_borrow(h->pid, (long)h->registers.orig_rax, h->registers.rdi)) || has_signal(h->pid, h->tid))
		return false;
	/* The kernel does not restart these when they were interrupted, but nobody was to notice. */
	if ((long)h->registers.rax == -EINTR)
		gt_stop_put_off(&h->registers);
	return true;
}

static bool seize(pid_t tid)
{
	return !ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
}

/* Is this the one?  1: yes; 0: no; -EAGAIN: there is no time for more. */
static int try_waiting(void *data, int tid)
{
	struct gt_hijack *h = data;

	if (gt_stop_now() >= h->deadline)
		return -EAGAIN;
	h->tid = tid;
	if (!looks_good(h->pid, tid) || !seize(tid))
		return 0;
	if (!gt_stop_interrupt(tid) && is_good(h))
		return 1;
	gt_stop_let_go(tid);
	return 0;
}

/* It waits in the kernel, where no request reaches it: until it comes back it would be ours, and then stop. */
static bool is_out_of_reach(pid_t tid)
{
	struct gt_proc_stat stat;

	return !gt_proc_stat_read(tid, &stat) && stat.state == 'D';
}

/* The same; let it run until it enters a call that can be put off. */
static int try_running(void *data, int tid)
{
	uint64_t deadline = gt_stop_now() + THREAD_PATIENCE_NS;
	struct gt_hijack *h = data;
	int status, signal = 0;

	if (gt_stop_now() >= h->deadline)
		return -EAGAIN;
	h->tid = tid;
	if (is_out_of_reach(tid) || !seize(tid) || gt_stop_interrupt(tid))
		return 0;
	for (;;) {
		struct ptrace_syscall_info info = { 0 };

		ptrace(PTRACE_SYSCALL, tid, NULL, (long)signal);
		status = gt_stop_wait(tid, deadline);
		if (status < 0)
			break;
		signal = gt_stop_is_event(status) || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
		if (WSTOPSIG(status) != (SIGTRAP | 0x80) ||
		    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY ||
		    !(may_borrow(h->pid, (long)info.entry.nr, info.entry.args[0]) ||
		      IS_IN(brief, (long)info.entry.nr)))
			continue;
		if (ptrace(PTRACE_GETREGS, tid, NULL, &h->registers))
			break;
		gt_stop_put_off(&h->registers);
		return 1;
	}
	if (status == -ETIMEDOUT)
		gt_stop_interrupt(tid);
	gt_stop_let_go(tid);
	return 0;
}

int gt_hijack_find(struct gt_hijack *h)
{
	static const struct timespec pause = { .tv_nsec = 1000000 };
	pid_t pid = h->pid;
	int r;

	for (;;) {
		r = gt_proc_each_thread(pid, try_waiting, h);
		if (!r)
			r = gt_proc_each_thread(pid, try_running, h);
		if (r || gt_stop_now() >= h->deadline)
			break;
		nanosleep(&pause, NULL);
	}
	if (r == -ENOENT)
		return gt_error(-ESRCH, "process %d ended", (int)pid);
	if (r < 0 && r != -EAGAIN)
		return gt_error(r, "the threads of process %d cannot be listed: %s", (int)pid, strerror(-r));
	if (r <= 0)
		return gt_error(-EAGAIN, "no thread of process %d came to a place where it can be borrowed in 5 s: they compute without a system call, or wait in the kernel",
				(int)pid);
	return 0;
}
