/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/hijack.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "lib/target/mapped.h"
#include "lib/target/seccomp.h"
#include "lib/util/error.h"
#include "lib/util/proc_stat.h"

#define PATIENCE_NS 5000000000ull
#define THREAD_PATIENCE_NS 100000000ull	/* for one of several */
#define RED_ZONE 128

/* What the kernel has in a register while a call that it will restart is interrupted. */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- stops ---- */

/* Wait for the thread's next stop; its status, or -ETIMEDOUT, -ESRCH. */
static int wait_stop(pid_t tid, uint64_t deadline)
{
	static const struct timespec pause = { .tv_nsec = 50000 };

	for (;;) {
		int status;
		pid_t r = waitpid(tid, &status, __WALL | WNOHANG);

		if (r == tid)
			return WIFSTOPPED(status) ? status : -ESRCH;
		if (r < 0 && errno != EINTR)
			return -ESRCH;
		if (now() >= deadline)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
}

static bool is_event_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* Stop it where the kernel would deliver a signal, since there a system call is restarted. */
static int interrupt(pid_t tid)
{
	uint64_t deadline = now() + PATIENCE_NS;
	int status;

	for (;;) {
		if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
			return -errno;
		status = wait_stop(tid, deadline);
		if (status < 0 || is_event_stop(status))
			return status < 0 ? status : 0;
		/* Something else came first, which answers the request too: a signal is the program's. */
		ptrace(PTRACE_CONT, tid, NULL, status >> 8 == SIGTRAP || status >> 8 == (SIGTRAP | 0x80) ? 0L :
		       (long)WSTOPSIG(status));
	}
}

static void let_go(pid_t tid)
{
	ptrace(PTRACE_DETACH, tid, NULL, NULL);
}

/* ---- places where a thread may be borrowed ---- */

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

/* The call has not been made: it will be when the thread goes on. */
static void put_off(struct user_regs_struct *r)
{
	r->rip -= 2;
	r->rax = r->orig_rax;
	r->orig_rax = (unsigned long long)-1;
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
		put_off(&h->registers);
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

	if (now() >= h->deadline)
		return -EAGAIN;
	h->tid = tid;
	if (!looks_good(h->pid, tid) || !seize(tid))
		return 0;
	if (!interrupt(tid) && is_good(h))
		return 1;
	let_go(tid);
	return 0;
}

/* The same; let it run until it enters a call that can be put off. */
static int try_running(void *data, int tid)
{
	uint64_t deadline = now() + THREAD_PATIENCE_NS;
	struct gt_hijack *h = data;
	int status, signal = 0;

	if (now() >= h->deadline)
		return -EAGAIN;
	h->tid = tid;
	if (!seize(tid) || interrupt(tid))
		return 0;
	for (;;) {
		struct ptrace_syscall_info info = { 0 };

		ptrace(PTRACE_SYSCALL, tid, NULL, (long)signal);
		status = wait_stop(tid, deadline);
		if (status < 0)
			break;
		signal = is_event_stop(status) || WSTOPSIG(status) == (SIGTRAP | 0x80) ? 0 : WSTOPSIG(status);
		if (WSTOPSIG(status) != (SIGTRAP | 0x80) ||
		    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) <= 0 ||
		    info.op != PTRACE_SYSCALL_INFO_ENTRY ||
		    !(may_borrow(h->pid, (long)info.entry.nr, info.entry.args[0]) ||
		      IS_IN(brief, (long)info.entry.nr)))
			continue;
		if (ptrace(PTRACE_GETREGS, tid, NULL, &h->registers))
			break;
		put_off(&h->registers);
		return 1;
	}
	if (status == -ETIMEDOUT)
		interrupt(tid);
	let_go(tid);
	return 0;
}

/* ---- what is put back ---- */

static int save(struct gt_hijack *h)
{
	struct iovec vectors = { .iov_len = 64 * 1024 };

	vectors.iov_base = malloc(vectors.iov_len);
	if (!vectors.iov_base)
		return -ENOMEM;
	h->vectors = vectors.iov_base;
	if (ptrace(PTRACE_GETREGSET, h->tid, (void *)NT_X86_XSTATE, &vectors) ||
	    ptrace(PTRACE_GETSIGMASK, h->tid, (void *)sizeof(h->mask), &h->mask))
		return -errno;
	h->vectors_size = vectors.iov_len;
	return 0;
}

void gt_hijack_end(struct gt_hijack *h)
{
	struct iovec vectors = { h->vectors, h->vectors_size };

	if (h->vectors_size) {
		ptrace(PTRACE_SETREGSET, h->tid, (void *)NT_X86_XSTATE, &vectors);
		ptrace(PTRACE_SETSIGMASK, h->tid, (void *)sizeof(h->mask), &h->mask);
	}
	ptrace(PTRACE_SETREGS, h->tid, NULL, &h->registers);
	let_go(h->tid);
	free(h->vectors);
	h->vectors = NULL;
}

