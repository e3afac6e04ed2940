/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a library that looks like the driver, made by a child process and seen by its parent. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "lib/util/error.h"
#include "tests/suite.h"

#define THREADS 4
#define ROUNDS 1000
#define CHILD_ROUNDS 500

static void sane(const struct calls *calls)
{
	for (size_t i = 0; i < calls->count; i++) {
		ck_assert_uint_le(calls->list[i].enter, calls->list[i].leave);
		ck_assert_ptr_nonnull(gt_api_name(calls->list[i].function));
	}
}

/* ---- counts, arguments, results, order ---- */

static struct fake fake;

static int launch(unsigned round)
{
	return fake.cuLaunchKernel((void *)0x1122334455667788ul, round, 2, 3, 4, 5, 6, 7,
				   (void *)0x1000000000000008ul, (void **)9, (void **)0xfffffffffffffff0ul);
}

static void *thread_body(void *data)
{
	uint64_t dptr;

	for (unsigned i = 0; i < ROUNDS; i++) {
		if (fake.cuMemAlloc_v2(&dptr, i) != (int)(i % 1000))
			_exit(10);
		launch(i);
		if (fake.cuMemFree_v2(i) != -(int)(i % 1000))
			_exit(11);
	}
	return data;
}

static pid_t fork_and_launch(int with_grandchild)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (with_grandchild)
		waitpid(fork_and_launch(0), NULL, 0);
	for (unsigned i = 0; i < CHILD_ROUNDS; i++)
		launch(i);
	_exit(0);
}

static void many_calls(int go, int ready)
{
	pthread_t threads[THREADS];
	pid_t child;

	(void)ready;
	wait_go(go);
	fake_open(&fake);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_body, NULL);
	child = fork_and_launch(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	waitpid(child, NULL, 0);
}

static void check_launch(const struct gt_api_call *call)
{
	static const uint64_t want[] = { 0x1122334455667788ul, 0, 2, 3, 4, 5, 6, 7,
					 0x1000000000000008ul, 9, 0xfffffffffffffff0ul };

	/* 0x55667788 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 - 16 = 0x55667788 + 28 */
	ck_assert_int_eq(call->result, (int)(0x55667788u + 28 + call->args[1]));
	for (unsigned i = 0; i < 11; i++) {
		if (i != 1)
			ck_assert_uint_eq(call->args[i], want[i]);
	}
}

/* Each thread's calls come in the order they were made: alloc, launch, free, by rounds. */
static void check_thread(const struct calls *calls, uint32_t tid)
{
	static const char *const names[] = { "cuMemAlloc_v2", "cuLaunchKernel", "cuMemFree_v2" };
	uint64_t last = 0;
	unsigned n = 0;

	for (size_t i = 0; i < calls->count; i++) {
		const struct gt_api_call *call = &calls->list[i];

		if (call->tid != tid)
			continue;
		ck_assert_str_eq(gt_api_name(call->function), names[n % 3]);
		ck_assert_uint_ge(call->enter, last);
		ck_assert_uint_eq(n % 3 == 2 ? call->args[0] : call->args[1], n / 3);
		if (n % 3 == 0)
			ck_assert_int_eq(call->result, n / 3 % 1000);
		if (n % 3 == 2)
			ck_assert_int_eq(call->result, -(int)(n / 3 % 1000));
		last = call->leave;
		n++;
	}
	ck_assert_uint_eq(n, 3 * ROUNDS);
}

