/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <string.h>

#include "lib/agent/agent.h"
#include "lib/agent/call/call.h"
#include "lib/agent/call/stack.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/thread.h"

#define REGISTER_ARGS 6

/* The thunk's frame, upwards from where its stack pointer stands when it calls us. */
struct frame {
	struct gt_copy *copy;	/* that the call makes; NULL: none that is recorded */
	uint64_t unused;
	uint64_t enter;		/* CLOCK_MONOTONIC ns; 0: not recorded */
	const struct gt_call_site *site;
	uint64_t args[REGISTER_ARGS];
	uint64_t caller_rbp, return_address;
	uint64_t stack_args[];
};

/* The caller's registers that functions keep, as the assembly puts them down. */
struct kept {
	uint64_t rbx, r12, r13, r14, r15;
};

_Static_assert(offsetof(struct gt_call_site, target) == 0 &&
	       offsetof(struct gt_call_site, stack_words) == 8 &&
	       offsetof(struct frame, caller_rbp) == 80, "what the assembly relies on");

/*
 * A frame of its own, so that whoever walks the stack finds his way through it, and
 * a copy of the arguments on the stack, since they must lie at its end.
 */
asm(".text\n"
    ".hidden gt_call_thunk\n"
    ".globl gt_call_thunk\n"
    ".type gt_call_thunk, @function\n"
    ".balign 16\n"
    "gt_call_thunk:\n"
    "	.cfi_startproc\n"
    "	push %rbp\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset %rbp, -16\n"
    "	mov %rsp, %rbp\n"
    "	.cfi_def_cfa_register %rbp\n"
    "	push %r9\n"
    "	push %r8\n"
    "	push %rcx\n"
    "	push %rdx\n"
    "	push %rsi\n"
    "	push %rdi\n"
    "	push %r11\n"
    "	push $0\n"
    "	push $0\n"
    "	push $0\n"
    "	mov %rsp, %rdi\n"
    "	call gt_call_enter\n"
    "	mov -56(%rbp), %r11\n"
    "	mov 8(%r11), %rcx\n"
    "	mov %rcx, %rax\n"
    "	and $1, %eax\n"
    "	shl $3, %eax\n"
    "	sub %rax, %rsp\n"		/* the end of the arguments is a multiple of 16 */
    "	test %rcx, %rcx\n"
    "	jz 2f\n"
    "1:	push 8(%rbp,%rcx,8)\n"
    "	dec %rcx\n"
    "	jnz 1b\n"
    "2:	mov -48(%rbp), %rdi\n"
    "	mov -40(%rbp), %rsi\n"
    "	mov -32(%rbp), %rdx\n"
    "	mov -24(%rbp), %rcx\n"
    "	mov -16(%rbp), %r8\n"
    "	mov -8(%rbp), %r9\n"
    "	call *(%r11)\n"
    "	lea -80(%rbp), %rdi\n"
    "	mov %rax, %rsi\n"
    "	push $0\n"			/* so that it stays a multiple of 16 */
    "	push %r15\n"
    "	push %r14\n"
    "	push %r13\n"
    "	push %r12\n"
    "	push %rbx\n"
    "	mov %rsp, %rdx\n"
    "	call gt_call_leave\n"
    "	leave\n"
    "	.cfi_def_cfa %rsp, 8\n"
    "	ret\n"
    "	.cfi_endproc\n"
    ".size gt_call_thunk, . - gt_call_thunk\n");

void gt_call_enter(struct frame *frame);
uint64_t gt_call_leave(const struct frame *frame, uint64_t result, const struct kept *kept);

static void copy_args(const struct frame *frame, uint64_t *args)
{
	uint32_t count = frame->site->arg_count;
	uint32_t in_registers = count < REGISTER_ARGS ? count : REGISTER_ARGS;

	for (uint32_t i = 0; i < in_registers; i++)
		args[i] = frame->args[i];
	for (uint32_t i = in_registers; i < count; i++)
		args[i] = frame->stack_args[i - REGISTER_ARGS];
}

static void begin_copy(struct frame *frame)
{
	uint64_t args[GT_CALL_ARGS];

	copy_args(frame, args);
	frame->copy = gt_copy_begin(&frame->site->copy, args);
}

static void end_copy(const struct frame *frame, uint64_t leave, uint64_t result)
{
	uint64_t args[GT_CALL_ARGS];

	copy_args(frame, args);
	gt_copy_end(frame->copy, &frame->site->copy, args, leave, (CUresult)result);
}

static bool is_recorded(const struct gt_call_site *site)
{
	return site->level <= atomic_load_explicit(&gt_call_level, memory_order_relaxed);
}

/* What the driver calls while the agent is at work, or in a call that the agent handles, is not the program's. */
__attribute__((used)) void gt_call_enter(struct frame *frame)
{
	if (gt_is_inside() || !atomic_load_explicit(&gt_active, memory_order_relaxed))
		return;
	if (is_recorded(frame->site))
		frame->enter = gt_thread_now();
	if (frame->site->copy.shape != GT_SHAPE_NONE && atomic_load_explicit(&gt_calls_copy, memory_order_relaxed))
		begin_copy(frame);
}

