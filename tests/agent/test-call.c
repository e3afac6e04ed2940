/* SPDX-License-Identifier: Apache-2.0 */
/* Watched calls: arguments and results pass unchanged, and the record says what they were. */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/agent/agent.h"
#include "lib/agent/call/call.h"
#include "lib/agent/call/stack.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/hook/patch.h"
#include "lib/agent/thread.h"
#include "lib/reader/ring.h"
#include "tests/suite.h"

#define RING 4096u

struct gt_session gt_session;
atomic_bool gt_active;
_Atomic uint32_t gt_call_level;
atomic_bool gt_calls_copy;

/* What the thunk says of a copy: its arguments, and how it ended. */
static struct {
	struct gt_copy copy;
	const struct gt_copy_function *function;
	uint64_t args[GT_CALL_ARGS];
	unsigned begun, ended;
	uint64_t begun_at;
	CUresult result;
} copying;

struct gt_copy *gt_copy_begin(const struct gt_copy_function *function, const uint64_t *args)
{
	copying.begun++;
	copying.begun_at = gt_now();
	copying.function = function;
	memcpy(copying.args, args, sizeof(copying.args));
	return &copying.copy;
}

void gt_copy_end(struct gt_copy *copy, const struct gt_copy_function *function, const uint64_t *args, uint64_t leave,
		 CUresult result)
{
	ck_assert_uint_le(leave, gt_now());
	ck_assert_uint_ge(leave, copying.begun_at);
	ck_assert_ptr_eq(copy, &copying.copy);
	ck_assert_ptr_eq(function, copying.function);
	for (unsigned i = 0; i < 12; i++)
		ck_assert_uint_eq(args[i], copying.args[i]);
	copying.ended++;
	copying.result = result;
}

static struct gt_shm shm;
static struct gt_thread_ring blocks[GT_THREAD_RINGS];
static uint8_t rings[GT_THREAD_RINGS][RING] __attribute__((aligned(8)));

static void setup(void)
{
	shm.recording = GT_CONFIG_CALLS;
	gt_session.shm = &shm;
	gt_session.thread_rings = blocks;
	gt_session.thread_data = rings[0];
	gt_session.thread_ring_size = RING;
	gt_enter_prepare();
	atomic_store(&gt_active, true);
	atomic_store(&gt_call_level, GT_CALLS_DOING);
	gt_threads_begin();
}

/* What the record that take() gave last had of the caller's registers and stack. */
static struct {
	struct gt_stack_registers registers;
	uint64_t words[RING / 8];
} copied;

/* And what it was within. */
static uint64_t within[GT_CALL_WITHIN_WORDS];

/* The next record of the calling thread's ring into `record`; false: there is none. */
static bool take(struct gt_rec_call *record, uint64_t *args)
{
	struct gt_thread_ring *block = gt_thread()->ring;
	struct gt_ring ring = { .size = RING };
	uint8_t payload[RING];
	struct gt_record header;
	size_t skip;
	uint32_t size;

	if (!block)
		return false;	/* claimed with the first record */
	ring.data = rings[block - blocks];
	ring.tail = block->tail;
	ring.published = &block->tail;
	if (gt_ring_take(&ring, &header, payload) != 1)
		return false;
	ck_assert_uint_eq(header.type, GT_REC_CALL);
	memcpy(record, payload, sizeof(*record));
	size = (uint32_t)((record->arg_count + record->stack_count) * sizeof(*args));
	skip = sizeof(*record) + (record->within ? sizeof(within) : 0);
	ck_assert_uint_eq(header.size, skip + size + record->stack_bytes);
	memcpy(within, payload + sizeof(*record), skip - sizeof(*record));
	memcpy(args, payload + skip, size);
	memcpy(&copied, payload + skip + size, record->stack_bytes);
	return true;
}

