/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/seccomp.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>

#include "lib/util/error.h"

#define FILTERS_MAX 64
#define MEMORY_WORDS BPF_MEMWORDS

/* ---- classic BPF, as the kernel runs it over struct seccomp_data ---- */

struct machine {
	uint32_t a, x, memory[MEMORY_WORDS];
	const struct seccomp_data *data;
};

static uint32_t load_data(const struct machine *m, uint32_t at)
{
	uint32_t word = 0;

	if (at <= sizeof(*m->data) - sizeof(word))
		memcpy(&word, (const char *)m->data + at, sizeof(word));
	return word;
}

static uint32_t alu(uint32_t a, uint32_t b, unsigned operation)
{
	switch (operation) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default:
		return -a;	/* BPF_NEG */
	}
}

static bool compare(uint32_t a, uint32_t b, unsigned operation)
{
	switch (operation) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b;	/* BPF_JSET */
	}
}

static void load(struct machine *m, uint32_t *to, const struct sock_filter *i)
{
	switch (BPF_MODE(i->code)) {
	case BPF_ABS:
		*to = load_data(m, i->k);
		break;
	case BPF_MEM:
		*to = m->memory[i->k % MEMORY_WORDS];
		break;
	case BPF_LEN:
		*to = sizeof(*m->data);
		break;
	default:
		*to = i->k;
	}
}

