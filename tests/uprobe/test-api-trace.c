/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a library that looks like the driver, made by a child process and seen by its parent. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "lib/util/error.h"
#include "tests/suite.h"

#define THREADS 4
#define ROUNDS 1000
#define CHILD_ROUNDS 500

static unsigned trace_flags;	/* for open_for() */

static struct gt_api_trace *open_for(pid_t pid)
{
	struct gt_api_trace_opts opts = fake_opts(pid);
	struct gt_api_trace *trace = NULL;
	int r;

	opts.flags = trace_flags;
	r = gt_api_trace_open(&opts, &trace);
	ck_assert_msg(r == 0, "%d: %s", r, gt_error_text());
	ck_assert_ptr_null(gt_notes_take(&fake_notes));
	return trace;
}

static void take(struct gt_api_trace *trace, struct calls *calls)
{
	size_t before = calls->count;
	int n = gt_api_trace_consume(trace, calls_add, calls);

	ck_assert_int_ge(n, 0);
	ck_assert_uint_eq(calls->count - before, n);
}

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

	trace_flags = _i;
	trace = open_for(child.pid);
	child_go(&child);
	child_end(&child);
	take(trace, &calls);
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

	trace_flags = _i;
	trace = open_for(child.pid);
	child_go(&child);
	child_end(&child);
	take(trace, &calls);
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
	take(trace, &calls);
	sane(&calls);
	ck_assert_uint_gt(calls.count, 0);
	ck_assert_uint_gt(gt_api_trace_lost(trace), 0);
	ck_assert_uint_eq(calls.count + gt_api_trace_lost(trace), BURST);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* ---- who is watched ---- */

static void call_twice(int go, int ready)
{
	fake_open(&fake);
	fake.cuMemFree_v2(1);
	tell(ready);
	wait_go(go);
	fake.cuMemFree_v2(2);
}

/* Two processes call one library; the other one started before, as the watched one did. */
START_TEST(test_filter)
{
	struct calls calls = { 0 };
	struct child watched = child_start(call_twice), other = child_start(call_twice);
	struct gt_api_trace *trace;

	trace_flags = 0;
	child_wait_ready(&watched);
	child_wait_ready(&other);
	trace = open_for(watched.pid);
	child_go(&other);
	child_end(&other);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 0);
	child_go(&watched);
	child_end(&watched);
	gt_api_trace_detach(trace);
	gt_api_trace_detach(trace);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 1);
	ck_assert_uint_eq(calls.list[0].pid, watched.pid);
	ck_assert_uint_eq(calls.list[0].args[0], 2);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

START_TEST(test_everybody)
{
	struct calls calls = { 0 };
	struct child one = child_start(call_twice), two;
	struct gt_api_trace *trace;

	child_wait_ready(&one);
	trace = open_for(-1);
	two = child_start(call_twice);
	child_wait_ready(&two);
	child_go(&one);
	child_go(&two);
	child_end(&one);
	child_end(&two);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 3);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* A child that was there already when watching began is watched with its parent. */
