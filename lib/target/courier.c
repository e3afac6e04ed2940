/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/courier.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/target/hijack.h"
#include "lib/target/mapped.h"
#include "lib/util/error.h"
#include "lib/util/proc_stat.h"
#include "lib/util/regular_file.h"

const char *const gt_courier_libraries[] = { "libc.so.6", "libpthread.so.0", "libdl.so.2", NULL };

/* The page that we share: zeros at first. */
struct shared {
	uint64_t turn;		/* enum turn */
	uint64_t function, args[6], result;
	uint64_t thread, munmap;
};
enum turn { TURN_OURS, TURN_CALL, TURN_LEAVE };
#define PAGE 4096
#define ROOM 2048

/*
 * What the borrowed thread runs: it makes the page and the new thread, with
 * pthread_create in rbp, the thread's code in r14 and munmap in r15, and leaves the page's address in r12
 * and pthread_create's result (or mmap's error) in r13.  Then the new thread's code,
 * whose only argument is the page.
 */
extern const uint8_t gt_courier_stub[], gt_courier_return[], gt_courier_thread[], gt_courier_end[];
__asm__(".pushsection .rodata\n"
	".globl gt_courier_stub, gt_courier_return, gt_courier_thread, gt_courier_end\n"
	".hidden gt_courier_stub, gt_courier_return, gt_courier_thread, gt_courier_end\n"
	"gt_courier_stub:\n"
	"	movl $9, %eax\n"		/* mmap */
	"	xorl %edi, %edi\n"
	"	movl $4096, %esi\n"
	"	movl $3, %edx\n"		/* PROT_READ | PROT_WRITE */
	"	movl $0x22, %r10d\n"		/* MAP_PRIVATE | MAP_ANONYMOUS */
	"	movq $-1, %r8\n"
	"	xorl %r9d, %r9d\n"
	"	syscall\n"
	"	movq %rax, %r12\n"
	"	movq %rax, %r13\n"
	"	cmpq $-4096, %rax\n"
	"	ja 1f\n"
	"	movq %r15, 80(%r12)\n"
	"	leaq 72(%r12), %rdi\n"
	"	xorl %esi, %esi\n"
	"	movq %r14, %rdx\n"
	"	movq %r12, %rcx\n"
	"	call *%rbp\n"
	"	movslq %eax, %r13\n"
	"1:	movl $15, %eax\n"		/* rt_sigreturn */
	"	syscall\n"
	"gt_courier_return:\n"
	"	jmp 1b\n"			/* we kept it from that call, to put everything back, and were killed */
	"gt_courier_thread:\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	subq $24, %rsp\n"
	"	movq %rdi, %rbx\n"
	"2:	movl $20000, %r12d\n"		/* times half a millisecond */
	"3:	movq (%rbx), %rax\n"
	"	cmpq $1, %rax\n"
	"	je 4f\n"
	"	cmpq $2, %rax\n"
	"	je 5f\n"
	"	movq $0, (%rsp)\n"
	"	movq $500000, 8(%rsp)\n"
	"	movl $35, %eax\n"		/* nanosleep */
	"	movq %rsp, %rdi\n"
	"	xorl %esi, %esi\n"
	"	syscall\n"
	"	decl %r12d\n"
	"	jnz 3b\n"
	"	jmp 5f\n"
	"4:	movq 16(%rbx), %rdi\n"
	"	movq 24(%rbx), %rsi\n"
	"	movq 32(%rbx), %rdx\n"
	"	movq 40(%rbx), %rcx\n"
	"	movq 48(%rbx), %r8\n"
	"	movq 56(%rbx), %r9\n"
	"	xorl %eax, %eax\n"
	"	call *8(%rbx)\n"
	"	movq %rax, 64(%rbx)\n"
	"	movq $0, (%rbx)\n"
	"	jmp 2b\n"
	"5:	movq 80(%rbx), %rax\n"		/* munmap, which returns to our caller: then nobody is here */
	"	movq %rbx, %rdi\n"
	"	movl $4096, %esi\n"
	"	addq $24, %rsp\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	jmp *%rax\n"
	"gt_courier_end:\n"
	".popsection\n");
_Static_assert(offsetof(struct shared, function) == 8 && offsetof(struct shared, args) == 16 &&
	       offsetof(struct shared, result) == 64 && offsetof(struct shared, thread) == 72 &&
	       offsetof(struct shared, munmap) == 80, "as the code has it");

static size_t code_size(void)
{
	return (size_t)(gt_courier_end - gt_courier_stub);
}

/* ---- memory ---- */

