/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/hijack.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "lib/target/hijack_place.h"
#include "lib/target/hijack_stop.h"
#include "lib/target/seccomp.h"
#include "lib/util/error.h"
#include "lib/util/proc_stat.h"

#define RED_ZONE 128

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
	gt_stop_let_go(h->tid);
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

	*h = (struct gt_hijack){ .pid = pid, .deadline = gt_stop_now() + GT_STOP_PATIENCE_NS };
	r = check_rights(pid);
	if (r)
		return r;
	if (is_stopped(pid))
		return gt_error(-EAGAIN, "process %d is stopped: let it go on (kill -CONT %d) first", (int)pid, (int)pid);
	r = gt_hijack_find(h);
	if (r)
		return r;
	r = save(h);
	if (r)
		gt_error(r, "the registers of process %d cannot be read: %s", (int)pid, strerror(-r));
	else
		r = gt_seccomp_check(h->tid, copies);
	if (r) {
		gt_hijack_end(h);
		return r;
	}
	h->deadline = gt_stop_now() + GT_STOP_PATIENCE_NS;
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
		gt_stop_put_off(&r);
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
		status = gt_stop_wait(h->tid, h->deadline);
		if (status < 0)
			return status;
		/* All signals are blocked, so this is one of its own making. */
		if (!gt_stop_is_event(status) && WSTOPSIG(status) != (SIGTRAP | 0x80))
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
	status = gt_stop_wait(h->tid, h->deadline);
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
		gt_stop_interrupt(h->tid);
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