static void parent_of_caller(int go, int ready)
{
	pid_t pid = fork();

	if (pid == 0) {
		call_twice(go, ready);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

START_TEST(test_running_tree)
{
	struct calls calls = { 0 };
	struct child child = child_start(parent_of_caller);
	struct gt_api_trace *trace;

	child_wait_ready(&child);
	trace = open_for(child.pid);
	child_go(&child);
	child_end(&child);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 1);
	ck_assert_uint_ne(calls.list[0].pid, child.pid);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

static void stay(void *ready)
{
	tell((int)(intptr_t)ready);
	for (;;)
		pause();
}

static void call_and_stay(int go, int ready)
{
	fake_open(&fake);
	wait_go(go);
	fake.cuMemFree_v2(1);
	fake.cuMemFree_v2(2);
	fake.cuLaunchHostFunc((void *)88, stay, (void *)(intptr_t)ready);
}

/* Killed in the middle of a call: what it had called is there, and so is that call. */
START_TEST(test_killed)
{
	struct calls calls = { 0 };
	struct child child = child_start(call_and_stay);
	struct gt_api_trace *trace;

	trace_flags = _i;
	trace = open_for(child.pid);
	child_go(&child);
	child_wait_ready(&child);
	ck_assert_int_eq(kill(child.pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child.pid, NULL, 0), child.pid);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 3);
	ck_assert_uint_eq(calls.list[0].args[0], 1);
	ck_assert_uint_eq(calls.list[1].args[0], 2);
	ck_assert_str_eq(calls.list[2].name, "cuLaunchHostFunc");
	ck_assert_uint_eq(calls.list[2].args[0], 88);
	ck_assert_uint_eq(calls.list[2].flags, GT_API_CALL_UNFINISHED);
	ck_assert_uint_eq(gt_api_trace_lost(trace), 0);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* The number of a process that has ended goes to one that nobody asked for. */
START_TEST(test_pid_reuse)
{
	struct calls calls = { 0 };
	struct child watched = child_start(call_twice);
	struct gt_api_trace *trace;
	pid_t pid = watched.pid, again;
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };

	trace_flags = 0;
	child_wait_ready(&watched);
	trace = open_for(pid);
	child_go(&watched);
	child_end(&watched);
	again = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (again == 0) {
		fake_open(&fake);
		fake.cuMemFree_v2(3);
		_exit(0);
	}
	ck_assert_int_eq(again, pid);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 1);
	ck_assert_uint_eq(calls.list[0].args[0], 2);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* In a pid namespace of its own, as in a container: ids are those that the opener sees. */
static int in_namespace(void)
{
	struct calls calls = { 0 };
	struct child child = child_start(parent_of_caller);
	struct gt_api_trace *trace;

	child_wait_ready(&child);
	trace = open_for(child.pid);
	child_go(&child);
	child_end(&child);
	child = child_start(parent_of_caller);
	child_wait_ready(&child);
	child_go(&child);
	child_end(&child);
	take(trace, &calls);
	ck_assert_uint_eq(calls.count, 1);
	/* This is process 1, the child 2, and the grandchild that calls is 3. */
	ck_assert_uint_eq(calls.list[0].pid, 3);
	ck_assert_uint_eq(calls.list[0].tid, 3);
	gt_api_trace_close(trace);
	return 0;
}

#define NOT_RUN 77

/* A process that has made its child's namespace can hardly go on when that child has ended: this one need not. */
static int make_namespace(void)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS))
		return NOT_RUN;
	pid = fork();
	if (pid == 0) {
		/* Else /proc shows the outer namespace. */
		if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
		    mount("proc", "/proc", "proc", 0, NULL))
			_exit(NOT_RUN);
		_exit(in_namespace());
	}
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}

START_TEST(test_pid_namespace)
{
	int status;
	pid_t pid = fork();

	trace_flags = 0;
	if (pid == 0)
		_exit(make_namespace());
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_RUN)
		printf("test_pid_namespace not run: this machine lets nobody make a namespace\n");
	else
		ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

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

	trace_flags = _i ? GT_API_TRACE_QUERIES : 0;
	trace = open_for(child.pid);
	child_go(&child);
	child_end(&child);
	take(trace, &calls);
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
		take(trace, calls);
	}
}

START_TEST(test_on_and_off)
{
	struct child child = child_start(call_until_told_nonblocking);
	struct calls calls = { 0 };
	const char *more = getenv("GT_TEST_CYCLES");
	unsigned cycles = _i ? 1 : more ? strtoul(more, NULL, 0) : 20;

	child_wait_ready(&child);
	trace_flags = _i;
	for (unsigned i = 0; i < cycles; i++) {
		struct gt_api_trace *trace = open_for(child.pid);

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

static Suite *suite(void)
{
	Suite *s = suite_create("api-trace");
	TCase *t = tcase_create("calls");

	tcase_add_loop_test(t, test_counts, 0, 1);
	tcase_add_loop_test(t, test_counts, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_loop_test(t, test_nesting, 0, 1);
	tcase_add_test(t, test_overflow);
	tcase_add_test(t, test_filter);
	tcase_add_test(t, test_everybody);
	tcase_add_test(t, test_running_tree);
	tcase_add_loop_test(t, test_killed, 0, 1);
	tcase_add_loop_test(t, test_killed, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_test(t, test_pid_reuse);
	tcase_add_test(t, test_pid_namespace);
	tcase_add_loop_test(t, test_queries, 0, 2);
	tcase_add_loop_test(t, test_on_and_off, 0, 1);
	tcase_add_loop_test(t, test_on_and_off, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_test(t, test_bad_options);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	skip_unless_permitted();
	return run_suite(suite());
}
