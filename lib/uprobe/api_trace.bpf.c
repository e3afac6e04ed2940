/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * One pair of programs for all functions of the driver: which one was called is
 * in the attach cookie.  A call is noted at entry on its thread's stack of
 * running calls and leaves as one record at return.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "lib/uprobe/api_record.h"
#include "lib/uprobe/api_flags.h"
#include "lib/uprobe/process_filter.bpf.h"
#include "lib/wire/stack.h"

/*
 * What the calling convention says.  At entry the caller's stack pointer is
 * CALLER_SP_OFFSET above ours, and so it is again after the return; arguments
 * that found no register begin there.
 */
#if defined(__TARGET_ARCH_x86)
#define REGS struct pt_regs
#define SP(regs) ((regs)->rsp)
#define RESULT(regs) ((regs)->rax)
#define RETURN_ADDRESS(regs) ({ \
	__u64 address = 0; \
	bpf_probe_read_user(&address, sizeof(address), (const void *)(regs)->rsp); \
	address; \
})
#define REGISTER_ARGS 6
#define CALLER_SP_OFFSET 8
#define COPY_REGISTER_ARGS(args, regs) do { \
	(args)[0] = (regs)->rdi; \
	(args)[1] = (regs)->rsi; \
	(args)[2] = (regs)->rdx; \
	(args)[3] = (regs)->rcx; \
	(args)[4] = (regs)->r8; \
	(args)[5] = (regs)->r9; \
} while (0)
#define STACK_REGISTERS(regs) { \
	.pc = (regs)->rip, .sp = (regs)->rsp, .rbx = (regs)->rbx, .rbp = (regs)->rbp, \
	.r12 = (regs)->r12, .r13 = (regs)->r13, .r14 = (regs)->r14, .r15 = (regs)->r15, \
}
#elif defined(__TARGET_ARCH_arm64)
#define REGS struct user_pt_regs
#define SP(regs) ((regs)->sp)
#define RESULT(regs) ((regs)->regs[0])
#define RETURN_ADDRESS(regs) ((regs)->regs[30])
#define REGISTER_ARGS 8
#define CALLER_SP_OFFSET 0
#define COPY_REGISTER_ARGS(args, regs) do { \
	(args)[0] = (regs)->regs[0]; \
	(args)[1] = (regs)->regs[1]; \
	(args)[2] = (regs)->regs[2]; \
	(args)[3] = (regs)->regs[3]; \
	(args)[4] = (regs)->regs[4]; \
	(args)[5] = (regs)->regs[5]; \
	(args)[6] = (regs)->regs[6]; \
	(args)[7] = (regs)->regs[7]; \
} while (0)
#define STACK_REGISTERS(regs) { .pc = 0 }	/* no copies are asked for */
#else
#error "no calling convention for this processor"
#endif

struct frame {
	__u64 caller_sp;
	struct gt_api_record call;
};

struct thread {
	__u32 pid, tid;
	__u64 depth;
	struct frame frames[GT_API_DEPTH_MAX];
	/* A record in the making that is to have a stack. */
	char record[sizeof(struct gt_api_record) + GT_API_STACK_MAX * sizeof(__u64)];
};

const volatile struct gt_api_config config SEC(".rodata.config");
struct gt_api_counters counters SEC(".data.counters");
static const struct thread no_calls;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);	/* the opener sets it */
} calls SEC(".maps");

/* Keyed by the thread id of the initial namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 32768);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

static void count_lost(void)
{
	__sync_fetch_and_add(&counters.lost, 1);
}

/* min(), where the compiler cannot see it and take it for superfluous: the verifier needs it. */
#define at_most(value, limit) ({ \
	__u64 bounded = (value); \
	asm volatile("if %0 <= %1 goto +1; %0 = %1" : "+r"(bounded) : "i"(limit)); \
	bounded; \
})

/* The reader looks by itself: waking it would cost the traced thread time. */
static void output(void *record, __u64 size)
{
	if (bpf_ringbuf_output(&calls, record, size, BPF_RB_NO_WAKEUP))
		count_lost();
}

/* Its size without a stack. */
static __u64 finish(struct gt_api_record *call)
{
	bpf_get_current_comm(call->comm, sizeof(call->comm));
	return sizeof(*call) - sizeof(call->args) +
	       at_most(call->arg_count, GT_API_ARGS_MAX) * sizeof(call->args[0]);
}

static void emit(struct gt_api_record *call)
{
	__u64 size = finish(call);

	output(call, size);
}

/*
 * The stack is taken at the return, where the caller's frame pointer is in its
 * register and the kernel has put the true return address back.  At the entry
 * of a function the frame pointer's chain leaves its caller out.
 */
static void emit_with_stack(struct thread *thread, struct gt_api_record *call, REGS *regs)
{
	__u64 size = finish(call), room = at_most(config.stack_frames, GT_API_STACK_MAX) * sizeof(__u64);
	long stack;

	__builtin_memcpy(thread->record, call, sizeof(*call));
	stack = bpf_get_stack(regs, thread->record + size, room, BPF_F_USER_STACK);
	if (stack > 0)
		size += at_most(stack, GT_API_STACK_MAX * sizeof(__u64));
	output(thread->record, size);
}

