/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/call/stack.h"

#include <errno.h>
#include <pthread.h>

#include "lib/agent/thread.h"

/*
 * Where the first thread began; above it are the program's arguments and its environment.  Not by dlsym(), which
 * would wait for a thread that loads a library, and that one may wait for a lock of ours in a constructor.
 */
extern void *__libc_stack_end __attribute__((weak, visibility("default")));

/* Asked for once: for the program's first thread the C library reads a file to find out. */
static void find_bounds(struct gt_thread *thread)
{
	int saved = errno;
	pthread_attr_t attr;
	void *lowest;
	size_t size;

	thread->stack_end = 1;
	if (!pthread_getattr_np(pthread_self(), &attr)) {
		if (!pthread_attr_getstack(&attr, &lowest, &size)) {
			thread->stack_begin = (uintptr_t)lowest;
			thread->stack_end = (uintptr_t)lowest + size;
			if (&__libc_stack_end && (uintptr_t)__libc_stack_end - (uintptr_t)lowest < size)
				thread->stack_end = (uintptr_t)__libc_stack_end;
		}
		pthread_attr_destroy(&attr);
	}
	errno = saved;
}

/* Above where we are on the thread's stack, so that it is there, with room for what a frame begins with. */
static int is_frame(const struct gt_thread *thread, uint64_t frame_pointer, uint64_t below)
{
	return frame_pointer > below && !(frame_pointer & 7) && frame_pointer + 16 <= thread->stack_end;
}

unsigned gt_call_stack(struct gt_thread *thread, uint64_t address, uint64_t frame_pointer, uint64_t *frames,
		       unsigned max)
{
	uint64_t below = (uintptr_t)__builtin_frame_address(0);
	unsigned count = 0;

	if (!max)
		return 0;
	if (!thread->stack_end)
		find_bounds(thread);
	frames[count++] = address;
	/* On another stack than the thread's own, such as a coroutine's, nothing is known of the rest. */
	if (below < thread->stack_begin)
		return count;
	while (count < max && is_frame(thread, frame_pointer, below)) {
		const uint64_t *frame = (const uint64_t *)(uintptr_t)frame_pointer;

		if (!frame[1])
			break;
		frames[count++] = frame[1];
		below = frame_pointer;
		frame_pointer = frame[0];
	}
	return count;
}

size_t gt_call_stack_bytes(struct gt_thread *thread, uint64_t sp, size_t max)
{
	if (!thread->stack_end)
		find_bounds(thread);
	if (sp < thread->stack_begin || sp >= thread->stack_end)
		return 0;
	if (max > thread->stack_end - sp)
		max = thread->stack_end - sp;
	return max & ~(size_t)7;
}

size_t gt_call_stack_left(struct gt_thread *thread)
{
	uint64_t here = (uintptr_t)__builtin_frame_address(0);

	return gt_call_stack_bytes(thread, here, 8) ? here - thread->stack_begin : 0;
}