int gt_courier_get(const struct gt_courier *courier, uint64_t address, void *bytes, size_t size)
{
	struct iovec local = { bytes, size }, remote = { (void *)address, size };

	return process_vm_readv(gt_proc_thread(courier->pid), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 :
	       gt_error(-ESRCH, "process %d has ended, or its memory at %#" PRIx64 " cannot be read: %s",
			(int)courier->pid, address, strerror(errno));
}

int gt_courier_put(const struct gt_courier *courier, uint64_t address, const void *bytes, size_t size)
{
	struct iovec local = { (void *)(uintptr_t)bytes, size }, remote = { (void *)address, size };

	return process_vm_writev(gt_proc_thread(courier->pid), &local, 1, &remote, 1, 0) == (ssize_t)size ? 0 :
	       gt_error(-ESRCH, "process %d has ended, or its memory at %#" PRIx64 " cannot be written to: %s",
			(int)courier->pid, address, strerror(errno));
}

uint64_t gt_courier_room(const struct gt_courier *courier)
{
	return courier->page + ROOM;
}

/* ---- a place for the code: what is left of the last page of a library's code ---- */

static int is_supported(pid_t pid)
{
	char name[64];
	Elf64_Ehdr header = { 0 };
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/exe", gt_proc_thread(pid));
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return gt_error(-errno, "the program of process %d cannot be read: %s", (int)pid, strerror(errno));
	n = read(fd, &header, sizeof(header));
	close(fd);
	if (n != sizeof(header) || header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != EM_X86_64)
		return gt_error(-ENOEXEC, "process %d is not a 64-bit x86 program", (int)pid);
	return 0;
}

/* Where the executable segment of the file ends, as an offset in it; 0: not known. */
static uint64_t code_end(const char *path)
{
	int fd = gt_open_regular(AT_FDCWD, path, 0, 0);
	uint64_t end = 0;
	GElf_Phdr p;
	size_t count;
	Elf *elf;

	if (fd < 0)
		return 0;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && !elf_getphdrnum(elf, &count)) {
		for (size_t i = 0; i < count; i++) {
			if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && p.p_flags & PF_X)
				end = p.p_offset + p.p_filesz;
		}
	}
	elf_end(elf);
	close(fd);
	return end;
}

/*
 * Zeros, which are nobody's; or our code, which another courier may be running.  It
 * stays there, since whoever comes at the same time relies on it.
 */
static bool is_unused(const struct gt_courier *courier, uint64_t place)
{
	static const uint8_t zeros[512];
	uint8_t bytes[sizeof(zeros)];
	size_t size = code_size();

	return size <= sizeof(bytes) && !gt_courier_get(courier, place, bytes, size) &&
	       (!memcmp(bytes, zeros, size) || !memcmp(bytes, gt_courier_stub, size));
}

static uint64_t find_place(const struct gt_courier *courier)
{
	static const char *const libraries[] = {
		"libc.so.6", "libm.so.6", "libcuda.so.1", "libstdc++.so.6", "libpthread.so.0", "libdl.so.2",
		"libgcc_s.so.1", "librt.so.1", "ld-linux-x86-64.so.2",
	};
	struct gt_mapped library;

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		uint64_t end, place;

		if (gt_mapped_find(courier->pid, libraries[i], &library))
			continue;
		end = (code_end(library.path) + 15) & ~15ull;
		if (!end || PAGE - end % PAGE < code_size() || end % PAGE == 0)
			continue;
		place = gt_mapped_place(courier->pid, &library, end);
		if (place && is_unused(courier, place))
			return place;
	}
	return 0;
}

/* ---- sending ---- */

static int start_thread(struct gt_courier *courier, struct gt_hijack *hijack, uint64_t create, uint64_t unmap)
{
	uint64_t thread = courier->code + (uint64_t)(gt_courier_thread - gt_courier_stub);
	uint64_t end = courier->code + (uint64_t)(gt_courier_return - gt_courier_stub);
	uint64_t in[3] = { create, thread, unmap }, out[2];
	int r = gt_hijack_poke(hijack, courier->code, gt_courier_stub, code_size());

	if (!r)
		r = gt_hijack_run(hijack, courier->code, end, in, out);
	if (r)
		return r;
	if (out[1]) {
		r = gt_courier_error((int64_t)out[1] < 0 ? (int64_t)-out[1] : (int64_t)out[1]);
		return gt_error(r, "process %d may not have one more thread: %s", (int)courier->pid, strerror(-r));
	}
	courier->page = out[0];
	return 0;
}

/* Nobody has to wait for its end. */
static int detach_thread(struct gt_courier *courier)
{
	uint64_t args[6] = { 0 }, function = gt_mapped_function(courier->pid, gt_courier_libraries, "pthread_detach");
	int64_t result;
	int r = gt_courier_get(courier, courier->page + offsetof(struct shared, thread), &args[0], sizeof(args[0]));

	return r ? r : gt_courier_call(courier, function, args, 5000, &result);
}

