/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of callers, against what the callers themselves know of where they return to. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "lib/util/error.h"
#include "tests/suite.h"

#define DEEP 200	/* calls of recurse(), more than fit */

static struct fake fake;

/* What the child says of itself, in shared memory. */
static struct said {
	uint64_t in_inner, in_middle;	/* where inner() and middle() return to */
	uint64_t deep[4];		/* where the innermost recurse() return to */
} *said;

#define RETURNS_TO ((uint64_t)(uintptr_t)__builtin_return_address(0))
/* Against calls that become jumps. */
#define HERE __asm__ volatile("" ::: "memory")

static __attribute__((noinline)) void inner(void)
{
	said->in_inner = RETURNS_TO;
	fake.cuMemFree_v2(1);
	fake.cuMemcpyHtoD_v2(1, "x", 1);
	HERE;
}

static __attribute__((noinline)) void middle(void)
{
	said->in_middle = RETURNS_TO;
	inner();
	HERE;
}

static __attribute__((noinline)) void recurse(unsigned left)
{
	if (left < 4)
		said->deep[left] = RETURNS_TO;
	if (left)
		recurse(left - 1);
	else
		fake.cuMemFree_v2(2);
	HERE;
}

static void call(int go, int ready)
{
	(void)ready;
	wait_go(go);
	fake_open(&fake);
	middle();
	recurse(DEEP);
}

struct seen {
	struct calls calls;
	uint64_t stacks[8][127];
};

/* The stack is the ring's memory. */
static void keep(void *data, const struct gt_api_call *call)
{
	struct seen *seen = data;

	ck_assert_uint_lt(seen->calls.count, 8);
	ck_assert_uint_le(call->stack_count, 127);
	for (unsigned i = 0; i < call->stack_count; i++)
		seen->stacks[seen->calls.count][i] = call->stack[i];
	calls_add(&seen->calls, call);
}

static void run(struct seen *seen, uint32_t frames, uint32_t flags)
{
	struct gt_api_trace_opts opts;
	struct gt_api_trace *trace;
	struct child child;

	said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(said, MAP_FAILED);
	child = child_start(call);
	opts = fake_opts(child.pid);
	opts.stack_frames = frames;
	opts.flags = flags;
	ck_assert_msg(gt_api_trace_open(&opts, &trace) == 0, "%s", gt_error_text());
	child_go(&child);
	child_end(&child);
	/* Free, HtoDAsync in HtoD, HtoD, Free. */
	ck_assert_int_eq(gt_api_trace_consume(trace, keep, seen), 4);
	ck_assert_uint_eq(gt_api_trace_lost(trace), 0);
	gt_api_trace_close(trace);
}

static void within(uint64_t address, void (*function)(void))
{
	ck_assert_uint_gt(address, (uintptr_t)function);
	ck_assert_uint_lt(address, (uintptr_t)function + 1024);	/* with sanitizers it is long */
}

START_TEST(test_callers)
{
	struct seen seen = { 0 };

	run(&seen, 127, (uint32_t)_i);
	for (int i = 0; i < 3; i += 2) {
		ck_assert_uint_ge(seen.calls.list[i].stack_count, 4);
		within(seen.stacks[i][0], inner);
		ck_assert_uint_eq(seen.stacks[i][1], said->in_inner);
		ck_assert_uint_eq(seen.stacks[i][2], said->in_middle);
	}
	ck_assert_uint_gt(seen.stacks[2][0], seen.stacks[0][0]);
	/* The arguments are still where they were. */
	ck_assert_uint_eq(seen.calls.list[0].args[0], 1);
	ck_assert_uint_eq(seen.calls.list[2].args[2], 1);
	calls_clear(&seen.calls);
}
END_TEST

/* A traced function that another one calls: the return that the kernel caught in between is told as it was. */
START_TEST(test_nested)
{
	struct seen seen = { 0 };

	run(&seen, 127, 0);
	ck_assert_uint_eq(seen.calls.list[1].depth, 1);
	ck_assert_uint_ge(seen.calls.list[1].stack_count, 4);
	if (seen.stacks[1][1] != seen.stacks[2][0])
		printf("this kernel shows its trampoline in the stack (before Linux 6.11)\n");
	ck_assert_uint_eq(seen.stacks[1][2], said->in_inner);
	ck_assert_uint_eq(seen.stacks[1][3], said->in_middle);
	calls_clear(&seen.calls);
}
END_TEST

START_TEST(test_limit)
{
	struct seen seen = { 0 };
	const uint64_t *stack = seen.stacks[3];

	run(&seen, 8, 0);
	ck_assert_uint_eq(seen.calls.list[3].stack_count, 8);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(stack[i + 1], said->deep[i]);
	/* From then on it returns to the same place each time. */
	for (int i = 2; i < 8; i++)
		ck_assert_uint_eq(stack[i], stack[1]);
	ck_assert_uint_eq(seen.calls.list[3].args[0], 2);
	calls_clear(&seen.calls);
}
END_TEST

START_TEST(test_none)
{
	struct seen seen = { 0 };

	run(&seen, 0, 0);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(seen.calls.list[i].stack_count, 0);
	calls_clear(&seen.calls);
}
END_TEST

START_TEST(test_too_many)
{
	struct gt_api_trace_opts opts = fake_opts(getpid());
	struct gt_api_trace *trace;

	opts.stack_frames = 128;
	ck_assert_int_lt(gt_api_trace_open(&opts, &trace), 0);
	ck_assert_str_eq(gt_error_text(), "128 frames of the stack: at most 127 can be taken");
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("stack");

	skip_unless_permitted();
	tcase_add_loop_test(t, test_callers, 0, 1);
	tcase_add_loop_test(t, test_callers, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_test(t, test_nested);
	tcase_add_test(t, test_limit);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_too_many);
	return run_case("stack", t);
}