/* A field of its status, which the kernel writes so that no name can be taken for one. */
__attribute__((format(scanf, 2, 0)))
static void read_status(pid_t pid, const char *format, void *value)
{
	char name[64], line[256];
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, format, value);
	if (file)
		fclose(file);
}

static int tracer_of(pid_t pid)
{
	int tracer = 0;

	read_status(pid, "TracerPid: %d", &tracer);
	return tracer;
}

static bool is_stopped(pid_t pid)
{
	char state = 0;

	read_status(pid, "State: %c", &state);
	return state == 'T';
}

/* May it be traced?  Asked before anything is stopped. */
static int check_rights(pid_t pid)
{
	int tracer = tracer_of(pid), scope = 0, error = 0, fd;
	char name[64];
	FILE *file;

	if (tracer)
		return gt_error(-EBUSY, "process %d is traced by process %d (a debugger?): end that first", (int)pid, tracer);
	snprintf(name, sizeof(name), "/proc/%d/mem", gt_proc_thread(pid));
	fd = open(name, O_RDWR | O_CLOEXEC);
	error = fd < 0 ? errno : 0;
	if (fd >= 0)
		close(fd);
	if (!error)
		return 0;
	if (error == ENOENT)
		return gt_error(-ESRCH, "there is no process %d", (int)pid);
	file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	if (file && fscanf(file, "%d", &scope) != 1)
		scope = 0;
	if (file)
		fclose(file);
	if (scope)
		return gt_error(-EPERM, "process %d may not be traced: /proc/sys/kernel/yama/ptrace_scope is %d; run as root, or set it to 0",
				(int)pid, scope);
	return gt_error(-EPERM, "process %d may not be traced: it is another user's, or has changed its rights; run as root",
			(int)pid);
}

int gt_hijack_begin(pid_t pid, bool copies, struct gt_hijack *h)
{
	int r;

	*h = (struct gt_hijack){ .pid = pid, .deadline = now() + PATIENCE_NS };
	r = check_rights(pid);
	if (r)
		return r;
	if (is_stopped(pid))
		return gt_error(-EAGAIN, "process %d is stopped: let it go on (kill -CONT %d) first", (int)pid, (int)pid);
	do {
		r = gt_proc_each_thread(pid, try_waiting, h);
		if (!r)
			r = gt_proc_each_thread(pid, try_running, h);
	} while (!r && now() < h->deadline);
	if (r == -ENOENT)
		return gt_error(-ESRCH, "process %d ended", (int)pid);
	if (r < 0 && r != -EAGAIN)
		return gt_error(r, "the threads of process %d cannot be listed: %s", (int)pid, strerror(-r));
	if (r <= 0)
		return gt_error(-EAGAIN, "no thread of process %d came to a place where it can be borrowed in 5 s: it computes without a system call",
				(int)pid);
	r = save(h);
	if (r)
		gt_error(r, "the registers of process %d cannot be read: %s", (int)pid, strerror(-r));
	else
		r = gt_seccomp_check(h->tid, copies);
	if (r) {
		gt_hijack_end(h);
		return r;
	}
	h->deadline = now() + PATIENCE_NS;
	return 0;
}

int gt_hijack_poke(const struct gt_hijack *h, uint64_t address, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += sizeof(long)) {
		size_t n = size - i < sizeof(long) ? size - i : sizeof(long);
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, h->tid, (void *)(address + i), NULL);
		memcpy(&word, (const char *)bytes + i, n);
		if (errno || ptrace(PTRACE_POKEDATA, h->tid, (void *)(address + i), (void *)word))
			return gt_error(-EFAULT, "the code of process %d cannot be written to: %s", (int)h->pid,
					strerror(errno));
	}
	return 0;
}

/* ---- running code ---- */

/* What rt_sigreturn makes of the thread, should we not be there any more. */
struct frame {
	uint64_t code;
	ucontext_t context;
};
#define FRAME_BYTES 512
_Static_assert(offsetof(struct frame, context.uc_sigmask) + 8 <= FRAME_BYTES, "rt_sigframe");