/* A function that begins as the driver's do and then jumps to `to`. */
static void *entry(void *to)
{
	static const uint8_t code[] = {
		0x55, 0x48, 0x89, 0xe5, 0x41, 0x54,	/* push rbp; mov rbp,rsp; push r12 */
		0x41, 0x5c, 0x5d,			/* pop r12; pop rbp */
		0xff, 0x25, 0, 0, 0, 0,			/* jmp [rip] */
	};
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(page, MAP_FAILED);
	memcpy(page, code, sizeof(code));
	memcpy(page + sizeof(code), &to, sizeof(to));
	ck_assert_int_eq(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
	return page;
}

static bool aligned;

#define NOTE_ALIGNMENT() (aligned = (uintptr_t)__builtin_frame_address(0) % 16 == 0)

typedef long twelve_fn(long, long, long, long, long, long, long, long, long, long, long, long);

static long twelve(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l)
{
	NOTE_ALIGNMENT();
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l;
}

typedef long eleven_fn(long, long, long, long, long, long, long, long, long, long, long);

static long eleven(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k)
{
	NOTE_ALIGNMENT();
	return twelve(a, b, c, d, e, f, g, h, i, j, k, 0);
}

START_TEST(twelve_arguments)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 6, .function = 33, .arg_count = 12 };
	twelve_fn *function = (twelve_fn *)entry((void *)twelve);
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	/* 2^40 times 1 + 2*2 + ... + 12*12, so that the result does not fit in 32 bits. */
	ck_assert_int_eq(function(1l << 40, 2l << 40, 3l << 40, 4l << 40, 5l << 40, 6l << 40, 7l << 40, 8l << 40,
				  9l << 40, 10l << 40, 11l << 40, 12l << 40), 650l << 40);
	ck_assert(aligned);
	ck_assert(take(&record, args));
	ck_assert_uint_eq(record.function, 33);
	ck_assert_uint_eq(record.result, 650ull << 40);
	ck_assert_uint_eq(record.arg_count, 12);
	ck_assert_uint_eq(record.tid, (uint64_t)gettid());
	ck_assert_uint_le(record.enter, record.leave);
	for (unsigned i = 0; i < 12; i++)
		ck_assert_uint_eq(args[i], (uint64_t)(i + 1) << 40);
	ck_assert(!take(&record, args));
}
END_TEST

/* An odd number of words on the stack. */
START_TEST(eleven_arguments)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 5, .arg_count = 11 };
	eleven_fn *function = (eleven_fn *)entry((void *)eleven);
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	ck_assert_int_eq(function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), 506);
	ck_assert(aligned);
	ck_assert(take(&record, args));
	ck_assert_uint_eq(record.result, 506);
	ck_assert_uint_eq(args[10], 11);
}
END_TEST

/* Whether calls are recorded or not; as in a driver with functions that copy and others. */
START_TEST(copies_are_told_of)
{
	struct gt_call_site site = { .level = GT_CALLS_ASKING, .stack_words = 6, .arg_count = 12 };
	twelve_fn *function = (twelve_fn *)entry((void *)twelve);
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	atomic_store(&gt_calls_copy, true);
	ck_assert_int_eq(function(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 78);
	ck_assert_uint_eq(copying.begun, 0);
	site.copy.shape = GT_SHAPE_LINE;
	ck_assert_int_eq(function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 650);
	ck_assert(aligned);
	ck_assert_uint_eq(copying.begun, 1);
	ck_assert_uint_eq(copying.ended, 1);
	ck_assert_int_eq((int)copying.result, 650);
	ck_assert_ptr_eq(copying.function, &site.copy);
	for (unsigned i = 0; i < 12; i++)
		ck_assert_uint_eq(copying.args[i], i + 1);
	ck_assert(!take(&record, args));
	site.level = GT_CALLS_DOING;
	ck_assert_int_eq(function(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 78);
	ck_assert_uint_eq(copying.ended, 2);
	ck_assert(take(&record, args));
	ck_assert_uint_eq(record.result, 78);
	atomic_store(&gt_calls_copy, false);
	ck_assert_int_eq(function(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 78);
	ck_assert_uint_eq(copying.begun, 2);
}
END_TEST

struct handle {
	char bytes[64];
};
typedef int open_fn(void *, struct handle, unsigned);

static int open_handle(void *pointer, struct handle handle, unsigned flags)
{
	for (unsigned i = 0; i < sizeof(handle.bytes); i++) {
		if (handle.bytes[i] != (char)(i * 3))
			return -1;
	}
	return pointer == &shm && flags == 7 ? 42 : -2;
}

/* A structure in memory takes none of the argument registers. */
START_TEST(structure_by_value)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 8, .arg_count = 2 };
	open_fn *function = (open_fn *)entry((void *)open_handle);
	struct handle handle;
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];

	for (unsigned i = 0; i < sizeof(handle.bytes); i++)
		handle.bytes[i] = (char)(i * 3);
	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	ck_assert_int_eq(function(&shm, handle, 7), 42);
	ck_assert(take(&record, args));
	ck_assert_uint_eq(record.result, 42);
	ck_assert_uint_eq(args[0], (uintptr_t)&shm);
	ck_assert_uint_eq((uint32_t)args[1], 7);
}
END_TEST