struct borrowing {
	struct gt_courier *courier;
	bool copies;
	uint64_t create, unmap;
	int result;
	char text[1024];	/* of the error */
};

static void *borrow(void *data)
{
	struct borrowing *b = data;
	struct gt_hijack hijack;

	b->result = gt_hijack_begin(b->courier->pid, b->copies, &hijack);
	if (!b->result) {
		b->result = start_thread(b->courier, &hijack, b->create, b->unmap);
		gt_hijack_end(&hijack);
	}
	snprintf(b->text, sizeof(b->text), "%s", gt_error_text());
	return NULL;
}

/*
 * Who traces is a thread, and by a thread of our own that ends: a thread of the program's that waits in
 * the kernel cannot be let go of before it comes back, and would stop then for as long as its tracer lives.
 */
static int borrow_thread(struct borrowing *b)
{
	sigset_t all, before;
	pthread_t thread;
	int r;

	/* Signals are for the threads of whoever uses the library. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, NULL, borrow, b);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return gt_error(-r, "no thread: %s", strerror(r));
	pthread_join(thread, NULL);
	return b->result ? gt_error(b->result, "%s", b->text) : 0;
}

int gt_courier_send(pid_t pid, bool copies, struct gt_courier *courier)
{
	struct borrowing borrowing;
	uint64_t create, unmap;
	int r = is_supported(pid);

	*courier = (struct gt_courier){ .pid = pid };
	if (r)
		return r;
	create = gt_mapped_function(pid, gt_courier_libraries, "pthread_create");
	unmap = gt_mapped_function(pid, gt_courier_libraries, "munmap");
	if (!create || !unmap || !gt_mapped_function(pid, gt_courier_libraries, "dlopen"))
		return gt_error(-ENOEXEC, "nothing can be loaded into process %d: it is linked statically, or without the GNU C library",
				(int)pid);
	courier->code = find_place(courier);
	if (!courier->code)
		return gt_error(-ENOSPC, "no place was found in process %d for %zu bytes of code", (int)pid, code_size());
	borrowing = (struct borrowing){ .courier = courier, .copies = copies, .create = create, .unmap = unmap };
	r = borrow_thread(&borrowing);
	if (!r)
		r = detach_thread(courier);
	if (r)
		gt_courier_dismiss(courier);
	return r;
}

/* ---- calls ---- */

int gt_courier_start(struct gt_courier *courier, uint64_t function, const uint64_t args[6])
{
	struct shared shared = { .turn = TURN_OURS, .function = function };
	uint64_t turn = TURN_CALL;
	int r;

	memcpy(shared.args, args, sizeof(shared.args));
	r = gt_courier_put(courier, courier->page, &shared, offsetof(struct shared, thread));
	return r ? r : gt_courier_put(courier, courier->page, &turn, sizeof(turn));
}

int gt_courier_wait(struct gt_courier *courier, int64_t *ret_result)
{
	struct shared shared;
	int r = gt_courier_get(courier, courier->page, &shared, sizeof(shared));

	if (r)
		return r;
	if (shared.turn != TURN_OURS)
		return -EAGAIN;
	*ret_result = (int64_t)shared.result;
	return 0;
}

static void pause_briefly(void)
{
	static const struct timespec pause = { .tv_nsec = 200000 };

	nanosleep(&pause, NULL);
}

int gt_courier_call(struct gt_courier *courier, uint64_t function, const uint64_t args[6], int timeout_ms,
		    int64_t *ret_result)
{
	int r = gt_courier_start(courier, function, args);

	if (r)
		return r;
	for (int i = 0; i < timeout_ms * 5; i++) {
		r = gt_courier_wait(courier, ret_result);
		if (r != -EAGAIN)
			return r;
		pause_briefly();
	}
	return gt_error(-ETIMEDOUT, "a function that was called in process %d did not return in %d ms",
			(int)courier->pid, timeout_ms);
}

/* The page goes with the thread: its code is not needed any more. */
static bool has_left(const struct gt_courier *courier)
{
	struct iovec local, remote;
	uint64_t word;

	local = (struct iovec){ &word, sizeof(word) };
	remote = (struct iovec){ (void *)courier->page, sizeof(word) };
	return process_vm_readv(gt_proc_thread(courier->pid), &local, 1, &remote, 1, 0) != (ssize_t)sizeof(word);
}

void gt_courier_dismiss(struct gt_courier *courier)
{
	uint64_t turn = TURN_LEAVE;

	if (!courier->page || gt_courier_put(courier, courier->page, &turn, sizeof(turn)))
		return;
	for (int i = 0; i < 5000; i++) {
		if (has_left(courier))
			break;
		pause_briefly();
	}
	courier->page = 0;
}