START_TEST(test_counts)
{
	struct calls calls = { 0 };
	struct child child = child_start(many_calls);
	struct gt_api_trace *trace;
	size_t in_child = 0, threads = 0;
	uint32_t seen[THREADS];

	trace = fake_trace(child.pid, _i);
	child_go(&child);
	child_end(&child);
	calls_take(trace, &calls);
	ck_assert_uint_eq(gt_api_trace_lost(trace), 0);
	ck_assert_uint_eq(calls.count, THREADS * 3 * ROUNDS + 2 * CHILD_ROUNDS);
	ck_assert_uint_eq(calls_count(&calls, "cuMemAlloc_v2"), THREADS * ROUNDS);
	ck_assert_uint_eq(calls_count(&calls, "cuMemFree_v2"), THREADS * ROUNDS);
	sane(&calls);
	for (size_t i = 0; i < calls.count; i++) {
		const struct gt_api_call *call = &calls.list[i];
		size_t t = 0;

		ck_assert_uint_eq(call->depth, 0);
		ck_assert_uint_eq(call->flags, 0);
		ck_assert_str_eq(call->comm, "test-api-trace");
		if (gt_api_is_launch(call->function))
			check_launch(call);
		if (call->pid != (uint32_t)child.pid) {
			in_child++;
			continue;
		}
		while (t < threads && seen[t] != call->tid)
			t++;
		if (t == threads) {
			ck_assert_uint_lt(threads, THREADS);
			seen[threads++] = call->tid;
		}
	}
	ck_assert_uint_eq(in_child, 2 * CHILD_ROUNDS);
	ck_assert_uint_eq(threads, THREADS);
	for (size_t t = 0; t < threads; t++)
		check_thread(&calls, seen[t]);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* ---- calls within calls ---- */

static jmp_buf away;

static void jump_away(void *data)
{
	(void)data;
	longjmp(away, 1);
}

static void end_thread(void *data)
{
	(void)data;
	pthread_exit(NULL);
}

static void *ending_thread(void *data)
{
	fake.cuLaunchHostFunc((void *)77, end_thread, NULL);
	return data;
}

static void nested_calls(int go, int ready)
{
	pthread_t thread;

	(void)ready;
	wait_go(go);
	fake_open(&fake);
	if (fake.cuMemcpyHtoD_v2(1, "x", 1) != 105)
		_exit(10);
	if (fake.cuGraphLaunch((void *)9, NULL) != 9)
		_exit(11);
	if (!setjmp(away))
		fake.cuLaunchHostFunc((void *)66, jump_away, NULL);
	fake.cuMemFree_v2(4);
	pthread_create(&thread, NULL, ending_thread, NULL);
	pthread_join(thread, NULL);
#ifdef __x86_64__
	if (fake.cuStreamQuery(5) != 1006)
		_exit(12);
#endif
	if (fake.cuMemsetD8_v2(3, 0xffffff01u, 4) != 8)
		_exit(13);
	fake.cuMemHostUnregister(1);
}

static void check_nested(const struct calls *calls)
{
	const struct gt_api_call *outer = calls_find(calls, "cuMemcpyHtoD_v2", 0);
	const struct gt_api_call *inner = calls_find(calls, "cuMemcpyHtoDAsync_v2", 0);

	ck_assert_ptr_nonnull(outer);
	ck_assert_ptr_nonnull(inner);
	ck_assert_uint_eq(outer->depth, 0);
	ck_assert_uint_eq(inner->depth, 1);
	ck_assert_int_eq(outer->result, 105);
	ck_assert_int_eq(inner->result, 5);
	ck_assert_uint_le(outer->enter, inner->enter);
	ck_assert_uint_le(inner->leave, outer->leave);
}

/* Ten deep, eight remembered: the innermost two are lost and counted. */
static void check_depth(const struct calls *calls)
{
	ck_assert_uint_eq(calls_count(calls, "cuGraphLaunch"), 8);
	for (unsigned i = 0; i < 8; i++) {
		const struct gt_api_call *call = calls_find(calls, "cuGraphLaunch", i);

		ck_assert_uint_eq(call->depth, 7 - i);
		ck_assert_int_eq(call->result, 2 + i);
		ck_assert_uint_eq(call->args[0], 2 + i);
	}
}

static void check_unfinished(const struct calls *calls)
{
	const struct gt_api_call *jumped = calls_find(calls, "cuLaunchHostFunc", 0);
	const struct gt_api_call *ended = calls_find(calls, "cuLaunchHostFunc", 1);
	const struct gt_api_call *next = calls_find(calls, "cuMemFree_v2", 0);

	ck_assert_ptr_nonnull(jumped);
	ck_assert_ptr_nonnull(ended);
	ck_assert_ptr_nonnull(next);
	ck_assert_uint_eq(jumped->flags, GT_API_CALL_UNFINISHED);
	ck_assert_uint_eq(jumped->args[0], 66);
	ck_assert_uint_eq(ended->flags, GT_API_CALL_UNFINISHED);
	ck_assert_uint_eq(ended->args[0], 77);
	ck_assert_int_eq(ended->result, -1);
	ck_assert_uint_eq(next->flags, 0);
	ck_assert_uint_eq(next->depth, 0);
	ck_assert_uint_eq(calls_count(calls, "cuLaunchHostFunc"), 2);
}

static void check_tail_call(const struct calls *calls)
{
#ifdef __x86_64__
	const struct gt_api_call *outer = calls_find(calls, "cuStreamQuery", 0);
	const struct gt_api_call *inner = calls_find(calls, "cuStreamSynchronize", 0);

	ck_assert_ptr_nonnull(outer);
	ck_assert_ptr_nonnull(inner);
	ck_assert_int_eq(outer->result, 1006);
	ck_assert_int_eq(inner->result, 1006);
	ck_assert_uint_eq(outer->depth, 0);
	ck_assert_uint_eq(inner->depth, 1);
	ck_assert_uint_eq(outer->args[0], 5);
	ck_assert_uint_eq(inner->args[0], 1005);
#else
	(void)calls;
#endif
}

START_TEST(test_nesting)
{
	struct calls calls = { 0 };
	struct child child = child_start(nested_calls);
	struct gt_api_trace *trace;

	trace = fake_trace(child.pid, _i);
	child_go(&child);
	child_end(&child);
	calls_take(trace, &calls);
	sane(&calls);
	check_nested(&calls);
	check_depth(&calls);
	check_unfinished(&calls);
	check_tail_call(&calls);
	ck_assert_uint_eq(gt_api_trace_lost(trace), 2);
	/* Rubbish above a narrow argument is cut off. */
	ck_assert_uint_eq(calls_find(&calls, "cuMemsetD8_v2", 0)->args[1], 1);
	/* Two names, one function, one record. */
	ck_assert_uint_eq(calls_count(&calls, "cuMemFree_v2"), 2);
	ck_assert_uint_eq(calls_count(&calls, "cuMemHostUnregister"), 0);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* ---- loss ---- */

#define BURST 200000

static void burst(int go, int ready)
{
	(void)ready;
	wait_go(go);
	fake_open(&fake);
	for (unsigned i = 0; i < BURST; i++)
		fake.cuMemFree_v2(i);
}

static void slow_add(void *calls, const struct gt_api_call *call)
{
	usleep(10);
	calls_add(calls, call);
}

START_TEST(test_overflow)
{
	struct calls calls = { 0 };
	struct child child = child_start(burst);
	struct gt_api_trace_opts opts = fake_opts(child.pid);
	struct gt_api_trace *trace;

	opts.ring_bytes = 4096;
	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), 0);
	child_go(&child);
	/* A record with one argument takes 72 bytes, so that 57 fill the ring, however fast more come. */
	for (int i = 0; i < 20; i++)
		ck_assert_int_le(gt_api_trace_consume(trace, slow_add, &calls), 57);
	child_end(&child);
	calls_take(trace, &calls);
	sane(&calls);
	ck_assert_uint_gt(calls.count, 0);
	ck_assert_uint_gt(gt_api_trace_lost(trace), 0);
	ck_assert_uint_eq(calls.count + gt_api_trace_lost(trace), BURST);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* ---- functions that only ask ---- */

static void ask(int go, int ready)
{
	void *context;

	(void)ready;
	wait_go(go);
	fake_open(&fake);
	fake.cuCtxGetCurrent(&context);
}

START_TEST(test_queries)
{
	struct calls calls = { 0 };
	struct child child = child_start(ask);
	struct gt_api_trace *trace;

	trace = fake_trace(child.pid, _i ? GT_API_TRACE_QUERIES : 0);
	child_go(&child);
	child_end(&child);
	calls_take(trace, &calls);
	ck_assert_uint_eq(calls.count, _i);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* ---- on and off ---- */

static void call_until_told(int go, int ready)
{
	uint64_t dptr;
	char c;

	fake_open(&fake);
	tell(ready);
	/* The parent closes its end when it has seen enough. */
	for (unsigned i = 0;; i++) {
		if (fake.cuMemAlloc_v2(&dptr, i) != (int)(i % 1000) ||
		    dptr != 0x7f0000000000ull + i)
			_exit(20);
		if (fake.cuMemcpyHtoD_v2(1, "x", 1) != 105)
			_exit(21);
		if (i % 64 == 0 && read(go, &c, 1) == 0)
			_exit(0);
	}
}

static void no_wait(int go)
{
	ck_assert_int_eq(fcntl(go, F_SETFL, O_NONBLOCK), 0);
}

static void call_until_told_nonblocking(int go, int ready)
{
	no_wait(go);
	call_until_told(go, ready);
}

static void await_calls(struct gt_api_trace *trace, struct calls *calls)
{
	while (!calls->count) {
		usleep(1000);
		calls_take(trace, calls);
	}
}

START_TEST(test_on_and_off)
{
	struct child child = child_start(call_until_told_nonblocking);
	struct calls calls = { 0 };
	const char *more = getenv("GT_TEST_CYCLES");
	unsigned cycles = _i ? 1 : more ? strtoul(more, NULL, 0) : 20;

	child_wait_ready(&child);
	for (unsigned i = 0; i < cycles; i++) {
		struct gt_api_trace *trace = fake_trace(child.pid, _i);

		await_calls(trace, &calls);
		sane(&calls);
		for (size_t k = 0; k < calls.count; k++)
			ck_assert_uint_eq(calls.list[k].flags, 0);
		calls_clear(&calls);
		gt_api_trace_close(trace);
	}
	child_end(&child);
}
END_TEST

/* ---- refusals ---- */

START_TEST(test_bad_options)
{
	struct gt_api_trace_opts opts = fake_opts(getpid());
	struct gt_api_trace *trace = NULL;

	opts.library = "/nonexistent/libcuda.so.1";
	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), -ENOENT);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "/nonexistent/libcuda.so.1"));
	opts.library = "/etc/passwd";
	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), -ENOEXEC);
	opts.library = "/proc/self/exe";
	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), -ENOENT);
	opts = fake_opts(getpid());
	opts.ring_bytes = 5000;
	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), -EINVAL);
	opts = fake_opts(0x3ffffff);
	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), -ESRCH);
	ck_assert_ptr_null(trace);
	gt_api_trace_close(NULL);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("api-trace");

	skip_unless_permitted();
	tcase_add_loop_test(t, test_counts, 0, 1);
	tcase_add_loop_test(t, test_counts, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_loop_test(t, test_nesting, 0, 1);
	tcase_add_test(t, test_overflow);
	tcase_add_loop_test(t, test_queries, 0, 2);
	tcase_add_loop_test(t, test_on_and_off, 0, 1);
	tcase_add_loop_test(t, test_on_and_off, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_test(t, test_bad_options);
	return run_case("api-trace", t);
}