static twelve_fn *original;

static long hook(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l)
{
	return original(a, b, c, d, e, f, g, h, i, j, k, l) + 1;
}

/* A function that the agent has hooked already: the watch comes in front of the hook. */
START_TEST(in_front_of_a_hook)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 6, .arg_count = 12 };
	twelve_fn *function = (twelve_fn *)entry((void *)twelve);
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];

	ck_assert_int_eq(gt_patch((void *)function, (void *)hook, NULL, false, (void **)&original), 0);
	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	ck_assert_ptr_eq(site.target, (void *)hook);
	ck_assert_int_eq(function(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 14);
	ck_assert(take(&record, args));
	ck_assert_uint_eq(record.result, 14);
	ck_assert(!take(&record, args));
	/* What the agent calls itself is not seen. */
	ck_assert_int_eq(original(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 13);
	ck_assert(!take(&record, args));
}
END_TEST

START_TEST(recorded_only_when_wanted)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 6, .arg_count = 12 };
	twelve_fn *function = (twelve_fn *)entry((void *)twelve);
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	shm.recording = 0;
	ck_assert_int_eq(function(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 13);
	shm.recording = GT_CONFIG_CALLS;
	gt_depth = 1;
	ck_assert_int_eq(function(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 13);
	gt_depth = 0;
	atomic_store(&gt_call_level, GT_CALLS_NONE);
	ck_assert_int_eq(function(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 13);
	atomic_store(&gt_call_level, GT_CALLS_ASKING);
	atomic_store(&gt_active, false);
	ck_assert_int_eq(function(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 13);
	atomic_store(&gt_active, true);
	ck_assert(!take(&record, args));
	ck_assert_int_eq(function(1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), 13);
	ck_assert(take(&record, args));
}
END_TEST

/* Records of 152 bytes (16 + 40 + 12 * 8) in a ring of 4096: 26 fit. */
START_TEST(what_finds_no_room_is_counted)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 6, .arg_count = 12 };
	twelve_fn *function = (twelve_fn *)entry((void *)twelve);
	struct gt_rec_call record;
	uint64_t args[GT_CALL_ARGS];
	unsigned taken = 0;

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	for (int i = 0; i < 30; i++)
		function(i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	while (take(&record, args)) {
		ck_assert_uint_eq(args[0], taken);
		taken++;
	}
	ck_assert_uint_eq(taken, 26);
	ck_assert_uint_eq(gt_thread()->ring->lost, 4);
	/* Once it has been read there is room again, across the ring's end too. */
	for (int i = 0; i < 1000; i++) {
		function(i, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5);
		ck_assert(take(&record, args));
		ck_assert_uint_eq(args[0], (uint64_t)i);
		ck_assert_uint_eq(args[11], 5);
	}
	ck_assert_uint_eq(gt_thread()->ring->lost, 4);
}
END_TEST

/* The program's own number for it comes with the arguments, and its stack is behind them. */
START_TEST(within_a_number)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 6, .arg_count = 12 };
	twelve_fn *function = (twelve_fn *)entry((void *)twelve);
	uint64_t args[GT_CALL_ARGS + GT_CALL_FRAMES], number = 4711;
	struct gt_thread *thread = gt_thread();
	struct gt_rec_call record;

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	ck_assert(take(&record, args));
	ck_assert_uint_eq(record.within, 0);
	thread->externals = &number;
	thread->external_count = 1;
	/* As it lies in the ring, put there at once and from a copy where the ring ends. */
	for (int i = 0; i < 100; i++) {
		gt_session.stack_frames = i % 2 ? 1 : 0;
		gt_session.stack_bytes = i % 3 ? 0 : 64;
		function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
		ck_assert(take(&record, args));
		ck_assert_uint_eq(record.within, 1);
		ck_assert_uint_eq(within[0], 0);
		ck_assert_uint_eq(within[1], 4711);
		for (unsigned j = 0; j < 12; j++)
			ck_assert_uint_eq(args[j], j + 1);
		ck_assert_uint_eq(record.stack_count, i % 3 && i % 2 ? 1 : 0);
		ck_assert_uint_eq(record.stack_bytes, i % 3 ? 0 : sizeof(copied.registers) + 64);
	}
	thread->external_count = 0;
	thread->externals = NULL;
}
END_TEST