static void fill_frame(const struct gt_hijack *h, struct frame *frame)
{
	struct user_regs_struct r = h->registers;
	greg_t *g = frame->context.uc_mcontext.gregs;

	/* A call that the kernel would restart is made anew. */
	if ((long)r.orig_rax >= 0)
		put_off(&r);
	memset(frame, 0, sizeof(*frame));
	frame->context.uc_flags = 6;		/* the stack segment is good */
	frame->context.uc_stack.ss_flags = 7;	/* nonsense: leave the signal stack as it is */
	memcpy(&frame->context.uc_sigmask, &h->mask, sizeof(h->mask));
	g[REG_R8] = (greg_t)r.r8;
	g[REG_R9] = (greg_t)r.r9;
	g[REG_R10] = (greg_t)r.r10;
	g[REG_R11] = (greg_t)r.r11;
	g[REG_R12] = (greg_t)r.r12;
	g[REG_R13] = (greg_t)r.r13;
	g[REG_R14] = (greg_t)r.r14;
	g[REG_R15] = (greg_t)r.r15;
	g[REG_RDI] = (greg_t)r.rdi;
	g[REG_RSI] = (greg_t)r.rsi;
	g[REG_RBP] = (greg_t)r.rbp;
	g[REG_RBX] = (greg_t)r.rbx;
	g[REG_RDX] = (greg_t)r.rdx;
	g[REG_RAX] = (greg_t)r.rax;
	g[REG_RCX] = (greg_t)r.rcx;
	g[REG_RSP] = (greg_t)r.rsp;
	g[REG_RIP] = (greg_t)r.rip;
	g[REG_EFL] = (greg_t)r.eflags;
	g[REG_CSGSFS] = (greg_t)(r.cs | r.ss << 48);
}

static int put_frame(const struct gt_hijack *h, uint64_t *ret_rsp)
{
	uint64_t rsp = ((h->registers.rsp - RED_ZONE - FRAME_BYTES) & ~15ull), at = rsp - 8;
	struct frame frame;
	struct iovec local = { &frame, offsetof(struct frame, context.uc_sigmask) + sizeof(h->mask) };
	struct iovec remote = { (void *)at, local.iov_len };
	char probe = 0;
	struct iovec local_probe = { &probe, 1 };
	struct iovec remote_probe = { (void *)(at - 8192), 1 };

	fill_frame(h, &frame);
	/* Room for what is called as well, without writing there. */
	if (process_vm_writev(h->tid, &local, 1, &remote, 1, 0) != (ssize_t)local.iov_len ||
	    process_vm_readv(h->tid, &local_probe, 1, &remote_probe, 1, 0) != 1)
		return gt_error(-EFAULT, "a thread of process %d has no room on its stack", (int)h->pid);
	*ret_rsp = rsp;
	return 0;
}

/* Let it run until it is about to make the system call before `end`. */
static int run_until(struct gt_hijack *h, uint64_t end)
{
	for (;;) {
		struct ptrace_syscall_info info = { 0 };
		int status;

		if (ptrace(PTRACE_SYSCALL, h->tid, NULL, NULL))
			return -ESRCH;
		status = wait_stop(h->tid, h->deadline);
		if (status < 0)
			return status;
		/* All signals are blocked, so this is one of its own making. */
		if (!is_event_stop(status) && WSTOPSIG(status) != (SIGTRAP | 0x80))
			return -EFAULT;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, h->tid, sizeof(info), &info) > 0 &&
		    info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_rt_sigreturn &&
		    info.instruction_pointer == end)
			return 0;
	}
}

/* It is about to make a system call: not this one, and on to a stop where calls are restarted. */
static int skip_call(struct gt_hijack *h, struct user_regs_struct *r)
{
	int status;

	r->orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, h->tid, NULL, r) || ptrace(PTRACE_INTERRUPT, h->tid, NULL, NULL) ||
	    ptrace(PTRACE_CONT, h->tid, NULL, NULL))
		return -ESRCH;
	status = wait_stop(h->tid, h->deadline);
	return status < 0 ? status : 0;
}

int gt_hijack_run(struct gt_hijack *h, uint64_t code, uint64_t end, const uint64_t in[3], uint64_t out[2])
{
	struct user_regs_struct r = h->registers;
	uint64_t all = ~0ull, rsp = 0;
	int error = put_frame(h, &rsp);

	if (error)
		return error;
	r.rsp = rsp;
	r.rip = code;
	r.rbp = in[0];
	r.r14 = in[1];
	r.r15 = in[2];
	r.eflags &= ~0x400ull;	/* the direction flag, as functions expect it */
	r.orig_rax = (unsigned long long)-1;
	/* In this order: whenever we are killed, it blocks no signals for good. */
	if (ptrace(PTRACE_SETREGS, h->tid, NULL, &r) ||
	    ptrace(PTRACE_SETSIGMASK, h->tid, (void *)sizeof(all), &all))
		return gt_error(-ESRCH, "process %d ended", (int)h->pid);
	error = run_until(h, end);
	if (error == -ETIMEDOUT)
		interrupt(h->tid);
	if (!error && ptrace(PTRACE_GETREGS, h->tid, NULL, &r))
		error = -ESRCH;
	if (!error) {
		out[0] = r.r12;
		out[1] = r.r13;
		error = skip_call(h, &r);
	}
	if (error)
		return gt_error(error, error == -ETIMEDOUT ? "a thread of process %d did not come back" :
				error == -EFAULT ? "a thread of process %d met an error in our code" :
				"process %d ended", (int)h->pid);
	return 0;
}