/* The filter's answer; a filter that the kernel would not have taken forbids everything. */
static uint32_t run(const struct sock_filter *filter, size_t length, const struct seccomp_data *data)
{
	struct machine m = { .data = data };

	for (size_t at = 0; at < length; at++) {
		const struct sock_filter *i = &filter[at];
		uint32_t operand = BPF_SRC(i->code) == BPF_X ? m.x : i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			load(&m, &m.a, i);
			break;
		case BPF_LDX:
			load(&m, &m.x, i);
			break;
		case BPF_ST:
			m.memory[i->k % MEMORY_WORDS] = m.a;
			break;
		case BPF_STX:
			m.memory[i->k % MEMORY_WORDS] = m.x;
			break;
		case BPF_ALU:
			m.a = alu(m.a, operand, BPF_OP(i->code));
			break;
		case BPF_JMP:
			if (BPF_OP(i->code) == BPF_JA)
				at += i->k;
			else
				at += compare(m.a, operand, BPF_OP(i->code)) ? i->jt : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
		default:
			if (BPF_MISCOP(i->code) == BPF_TAX)
				m.x = m.a;
			else
				m.a = m.x;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* ---- what the agent needs ---- */

static const struct call {
	int number;
	const char *name;
	uint64_t args[6];
	bool may_fail;	/* there is another way, or it can be done without */
} calls[] = {
	{ SYS_mmap, "mmap", { 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1 }, false },
	{ SYS_mmap, "mmap of a file", { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3 }, false },
	{ SYS_mmap, "mmap of shared memory", { 0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 3 }, false },
	{ SYS_mprotect, "mprotect", { 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC }, false },
	{ SYS_munmap, "munmap", { 4096, 4096 }, false },
	{ SYS_brk, "brk", { 0 }, true },
	{ SYS_mremap, "mremap", { 4096, 4096, 8192, MREMAP_MAYMOVE }, true },
	{ SYS_clone, "clone", { 0x3d0f00 }, false },
	{ SYS_clone3, "clone3", { 4096, 88 }, true },
	{ SYS_rseq, "rseq", { 4096, 32 }, true },
	{ SYS_set_robust_list, "set_robust_list", { 4096, 24 }, true },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", { 2, 0, 4096, 8 }, false },
	{ SYS_rt_sigreturn, "rt_sigreturn", { 0 }, false },
	{ SYS_sigaltstack, "sigaltstack", { 0, 4096 }, true },
	{ SYS_madvise, "madvise", { 4096, 4096, MADV_DONTNEED }, true },
	{ SYS_membarrier, "membarrier", { MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED }, true },
	{ SYS_membarrier, "membarrier", { MEMBARRIER_CMD_PRIVATE_EXPEDITED }, true },
	{ SYS_exit, "exit", { 0 }, false },
	{ SYS_futex, "futex", { 4096, 128 }, false },
	{ SYS_nanosleep, "nanosleep", { 4096 }, false },
	{ SYS_clock_nanosleep, "clock_nanosleep", { 1, 0, 4096 }, false },
	{ SYS_openat, "openat", { (uint64_t)-100, 4096 }, false },
	{ SYS_read, "read", { 3, 4096, 832 }, false },
	{ SYS_newfstatat, "newfstatat", { 3, 4096, 4096, 0x1000 }, false },
	{ SYS_close, "close", { 3 }, false },
	{ SYS_memfd_create, "memfd_create", { 4096, 1 }, false },
	{ SYS_socketpair, "socketpair", { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC }, false },
	{ SYS_setsockopt, "setsockopt", { 3, SOL_SOCKET, SO_SNDTIMEO, 4096, 16 }, true },
	{ SYS_sendto, "sendto", { 3, 4096, 64, MSG_NOSIGNAL }, false },
	{ SYS_recvfrom, "recvfrom", { 3, 4096, 64, MSG_DONTWAIT }, false },
	{ SYS_recvmsg, "recvmsg", { 3, 4096, MSG_DONTWAIT }, false },
	{ SYS_poll, "poll", { 4096, 1, 50 }, false },
	{ SYS_shutdown, "shutdown", { 3, SHUT_RD }, true },
	{ SYS_fcntl, "fcntl", { 3, 1034 }, false },
	{ SYS_gettid, "gettid", { 0 }, false },
	{ SYS_getpid, "getpid", { 0 }, false },
	/* Where a thread's stack lies. */
	{ SYS_prlimit64, "prlimit64", { 0, RLIMIT_STACK, 0, 4096 }, true },
	{ SYS_sched_getaffinity, "sched_getaffinity", { 4096, 32, 4096 }, true },
};

/* For GPUTRACE_LIVE_COPIES. */
static const struct call copies_call = {
	SYS_process_vm_readv, "process_vm_readv", { 4096, 4096, 1, 4096, 1, 0 }, true
};

static bool is_allowed(const struct call *call, uint32_t answer)
{
	uint32_t action = answer & SECCOMP_RET_ACTION_FULL;

	return action == SECCOMP_RET_ALLOW || action == SECCOMP_RET_LOG ||
	       (call->may_fail && action == SECCOMP_RET_ERRNO);
}

static int check_call(const struct sock_filter *filter, size_t length, const struct call *call)
{
	struct seccomp_data data = { .nr = call->number, .arch = AUDIT_ARCH_X86_64 };

	memcpy(data.args, call->args, sizeof(data.args));
	if (is_allowed(call, run(filter, length, &data)))
		return 0;
	return gt_error(-EPERM, "the process's seccomp filter does not let it call %s, which the agent needs", call->name);
}

static int check_filter(const struct sock_filter *filter, size_t length, bool copies)
{
	int r = copies ? check_call(filter, length, &copies_call) : 0;

	for (size_t i = 0; !r && i < sizeof(calls) / sizeof(calls[0]); i++)
		r = check_call(filter, length, &calls[i]);
	return r;
}

static int mode_of(pid_t tid)
{
	char name[64], line[256];
	int mode = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/status", (int)tid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "Seccomp: %d", &mode);
	if (file)
		fclose(file);
	return mode;
}

int gt_seccomp_check(pid_t tid, bool copies)
{
	int mode = mode_of(tid), r = 0;
	struct sock_filter *filter;

	if (!mode)
		return 0;
	if (mode != SECCOMP_MODE_FILTER)
		return gt_error(-EPERM, "the process is in seccomp's strict mode: nothing can be loaded into it");
	filter = malloc(BPF_MAXINSNS * sizeof(*filter));
	if (!filter)
		return gt_error(-ENOMEM, "out of memory");
	for (long i = 0; !r && i < FILTERS_MAX; i++) {
		long length = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, (void *)i, filter);

		if (length < 0 && errno == ENOENT)
			break;
		if (length < 0 || length > BPF_MAXINSNS)
			r = gt_error(-EPERM, "the process has a seccomp filter, which cannot be read (%s), so it is not known whether the agent would be the process's end: run as root",
				     strerror(errno));
		else
			r = check_filter(filter, (size_t)length, copies);
	}
	free(filter);
	return r;
}