static uintptr_t called_from;

__attribute__((noinline)) static long call_it(eleven_fn *function)
{
	long result = function(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);

	called_from = (uintptr_t)__builtin_return_address(0);
	return result + 1;
}

START_TEST(stack_of_the_caller)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 5, .arg_count = 11 };
	eleven_fn *function = (eleven_fn *)entry((void *)eleven);
	struct gt_rec_call record;
	uint64_t words[GT_CALL_ARGS + GT_CALL_FRAMES];

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	gt_session.stack_frames = 3;
	ck_assert_int_eq(call_it(function), 507);
	gt_session.stack_frames = 0;
	ck_assert(take(&record, words));
	ck_assert_uint_ge(record.stack_count, 2);
	ck_assert_uint_le(record.stack_count, 3);
	ck_assert_uint_eq(words[10], 11);
	ck_assert_uint_gt(words[11], (uintptr_t)call_it);
	ck_assert_uint_lt(words[11], (uintptr_t)call_it + 256);
	ck_assert_uint_eq(words[12], called_from);
}
END_TEST

/* More is asked for than a record may take at most, and less taken. */
START_TEST(a_ring_is_used_to_its_end)
{
	struct gt_call_site site = { .level = GT_CALLS_DOING, .stack_words = 5, .arg_count = 11 };
	eleven_fn *function = (eleven_fn *)entry((void *)eleven);
	struct gt_rec_call record;
	uint64_t words[GT_CALL_ARGS + GT_CALL_FRAMES];
	size_t bytes = 0, last = 0;
	unsigned taken = 0;

	ck_assert_int_eq(gt_patch((void *)function, (void *)gt_call_thunk, &site, false, &site.target), 0);
	gt_session.stack_frames = GT_CALL_FRAMES;
	for (int i = 0; i < 100; i++)
		call_it(function);
	gt_session.stack_frames = 0;
	for (; take(&record, words); bytes += last, taken++)
		last = sizeof(struct gt_record) + sizeof(record) + (record.arg_count + record.stack_count) * 8;
	ck_assert_uint_eq(taken + gt_thread()->ring->lost, 100);
	ck_assert_uint_gt(bytes + last, RING);
}
END_TEST

/* With known values in the registers that functions keep, and 1 and 2 at the end of the stack. */
long call_marked(long (*function)(long), long argument);
extern char marked_return[];
asm(".text\n"
    "call_marked:\n"
    "	push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
    "	sub $24, %rsp\n"
    "	movq $1, (%rsp); movq $2, 8(%rsp)\n"
    "	mov %rdi, %rax; mov %rsi, %rdi\n"
    "	mov $0xb, %ebp; mov $0xa, %ebx\n"
    "	mov $0x12, %r12d; mov $0x13, %r13d; mov $0x14, %r14d; mov $0x15, %r15d\n"
    "	call *%rax\n"
    "marked_return:\n"
    "	add $24, %rsp\n"
    "	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
    "	ret\n");

static long one(long a)
{
	NOTE_ALIGNMENT();
	return a + 1;
}

static void *watched_one(struct gt_call_site *site)
{
	void *function = entry((void *)one);

	*site = (struct gt_call_site){ .level = GT_CALLS_DOING, .arg_count = 1 };
	ck_assert_int_eq(gt_patch(function, (void *)gt_call_thunk, site, false, &site->target), 0);
	return function;
}

__attribute__((noinline)) static long call_one(void *function)
{
	return call_marked((long (*)(long))function, 41) + 1;
}