#define FIRST_STACK_MAX (128ull << 20)	/* nothing else lies so near below its end */
#define PAGES_MAX (GT_STACK_COPY_MAX / GT_API_PAGE + 2)

/* Where the stack ends that `sp` is on, or as many pages above it as are ever copied. */
static __u64 stack_end(__u64 sp)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	__u64 first = BPF_CORE_READ(task, mm, start_stack), page = sp & ~(GT_API_PAGE - 1ull);
	char byte;

	/* Above it are the program's arguments and its environment. */
	if (first > sp && first - sp < FIRST_STACK_MAX)
		return first;
	for (int i = 0; i < PAGES_MAX; i++) {
		page += GT_API_PAGE;
		if (bpf_probe_read_user(&byte, sizeof(byte), (const void *)page))
			break;
	}
	return page;
}

/* From `begin`, where the page begins that `sp` is in. */
static __u64 count_pages(__u64 sp, __u64 begin)
{
	__u64 end = stack_end(sp);

	if (end - sp > config.stack_bytes)
		end = sp + config.stack_bytes;
	return at_most((end - begin + GT_API_PAGE - 1) / GT_API_PAGE, PAGES_MAX);
}

#define RETURNS_MAX 64		/* the kernel's own limit */

/*
 * Where a function's return is watched, the kernel has put an address of its own in place
 * of the return address, in which no caller can be found: put them into the copy as they
 * were.  at: where in the record the copy is, which begins at `begin` and has `bytes`.
 */
static void mend_return_addresses(struct bpf_dynptr *record, __u64 at, __u64 begin, __u64 bytes)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	struct return_instance *watched;

	if (!bpf_core_field_exists(struct uprobe_task, return_instances) ||
	    !bpf_core_field_exists(struct return_instance, orig_ret_vaddr))
		return;
	watched = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < RETURNS_MAX && watched; i++) {
		__u64 offset = BPF_CORE_READ(watched, stack) - begin, address = BPF_CORE_READ(watched, orig_ret_vaddr);

		if (offset <= bytes - sizeof(address))
			bpf_dynptr_write(record, at + offset, &address, sizeof(address), 0);
		watched = BPF_CORE_READ(watched, next);
	}
}

static void emit_with_copy(struct gt_api_record *call, REGS *regs)
{
	struct gt_stack_registers registers = STACK_REGISTERS(regs);
	__u64 begin = registers.sp & ~(GT_API_PAGE - 1ull), pages = count_pages(registers.sp, begin);
	__u64 head = finish(call), at = head + sizeof(registers);
	struct bpf_dynptr record;

	if (bpf_ringbuf_reserve_dynptr(&calls, at + pages * GT_API_PAGE, 0, &record)) {
		bpf_ringbuf_discard_dynptr(&record, BPF_RB_NO_WAKEUP);
		count_lost();
		return;
	}
	bpf_dynptr_write(&record, 0, call, head, 0);
	bpf_dynptr_write(&record, head, &registers, sizeof(registers), 0);
	for (__u32 i = 0; i < PAGES_MAX && i < pages; i++) {
		__u64 offset = i * GT_API_PAGE;
		void *to = bpf_dynptr_data(&record, at + offset, GT_API_PAGE);

		if (to)
			bpf_probe_read_user(to, GT_API_PAGE, (const void *)(begin + offset));
	}
	if (pages)
		mend_return_addresses(&record, at, begin, pages * GT_API_PAGE);
	bpf_ringbuf_submit_dynptr(&record, BPF_RB_NO_WAKEUP);
}

/* A call that was left by longjmp or by the end of its thread. */
static void emit_unfinished(struct gt_api_record *call)
{
	call->leave = bpf_ktime_get_ns();
	call->result = ~0ull;
	call->flags = GT_API_CALL_UNFINISHED;
	emit(call);
}

static struct frame *frame_at(struct thread *thread, __u64 index)
{
	return &thread->frames[at_most(index, GT_API_DEPTH_MAX - 1)];
}

/* Take the calls off the top that ran on a part of the stack that has been given up. */
static void drop_left_calls(struct thread *thread, __u64 caller_sp)
{
	for (int i = 0; i < GT_API_DEPTH_MAX; i++) {
		struct frame *top;

		if (!thread->depth)
			break;
		top = frame_at(thread, thread->depth - 1);
		if (top->caller_sp >= caller_sp)
			break;
		thread->depth--;
		emit_unfinished(&top->call);
	}
}

/*
 * A call from the same place on the stack as the running one: either the running
 * one ended with a jump to this function, which then returns to the kernel's
 * trampoline, at the start of a page of its own; or it was left by longjmp.
 */