struct record {
	struct gt_rec_call call;
	uint64_t words[GT_CALL_WITHIN_WORDS + GT_CALL_ARGS + GT_CALL_FRAMES];
};

_Static_assert(sizeof(struct record) + sizeof(struct gt_stack_registers) + GT_STACK_COPY_MAX <= GT_RECORD_MAX_PAYLOAD &&
	       sizeof(struct gt_stack_registers) <= GT_CALL_FRAMES * sizeof(uint64_t), "the longest record");

/* All but the stack; returns the record's bytes, a multiple of 8. */
static size_t put_call(struct gt_thread *thread, const struct frame *frame, uint64_t leave, uint64_t result,
		       struct record *record)
{
	const struct gt_call_site *site = frame->site;
	uint64_t range = gt_thread_range(), external = gt_thread_external(), *words = record->words;

	record->call = (struct gt_rec_call){
		.enter = frame->enter,
		.leave = leave,
		.result = result,
		.function = site->function,
		.tid = thread->tid,
		.arg_count = (uint8_t)site->arg_count,
		.within = range || external,
	};
	if (range || external) {
		*words++ = range;
		*words++ = external;
	}
	copy_args(frame, words);
	return (size_t)((uint8_t *)(words + site->arg_count) - (uint8_t *)record);
}

/* With the return addresses, if they are wanted. */
static size_t put_frames(struct gt_thread *thread, const struct frame *frame, uint64_t leave, uint64_t result,
			 struct record *record)
{
	size_t size = put_call(thread, frame, leave, result, record);
	uint64_t *frames = (void *)((uint8_t *)record + size);
	unsigned count = gt_call_stack(thread, frame->return_address, frame->caller_rbp, frames, gt_session.stack_frames);

	record->call.stack_count = (uint16_t)count;
	return size + count * sizeof(*frames);
}

/* Without a ring of its own, or at the end of that; the record takes a kilobyte of the stack. */
__attribute__((noinline)) static void emit_frames(struct gt_thread *thread, const struct frame *frame, uint64_t leave,
						  uint64_t result)
{
	struct record record;
	size_t size = put_frames(thread, frame, leave, result, &record);

	gt_thread_emit(thread, GT_REC_CALL, &record, size, NULL, 0);
}

static void write_frames(struct gt_thread *thread, const struct frame *frame, uint64_t leave, uint64_t result)
{
	size_t max = sizeof(struct gt_rec_call) +
		     (GT_CALL_WITHIN_WORDS + frame->site->arg_count + gt_session.stack_frames) * sizeof(uint64_t);
	struct record *record = gt_thread_open(thread, max);

	if (record)
		gt_thread_close(thread, GT_REC_CALL, put_frames(thread, frame, leave, result, record));
	else
		emit_frames(thread, frame, leave, result);
}

/* With the registers behind the arguments, and then as much of the stack as is wanted. */
static void write_stack(struct gt_thread *thread, const struct frame *frame, uint64_t leave, uint64_t result,
			const struct kept *kept)
{
	const struct gt_stack_registers registers = {
		.pc = frame->return_address,
		.sp = (uintptr_t)frame->stack_args,
		.rbx = kept->rbx,
		.rbp = frame->caller_rbp,
		.r12 = kept->r12,
		.r13 = kept->r13,
		.r14 = kept->r14,
		.r15 = kept->r15,
	};
	size_t bytes = gt_call_stack_bytes(thread, registers.sp, gt_session.stack_bytes);
	struct record record;
	size_t size = put_call(thread, frame, leave, result, &record);

	memcpy((uint8_t *)&record + size, &registers, sizeof(registers));
	record.call.stack_bytes = (uint32_t)(sizeof(registers) + bytes);
	gt_thread_emit(thread, GT_REC_CALL, &record, size + sizeof(registers), frame->stack_args, bytes);
}

static void write_record(const struct frame *frame, const struct kept *kept, uint64_t leave, uint64_t result)
{
	struct gt_thread *thread = gt_thread();

	if (!thread)
		gt_thread_missing();
	else if (gt_session.stack_bytes)
		write_stack(thread, frame, leave, result, kept);
	else
		write_frames(thread, frame, leave, result);
}

/* Only here is the session's memory touched, which may be gone or another since the call began. */
__attribute__((used)) uint64_t gt_call_leave(const struct frame *frame, uint64_t result, const struct kept *kept)
{
	uint64_t leave;

	if (!frame->enter && !frame->copy)
		return result;
	leave = gt_thread_now();
	if (frame->copy)
		end_copy(frame, leave, result);
	if (!frame->enter)
		return result;
	if (gt_enter() && atomic_load_explicit(&gt_active, memory_order_relaxed) &&
	    gt_session_records(GT_CONFIG_CALLS))
		write_record(frame, kept, leave, result);
	gt_leave();
	return result;
}