START_TEST(registers_and_stack_of_the_caller)
{
	struct gt_call_site site;
	void *function = watched_one(&site);
	uint64_t words[GT_CALL_ARGS + GT_CALL_FRAMES], here = (uintptr_t)__builtin_frame_address(0);
	struct gt_rec_call record;

	gt_session.stack_bytes = 128;
	ck_assert_int_eq(call_one(function), 43);
	ck_assert(aligned);
	ck_assert(take(&record, words));
	ck_assert_uint_eq(words[0], 41);
	ck_assert_uint_eq(record.stack_count, 0);
	ck_assert_uint_eq(record.stack_bytes, sizeof(copied.registers) + 128);
	ck_assert_uint_eq(copied.registers.pc, (uintptr_t)marked_return);
	ck_assert_uint_lt(copied.registers.sp, here);
	ck_assert_uint_eq(copied.registers.rbx, 0xa);
	ck_assert_uint_eq(copied.registers.rbp, 0xb);
	ck_assert_uint_eq(copied.registers.r12, 0x12);
	ck_assert_uint_eq(copied.registers.r13, 0x13);
	ck_assert_uint_eq(copied.registers.r14, 0x14);
	ck_assert_uint_eq(copied.registers.r15, 0x15);
	ck_assert_uint_eq(copied.words[0], 1);
	ck_assert_uint_eq(copied.words[1], 2);
	/* Behind them the six registers that were saved, and where call_marked() returns to. */
	ck_assert_uint_gt(copied.words[9], (uintptr_t)call_one);
	ck_assert_uint_lt(copied.words[9], (uintptr_t)call_one + 256);
}
END_TEST

/* Nothing is read behind it, nor on a stack that is not the thread's. */
START_TEST(copy_ends_where_the_stack_does)
{
	struct gt_thread *thread = gt_thread();
	uint64_t here = (uintptr_t)__builtin_frame_address(0);

	ck_assert_uint_eq(gt_call_stack_bytes(thread, here, 128), 128);
	ck_assert_uint_gt(thread->stack_end, here);
	ck_assert_uint_eq(gt_call_stack_bytes(thread, thread->stack_end - 60, 128), 56);
	ck_assert_uint_eq(gt_call_stack_bytes(thread, thread->stack_end - 7, 128), 0);
	ck_assert_uint_eq(gt_call_stack_bytes(thread, thread->stack_end, 128), 0);
	ck_assert_uint_eq(gt_call_stack_bytes(thread, thread->stack_begin - 8, 128), 0);
	ck_assert_uint_eq(gt_call_stack_bytes(thread, UINT64_MAX - 7, 128), 0);
}
END_TEST

static ucontext_t before, coroutine;
static uint64_t no_memory;	/* between the coroutine's stack and the thread's own */
static unsigned walked;

static void walk(void)
{
	uint64_t frames[8];

	walked = gt_call_stack(gt_thread(), 4711, no_memory, frames, 8);
}

/* rbp holds any value in code without frame pointers, and such a stack may lie anywhere. */
START_TEST(stack_of_a_coroutine)
{
	const size_t size = 1 << 18;
	uint8_t *memory = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(memory, MAP_FAILED);
	ck_assert(memory < (uint8_t *)__builtin_frame_address(0));
	ck_assert_int_eq(mprotect(memory + size, size, PROT_NONE), 0);
	no_memory = (uintptr_t)memory + size + 64;
	ck_assert_int_eq(getcontext(&coroutine), 0);
	coroutine.uc_stack.ss_sp = memory;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &before;
	makecontext(&coroutine, walk, 0);
	ck_assert_int_eq(swapcontext(&before, &coroutine), 0);
	ck_assert_uint_eq(walked, 1);
}
END_TEST

static atomic_bool entered, over;

static void *stay_inside(void *unused)
{
	(void)unused;
	gt_enter();
	atomic_store(&entered, true);
	while (!atomic_load(&over))
		usleep(1000);
	gt_leave();
	return NULL;
}