static bool left_for(struct thread *thread, __u64 caller_sp, REGS *regs)
{
	return thread->depth && frame_at(thread, thread->depth - 1)->caller_sp == caller_sp &&
	       RETURN_ADDRESS(regs) % 4096;
}

/*
 * Two files for us, but one for the operating system's kernel, such as what two
 * containers have from one layer of an image, bring us here twice for one call,
 * before its return is watched.
 */
static bool is_twin(struct thread *thread, __u64 caller_sp, __u64 cookie, REGS *regs)
{
	struct frame *top;

	if (!thread->depth)
		return false;
	top = frame_at(thread, thread->depth - 1);
	return top->caller_sp == caller_sp && top->call.function == GT_API_COOKIE_FUNCTION(cookie) &&
	       top->call.library != GT_API_COOKIE_LIBRARY(cookie) && RETURN_ADDRESS(regs) % 4096;
}

static struct thread *find_thread(__u32 pid, __u32 tid)
{
	__u32 key = (__u32)bpf_get_current_pid_tgid();
	struct thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (!thread) {
		bpf_map_update_elem(&threads, &key, &no_calls, BPF_NOEXIST);
		thread = bpf_map_lookup_elem(&threads, &key);
		if (!thread)
			return NULL;
	}
	if (thread->pid != pid || thread->tid != tid) {
		/* New, or left behind by a thread whose end was not seen. */
		thread->depth = 0;
		thread->pid = pid;
		thread->tid = tid;
	}
	return thread;
}

static void copy_stack_args(__u64 *args, __u32 count, const void *stack)
{
	__u64 rest = at_most(count - REGISTER_ARGS, GT_API_ARGS_MAX - REGISTER_ARGS);

	bpf_probe_read_user(args + REGISTER_ARGS, rest * sizeof(*args), stack);
}

SEC("uprobe")
int gt_api_enter(REGS *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u64 caller_sp = SP(regs) + CALLER_SP_OFFSET;
	__u32 arg_count = GT_API_COOKIE_ARGS(cookie);
	struct thread *thread;
	struct frame *frame;
	__u32 pid, tid;
	__u64 depth;

	current_ids(&pid, &tid);
	if (!watched(pid))
		return 0;
	thread = find_thread(pid, tid);
	if (!thread) {
		count_lost();
		return 0;
	}
	drop_left_calls(thread, caller_sp);
	if (is_twin(thread, caller_sp, cookie, regs))
		return 0;
	if (left_for(thread, caller_sp, regs))
		drop_left_calls(thread, caller_sp + 1);
	depth = thread->depth;
	if (depth >= GT_API_DEPTH_MAX) {
		count_lost();
		return 0;
	}
	frame = frame_at(thread, depth);
	thread->depth = depth + 1;
	frame->caller_sp = caller_sp;
	frame->call.pid = pid;
	frame->call.tid = tid;
	frame->call.function = GT_API_COOKIE_FUNCTION(cookie);
	frame->call.library = GT_API_COOKIE_LIBRARY(cookie);
	frame->call.depth = depth;
	frame->call.arg_count = arg_count;
	frame->call.flags = 0;
	COPY_REGISTER_ARGS(frame->call.args, regs);
	if (arg_count > REGISTER_ARGS)
		copy_stack_args(frame->call.args, arg_count, (const void *)caller_sp);
	frame->call.enter = bpf_ktime_get_ns();
	return 0;
}

SEC("uretprobe")
int gt_api_leave(REGS *regs)
{
	__u32 key = (__u32)bpf_get_current_pid_tgid();
	__u16 function = GT_API_COOKIE_FUNCTION(bpf_get_attach_cookie(regs));
	__u64 leave = bpf_ktime_get_ns();
	struct thread *thread;
	struct frame *frame;

	thread = bpf_map_lookup_elem(&threads, &key);
	if (!thread)
		return 0;
	drop_left_calls(thread, SP(regs));
	if (!thread->depth)
		return 0;
	frame = frame_at(thread, thread->depth - 1);
	/* Not so when the call began before it was watched, or found the stack full. */
	if (frame->caller_sp != SP(regs) || frame->call.function != function)
		return 0;
	thread->depth--;
	frame->call.leave = leave;
	frame->call.result = RESULT(regs);
	if (config.stack_bytes)
		emit_with_copy(&frame->call, regs);
	else if (config.stack_frames)
		emit_with_stack(thread, &frame->call, regs);
	else
		emit(&frame->call);
	return 0;
}

/* Argument: the task that ends, which is the current one. */
SEC("raw_tp/sched_process_exit")
int gt_task_exit(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (struct task_struct *)ctx->args[0];
	__u32 key = (__u32)bpf_get_current_pid_tgid();
	struct thread *thread = bpf_map_lookup_elem(&threads, &key);

	if (thread) {
		drop_left_calls(thread, ~0ull);
		bpf_map_delete_elem(&threads, &key);
	}
	forget_process(task);
	return 0;
}

char gt_license[] SEC("license") = "Dual BSD/GPL";
