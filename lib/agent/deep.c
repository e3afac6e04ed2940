/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/deep.h"

#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "lib/agent/call/stack.h"
#include "lib/agent/thread.h"

/* What is left is enough. */
#define ENOUGH (512u << 10)

/* At the upper end of the other stack. */
struct call {
	void (*run)(void *data);
	void *data;
	ucontext_t here, there;
};

static void begin(unsigned high, unsigned low)
{
	struct call *call = (struct call *)((uintptr_t)high << 32 | low);

	call->run(call->data);
}

static bool run_elsewhere(void (*run)(void *data), void *data)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *stack = mmap(NULL, GT_DEEP_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
			      -1, 0);
	struct call *call;

	if (stack == MAP_FAILED)
		return false;
	mprotect(stack, page, PROT_NONE);
	call = (struct call *)(void *)(stack + GT_DEEP_BYTES - page);
	call->run = run;
	call->data = data;
	getcontext(&call->there);
	call->there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = GT_DEEP_BYTES - page };
	call->there.uc_link = &call->here;
	makecontext(&call->there, (void (*)(void))begin, 2, (unsigned)((uintptr_t)call >> 32), (unsigned)(uintptr_t)call);
	swapcontext(&call->here, &call->there);
	munmap(stack, GT_DEEP_BYTES);
	return true;
}

void gt_run_deep(void (*run)(void *data), void *data)
{
	struct gt_thread *thread = gt_thread();

	if ((thread && gt_call_stack_left(thread) >= ENOUGH) || !run_elsewhere(run, data))
		run(data);
}