/* Who was in a hook when the process forked is not in the child. */
START_TEST(nobody_is_inside_in_a_child)
{
	pthread_t thread;
	pid_t child;
	int status;

	ck_assert_int_eq(pthread_create(&thread, NULL, stay_inside, NULL), 0);
	while (!atomic_load(&entered))
		usleep(1000);
	child = fork();
	if (!child) {
		gt_enter_in_child();
		if (!gt_wait_until_left(0))
			_exit(1);
		gt_enter();
		_exit(gt_wait_until_left(0) ? 2 : 0);
	}
	ck_assert(!gt_wait_until_left(0));
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	ck_assert(gt_wait_until_left(0));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

#define CROWD 400	/* more than have a place for themselves */

static void *go_through(void *all_inside)
{
	gt_enter();
	pthread_barrier_wait(all_inside);
	while (!atomic_load(&over))
		usleep(1000);
	gt_leave();
	return NULL;
}

START_TEST(more_threads_than_places)
{
	pthread_t threads[CROWD];
	pthread_barrier_t all_inside;

	/* The second time in places that others have given back. */
	for (int round = 0; round < 2; round++) {
		atomic_store(&over, false);
		ck_assert_int_eq(pthread_barrier_init(&all_inside, NULL, CROWD + 1), 0);
		for (int i = 0; i < CROWD; i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, go_through, &all_inside), 0);
		pthread_barrier_wait(&all_inside);
		ck_assert(!gt_wait_until_left(0));
		atomic_store(&over, true);
		for (int i = 0; i < CROWD; i++)
			pthread_join(threads[i], NULL);
		ck_assert(gt_wait_until_left(0));
		pthread_barrier_destroy(&all_inside);
	}
}
END_TEST

#define ROUNDS 20000

static atomic_bool taken_away;
static atomic_int begun, ended;
static unsigned used_after;

/* Both threads go on at the same time if they can; on a busy machine they let others run. */
static void wait_for(atomic_int *number, int value)
{
	for (unsigned i = 1; atomic_load(number) < value; i++) {
		if (i % 1000 == 0)
			sched_yield();
	}
}

static void *use_once_a_round(void *unused)
{
	/* So much that it is in no cache: the store of gt_enter() has to wait for these. */
	static volatile uint64_t far[1 << 23];
	uint32_t at = 1;

	(void)unused;
	for (int round = 1; round <= ROUNDS; round++) {
		wait_for(&begun, round);
		for (int i = 0; i < 4; i++) {
			at = at * 1664525u + 1013904223u;
			far[at >> 9] += at;
		}
		if (gt_enter() && atomic_load_explicit(&gt_active, memory_order_relaxed)) {
			for (int i = 0; i < 1000; i++)
				used_after += atomic_load_explicit(&taken_away, memory_order_relaxed);
		}
		gt_leave();
		atomic_store(&ended, round);
	}
	return NULL;
}

/* Entering is no atomic operation, and all the same nobody uses what was taken away when all had left. */
START_TEST(nobody_enters_unseen)
{
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, use_once_a_round, NULL), 0);
	for (int round = 1; round <= ROUNDS; round++) {
		atomic_store(&gt_active, true);
		atomic_store(&begun, round);
		for (volatile int pause = 0; pause < round % 300; pause++)
			;
		atomic_store(&gt_active, false);
		ck_assert(gt_wait_until_left(PATIENCE_MS));
		atomic_store(&taken_away, true);
		wait_for(&ended, round);
		atomic_store(&taken_away, false);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_eq(used_after, 0);
}
END_TEST

static void *use_a_ring(void *unused)
{
	const struct gt_rec_call record = { 0 };

	(void)unused;
	gt_thread_emit(gt_thread(), GT_REC_CALL, &record, sizeof(record), NULL, 0);
	return gt_thread()->ring;
}

/* As the driver's calls of itself are, from further down the stack. */
__attribute__((noinline)) static void enter_in_hook(void)
{
	gt_enter();
	asm volatile("");	/* no jump in place of the call */
}

/* By pthread_exit() in what the driver calls, within a hook in a hook; it has a ring. */
static void *end_inside(void *unused)
{
	gt_enter();
	use_a_ring(unused);
	enter_in_hook();
	pthread_exit(NULL);
}

