/* SPDX-License-Identifier: Apache-2.0 */
/* Whose calls are seen: of one process and those that it starts, or of all; whatever becomes of them. */
#include <check.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"
#include "tests/suite.h"

static struct fake fake;

static void call_twice(int go, int ready)
{
	fake_open(&fake);
	fake.cuMemFree_v2(1);
	tell(ready);
	wait_go(go);
	fake.cuMemFree_v2(2);
}

/* A process that is ready is watched, and goes on to its end. */
static struct gt_api_trace *watch_to_the_end(struct child child)
{
	struct gt_api_trace *trace;

	child_wait_ready(&child);
	trace = fake_trace(child.pid, 0);
	ck_assert(gt_api_trace_has_processes(trace));
	child_go(&child);
	child_end(&child);
	return trace;
}

/* Two processes call one library; the other one started before, as the watched one did. */
START_TEST(test_filter)
{
	struct calls calls = { 0 };
	struct child watched = child_start(call_twice), other = child_start(call_twice);
	struct gt_api_trace *trace;

	child_wait_ready(&watched);
	child_wait_ready(&other);
	trace = fake_trace(watched.pid, 0);
	child_go(&other);
	child_end(&other);
	calls_take(trace, &calls);
	ck_assert_uint_eq(calls.count, 0);
	child_go(&watched);
	child_end(&watched);
	gt_api_trace_detach(trace);
	gt_api_trace_detach(trace);
	calls_take(trace, &calls);
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
	trace = fake_trace(-1, 0);
	two = child_start(call_twice);
	child_wait_ready(&two);
	child_go(&one);
	child_go(&two);
	child_end(&one);
	child_end(&two);
	calls_take(trace, &calls);
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
	struct gt_api_trace *trace = watch_to_the_end(child);

	calls_take(trace, &calls);
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

	trace = fake_trace(child.pid, _i);
	child_go(&child);
	child_wait_ready(&child);
	ck_assert_int_eq(kill(child.pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(child.pid, NULL, 0), child.pid);
	calls_take(trace, &calls);
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
	struct gt_api_trace *trace = watch_to_the_end(watched);
	pid_t pid = watched.pid, again;
	struct clone_args args = { .exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };

	again = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (again == 0) {
		fake_open(&fake);
		fake.cuMemFree_v2(3);
		_exit(0);
	}
	ck_assert_int_eq(again, pid);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	calls_take(trace, &calls);
	ck_assert_uint_eq(calls.count, 1);
	ck_assert_uint_eq(calls.list[0].args[0], 2);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

static void end_at_once(int go, int ready)
{
	(void)go;
	(void)ready;
}

/* It has ended when watching begins, and only its parent does not know yet: nobody is watched then, not its heir either. */
START_TEST(test_ended_before)
{
	struct child child = child_start(end_at_once);
	struct gt_api_trace *trace;
	siginfo_t ended;

	ck_assert_int_eq(waitid(P_PID, (id_t)child.pid, &ended, WEXITED | WNOWAIT), 0);
	trace = fake_trace(child.pid, 0);
	ck_assert(!gt_api_trace_has_processes(trace));
	child_end(&child);
	gt_api_trace_close(trace);
}
END_TEST

static void parent_of_ended(int go, int ready)
{
	siginfo_t ended;
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT);
	tell(ready);
	wait_go(go);
}

START_TEST(test_child_ended_before)
{
	struct gt_api_trace *trace = watch_to_the_end(child_start(parent_of_ended));

	ck_assert(!gt_api_trace_has_processes(trace));
	gt_api_trace_close(trace);
}
END_TEST

static struct {
	int go, ready;
} pipes_of_thread;

static void *call_in_thread(void *unused)
{
	char line[64] = "", state = 0;

	(void)unused;
	while (state != 'Z') {
		FILE *file = fopen("/proc/self/stat", "r");

		state = file && fgets(line, sizeof(line), file) ? strrchr(line, ')')[2] : 'Z';
		if (file)
			fclose(file);
	}
	call_twice(pipes_of_thread.go, pipes_of_thread.ready);
	_exit(0);
}

/* The main thread has ended, another one goes on. */
static void go_on_without_main(int go, int ready)
{
	pthread_t thread;

	pipes_of_thread.go = go;
	pipes_of_thread.ready = ready;
	pthread_create(&thread, NULL, call_in_thread, NULL);
	pthread_exit(NULL);
}

START_TEST(test_main_thread_ended_before)
{
	struct calls calls = { 0 };
	struct gt_api_trace *trace = watch_to_the_end(child_start(go_on_without_main));

	ck_assert(!gt_api_trace_has_processes(trace));
	calls_take(trace, &calls);
	ck_assert_uint_eq(calls.count, 1);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* In a pid namespace of its own, as in a container: ids are those that the opener sees. */
static int in_namespace(void)
{
	struct calls calls = { 0 };
	struct gt_api_trace *trace = watch_to_the_end(child_start(parent_of_caller));
	struct child child = child_start(parent_of_caller);

	child_wait_ready(&child);
	child_go(&child);
	child_end(&child);
	calls_take(trace, &calls);
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

int main(void)
{
	TCase *t = tcase_create("watched");

	skip_unless_permitted();
	tcase_add_test(t, test_filter);
	tcase_add_test(t, test_everybody);
	tcase_add_test(t, test_running_tree);
	tcase_add_loop_test(t, test_killed, 0, 1);
	tcase_add_loop_test(t, test_killed, GT_API_TRACE_SINGLE, GT_API_TRACE_SINGLE + 1);
	tcase_add_test(t, test_pid_reuse);
	tcase_add_test(t, test_ended_before);
	tcase_add_test(t, test_child_ended_before);
	tcase_add_test(t, test_main_thread_ended_before);
	tcase_add_test(t, test_pid_namespace);
	return run_case("watched", t);
}