static void end_inside_one_after_another(void)
{
	for (int i = 0; i < CROWD; i++) {
		pthread_t thread;

		ck_assert_int_eq(pthread_create(&thread, NULL, end_inside, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert(gt_wait_until_left(0));
	for (unsigned i = 0; i < GT_THREAD_RINGS; i++)
		ck_assert_uint_eq(blocks[i].owner, 0);
}

START_TEST(threads_that_end_inside_have_left)
{
	end_inside_one_after_another();
}
END_TEST

/* As a program's own seccomp filter may. */
static void refuse_membarrier(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

/* Then entering is an atomic operation. */
START_TEST(without_membarrier)
{
	pthread_t thread;

	refuse_membarrier();
	setup();
	ck_assert_int_eq(pthread_create(&thread, NULL, stay_inside, NULL), 0);
	while (!atomic_load(&entered))
		usleep(1000);
	ck_assert(!gt_wait_until_left(0));
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	ck_assert(gt_wait_until_left(0));
}
END_TEST

START_TEST(threads_that_end_inside_without_membarrier)
{
	refuse_membarrier();
	setup();
	end_inside_one_after_another();
}
END_TEST

/* What others do cannot be seen any more, so nothing is taken away. */
START_TEST(membarrier_is_refused_later)
{
	setup();
	gt_enter();
	gt_leave();
	ck_assert(gt_wait_until_left(0));
	refuse_membarrier();
	ck_assert(!gt_wait_until_left(0));
}
END_TEST

/* A thread that ends leaves its ring to the next; that one goes on behind its records. */
START_TEST(rings_are_given_back)
{
	for (int i = 0; i < 3 * (int)GT_THREAD_RINGS; i++) {
		pthread_t thread;
		void *ring;

		ck_assert_int_eq(pthread_create(&thread, NULL, use_a_ring, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, &ring), 0);
		ck_assert_ptr_nonnull(ring);
	}
	for (unsigned i = 0; i < GT_THREAD_RINGS; i++)
		ck_assert_uint_eq(blocks[i].owner, 0);
}
END_TEST

static pthread_mutex_t lock_of_hook = PTHREAD_MUTEX_INITIALIZER;

/* It comes by what would end a thread that is to end, once within a hook in a hook. */
static void *hook_when_cancelled(void *ret_left)
{
	const struct timespec pause = { .tv_nsec = 1 };

	pthread_cancel(pthread_self());
	gt_enter();
	pthread_mutex_lock(&lock_of_hook);
	enter_in_hook();
	nanosleep(&pause, NULL);
	gt_leave();
	nanosleep(&pause, NULL);
	pthread_mutex_unlock(&lock_of_hook);
	gt_leave();
	*(bool *)ret_left = true;
	pthread_testcancel();
	return NULL;
}

/* A thread does not end in a hook with our locks, which others wait for, but when it is the program's again. */
START_TEST(cancelled_threads_leave_first)
{
	bool left = false;
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, hook_when_cancelled, &left), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	ck_assert(left);
	ck_assert_int_eq(pthread_mutex_trylock(&lock_of_hook), 0);
	pthread_mutex_unlock(&lock_of_hook);
	ck_assert(gt_wait_until_left(0));
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("watched calls");
	Suite *suite = suite_create("watched calls");

	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, twelve_arguments);
	tcase_add_test(tcase, eleven_arguments);
	tcase_add_test(tcase, copies_are_told_of);
	tcase_add_test(tcase, structure_by_value);
	tcase_add_test(tcase, in_front_of_a_hook);
	tcase_add_test(tcase, recorded_only_when_wanted);
	tcase_add_test(tcase, what_finds_no_room_is_counted);
	tcase_add_test(tcase, within_a_number);
	tcase_add_test(tcase, stack_of_the_caller);
	tcase_add_test(tcase, a_ring_is_used_to_its_end);
	tcase_add_test(tcase, registers_and_stack_of_the_caller);
	tcase_add_test(tcase, copy_ends_where_the_stack_does);
	tcase_add_test(tcase, stack_of_a_coroutine);
	tcase_add_test(tcase, rings_are_given_back);
	tcase_add_test(tcase, nobody_is_inside_in_a_child);
	tcase_add_test(tcase, more_threads_than_places);
	tcase_add_test(tcase, nobody_enters_unseen);
	tcase_add_test(tcase, cancelled_threads_leave_first);
	tcase_add_test(tcase, threads_that_end_inside_have_left);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("a program with a seccomp filter");
	tcase_add_test(tcase, without_membarrier);
	tcase_add_test(tcase, threads_that_end_inside_without_membarrier);
	tcase_add_test(tcase, membarrier_is_refused_later);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
