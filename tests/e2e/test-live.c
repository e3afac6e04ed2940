/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching to a program that runs already, on the software device. */
#include <check.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "running.h"
#include "tests/suite.h"

static void start(const char *threads)
{
	start_program(TARGET_PATH, "live", threads, NULL, false);
}

/* A kernel without programs was launched so often. */
static bool has_launched(const char *name, uint64_t least)
{
	const struct gputrace_kernel *kernel = find_kernel(name, 0);

	return kernel && gputrace_kernel_get_launches(kernel) >= least;
}

/* For launches that nobody reads while a busy machine has other things to do. */
static const struct gputrace_live_opts roomy = { .size = sizeof(roomy), .agent_ring_bytes = 256 << 20 };

/* What was loaded before is launched before our eyes; what is loaded now gets programs. */
START_TEST(a_running_program_is_seen)
{
	const struct gputrace_kernel *kernel;
	struct seen seen = { 0 };

	start(_i ? "8" : "0");
	expect("ready");
	attach_with(&roomy);
	say("load\n");
	expect("another 69");
	while (seen.kernels < 1 || (_i && !(has_launched("bump", 100) && has_launched("spin", 1))))
		take_more(&seen);
	if (_i) {
		kernel = find_kernel("bump", 0);
		ck_assert_ptr_nonnull(kernel);
		ck_assert_str_eq(gputrace_kernel_get_reason(kernel), LOADED_BEFORE);
		/* Launched by the handle of a library's kernel, which cuFuncGetAttribute() does not take. */
		kernel = find_kernel("spin", 0);
		ck_assert_ptr_nonnull(kernel);
		ck_assert_uint_eq(gputrace_kernel_get_arch(kernel), 90);
		ck_assert_uint_gt(gputrace_kernel_get_registers(kernel), 0);
	}
	kernel = find_kernel("bump", 1);
	ck_assert_ptr_nonnull(kernel);
	ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), 1);
	detach(&seen);
	ck_assert_uint_eq(seen.kernels, 1);
	ck_assert_uint_eq(seen.exits, 1);
	ck_assert_uint_eq(seen.lost, 0);
	ck_assert_str_eq(seen.notes, "");
	say("load\n");
	expect("another 69");
	finish();
}
END_TEST

/* Whoever writes there shall not write to us. */
START_TEST(closed_standard_streams_stay_closed)
{
	char path[32];

	start_program(TARGET_PATH, "mute", "1", NULL, false);
	expect("ready");
	attach();
	for (int fd = 1; fd < 3; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)program.pid, fd);
		ck_assert_int_eq(access(path, F_OK), -1);
	}
	detach(&(struct seen){ 0 });
	finish();
}
END_TEST

static unsigned count_lines(const char *command)
{
	unsigned count = 0;
	FILE *file = popen(command, "r");

	ck_assert_int_eq(fscanf(file, "%u", &count), 1);
	pclose(file);
	return count;
}

/* Of the program; the software device's own begin when it has work for them, and stay. */
static unsigned count_threads(void)
{
	char command[128];

	snprintf(command, sizeof(command), "cat /proc/%d/task/*/comm 2>/dev/null | grep -cv gputrace-sim", (int)program.pid);
	return count_lines(command);
}

static unsigned count_descriptors(void)
{
	char command[128];

	snprintf(command, sizeof(command), "ls /proc/%d/fd | wc -l", (int)program.pid);
	return count_lines(command);
}

/* What the controller says is heard all the same. */
START_TEST(a_process_that_may_not_poll_any_more)
{
	const struct rlimit none = { 0, 0 };
	struct seen seen = { 0 };
	unsigned descriptors;

	start("1");
	expect("ready");
	descriptors = count_descriptors();
	attach();
	ck_assert_int_eq(prlimit(program.pid, RLIMIT_NOFILE, &none, NULL), 0);
	usleep(200000);		/* what is waiting already goes on until its time is over */
	detach(&seen);
	ck_assert_uint_eq(seen.exits, 1);
	wait_for_at_most(count_descriptors, descriptors);
	finish();
}
END_TEST

/* Again and again while eight threads launch: nothing is left behind, and no launch goes wrong. */
START_TEST(attached_a_hundred_times)
{
	unsigned threads = 0, descriptors = 0, kb = 0;
	struct seen seen = { 0 };

	start("8");
	expect("ready");
	for (int i = 0; i < 100; i++) {
		struct seen now = { 0 };

		attach();
		while (!now.launches || !find_kernel("bump", 0))
			take_more(&now);
		detach(&now);
		ck_assert_uint_gt(now.launches, 0);
		ck_assert_str_eq(now.notes, "");
		seen.launches += now.launches;
		if (i == 10) {
			threads = count_threads();
			descriptors = count_descriptors();
			kb = resident_kb();
		}
	}
	ck_assert_uint_gt(seen.launches, 100);
	wait_for_at_most(count_threads, threads + 2);
	wait_for_at_most(count_descriptors, descriptors);
	wait_for_at_most(resident_kb, kb + 2048);
	finish();
}
END_TEST

/* The controller is killed at any moment, also while it puts the agent in: the program goes on. */
START_TEST(the_controller_is_killed)
{
	struct seen seen = { 0 };

	start("4");
	expect("ready");
	for (int i = 0; i < 30; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			attach();
			for (;;)
				gputrace_reader_wait(reader, 100);
		}
		usleep((useconds_t)i * 1500);
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	/* One that was killed in the middle leaves a thread that waits for ten seconds. */
	attach();
	say("load\n");
	expect("another 69");
	while (!seen.kernels)
		take_more(&seen);
	ck_assert_uint_eq(seen.kernels, 1);
	detach(&seen);
	finish();
}
END_TEST

START_TEST(the_program_is_killed)
{
	struct seen seen = { 0 };
	int status, r;

	start("2");
	expect("ready");
	attach();
	kill(program.pid, SIGKILL);
	while ((r = gputrace_reader_wait(reader, PATIENCE_MS)) == 1)
		take(&seen);
	ck_assert_int_eq(r, -ENODATA);
	ck_assert_uint_eq(seen.exits, 1);
	/* Its connection ends a moment before the process does. */
	while (!gputrace_target_has_exited(target, &status))
		usleep(10000);
	ck_assert_int_eq(gputrace_target_has_exited(target, &status), 1);
	ck_assert_int_eq(gputrace_target_detach(target, PATIENCE_MS), 0);
	gputrace_link_unref(timeline);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
	waitpid(program.pid, &status, 0);
	program.pid = 0;
}
END_TEST

START_TEST(what_cannot_be_attached_is_refused)
{
	struct gputrace_target *none = NULL;
	struct gputrace_live_opts opts = { .size = sizeof(opts), .agent = "/nowhere/agent.so" };
	int status;
	pid_t other;

	ck_assert_int_eq(gputrace_target_attach(NULL, 0, NULL, &none), -EINVAL);
	ck_assert_int_eq(gputrace_target_attach(NULL, getpid(), NULL, &none), -EINVAL);
	ck_assert_int_eq(gputrace_target_attach(NULL, 0x3fffffff, NULL, &none), -ESRCH);
	other = fork();
	if (!other) {
		pause();
		_exit(0);
	}
	ck_assert_int_eq(gputrace_target_attach(NULL, other, NULL, &none), -ENODEV);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "libcuda"));
	kill(other, SIGKILL);
	waitpid(other, &status, 0);
	start("1");
	expect("ready");
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, &opts, &none), -ENOENT);
	/* A debugger has it. */
	ck_assert_int_eq(ptrace(PTRACE_SEIZE, program.pid, NULL, NULL), 0);
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, NULL, &none), 0);
	ck_assert_int_eq(gputrace_target_resume(none), -EBUSY);
	ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, program.pid, NULL, NULL), 0);
	waitpid(program.pid, &status, __WALL);
	ck_assert_int_eq(ptrace(PTRACE_DETACH, program.pid, NULL, NULL), 0);
	/* Stopped by a person. */
	kill(program.pid, SIGSTOP);
	waitpid(program.pid, &status, WUNTRACED);
	ck_assert_int_eq(gputrace_target_resume(none), -EAGAIN);
	kill(program.pid, SIGCONT);
	gputrace_target_unref(none);
	/* Somebody else traces it with this library. */
	attach();
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, NULL, &none), 0);
	ck_assert_int_eq(gputrace_target_resume(none), -EBUSY);
	gputrace_target_unref(none);
	detach(&(struct seen){ 0 });
	finish();
}
END_TEST

/* Filters that do not matter, and such that would be the program's end. */
START_TEST(a_program_with_a_seccomp_filter)
{
	static const struct {
		int call;
		uint32_t flags;
		const char *refusal;
	} filters[] = {
		{ SYS_reboot, 0, NULL },
		{ SYS_memfd_create, 0, "memfd_create" },
		/* At the end of the program. */
		{ SYS_shutdown, 0, "shutdown" },
		/* Where its first thread's stack lies, for stacks. */
		{ SYS_sched_getaffinity, 0, "sched_getaffinity" },
		{ SYS_process_vm_readv, 0, NULL },
		{ SYS_process_vm_readv, GPUTRACE_LIVE_COPIES, "process_vm_readv" },
	};
	struct gputrace_live_opts opts = { .size = sizeof(opts), .flags = filters[_i].flags };
	char number[16];
	int r;

	snprintf(number, sizeof(number), "%d", filters[_i].call);
	start_program(TARGET_PATH, "live", "2", number, false);
	expect("ready");
	if (filters[_i].refusal) {
		ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, &opts, &target), 0);
		r = gputrace_target_resume(target);
		ck_assert_int_eq(r, -EPERM);
		ck_assert_ptr_nonnull(strstr(gputrace_last_error(), filters[_i].refusal));
		gputrace_target_unref(target);
	} else {
		attach_with(&opts);
		detach(&(struct seen){ 0 });
	}
	finish();
}
END_TEST

/* A container sees other files: the agent comes in by a copy in memory, which serves the second time too. */
START_TEST(a_program_in_another_mount_namespace)
{
	if (geteuid()) {
		fprintf(stderr, "mount namespaces need root: not tested\n");
		return;
	}
	start_program(TARGET_PATH, "live", "2", NULL, true);
	expect("ready");
	for (int i = 0; i < 2; i++) {
		struct seen seen = { 0 };

		attach();
		say("load\n");
		expect("another 69");
		while (!seen.kernels)
			take_more(&seen);
		detach(&seen);
		ck_assert_uint_eq(seen.kernels, 1);
	}
	finish();
}
END_TEST

/* What /proc/PID has of the main thread is gone; the other threads launch on. */
START_TEST(a_program_whose_main_thread_has_ended)
{
	struct seen seen = { 0 };

	start_program(TARGET_PATH, "headless", "2", NULL, _i);
	expect("ready");
	attach();
	say("load\n");
	expect("another 69");
	while (!seen.kernels)
		take_more(&seen);
	detach(&seen);
	ck_assert_uint_eq(seen.kernels, 1);
	ck_assert_uint_gt(seen.launches, 1);
	ck_assert_str_eq(seen.notes, "");
	finish();
}
END_TEST

/* It was copied into memory there, which does not stay behind. */
START_TEST(an_agent_that_cannot_be_loaded)
{
	char path[4096];
	struct gputrace_live_opts opts = { .size = sizeof(opts), .agent = path };
	unsigned before;
	FILE *file;

	if (geteuid()) {
		fprintf(stderr, "mount namespaces need root: not tested\n");
		return;
	}
	snprintf(path, sizeof(path), "%s.broken", getenv("GPUTRACE_AGENT"));
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	/* It looks like one. */
	fwrite(&(Elf64_Ehdr){ .e_ident = ELFMAG, .e_type = ET_DYN }, sizeof(Elf64_Ehdr), 1, file);
	fclose(file);
	start_program(TARGET_PATH, "live", "2", NULL, true);
	expect("ready");
	before = count_descriptors();
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, &opts, &target), 0);
	ck_assert_int_eq(gputrace_target_resume(target), -ENOEXEC);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "cannot load the agent"));
	ck_assert_uint_eq(count_descriptors(), before);
	gputrace_target_unref(target);
	unlink(path);
	finish();
}
END_TEST

/* It would have us write to files that it may only read, or believe in what is not there. */
START_TEST(a_program_that_lies_about_descriptors)
{
	char file[] = "/tmp/test-live-XXXXXX", text[16] = "";
	int fd = mkstemp(file), r;

	if (geteuid()) {
		fprintf(stderr, "mount namespaces need root: not tested\n");
		return;
	}
	ck_assert_int_eq(write(fd, "precious", 8), 8);
	start_program(TARGET_PATH, "lie", "2", _i ? "/nowhere" : file, true);
	expect("ready");
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, NULL, &target), 0);
	r = gputrace_target_resume(target);
	ck_assert_int_lt(r, 0);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), _i ? "memfd_create" : "cannot be copied"));
	gputrace_target_unref(target);
	ck_assert_int_eq(pread(fd, text, sizeof(text) - 1, 0), 8);
	ck_assert_str_eq(text, "precious");
	close(fd);
	unlink(file);
	finish();
}
END_TEST

/* Names may hold anything; this one looks like the end of itself. */
START_TEST(a_stopped_program_with_a_strange_name)
{
	char folder[] = "/tmp/test-live-XXXXXX", path[64], *whole = realpath(TARGET_PATH, NULL);
	int status;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/a) S (b", folder);
	ck_assert_int_eq(symlink(whole, path), 0);
	free(whole);
	start_program(path, "live", "2", NULL, false);
	expect("ready");
	unlink(path);
	rmdir(folder);
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, NULL, &target), 0);
	kill(program.pid, SIGSTOP);
	waitpid(program.pid, &status, WUNTRACED);
	ck_assert_int_eq(gputrace_target_resume(target), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "is stopped"));
	kill(program.pid, SIGCONT);
	gputrace_target_unref(target);
	finish();
}
END_TEST

static void start_stuck(void)
{
	start_program("tests/e2e/stuck", NULL, NULL, NULL, false);
	expect("ready");
}

/* The agent gives up waiting, and says for what; when the thread has come back, the next one lets go. */
START_TEST(a_thread_that_stays_in_the_driver)
{
	start_stuck();
	attach();
	say("stay\n");
	expect("done");
	ck_assert_int_eq(gputrace_target_detach(target, -1), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "a thread did not come back"));
	gputrace_link_unref(timeline);
	gputrace_reader_unref(reader);
	gputrace_target_unref(target);
	say("come\n");
	expect("done");
	attach();
	detach(&(struct seen){ 0 });
	finish();
}
END_TEST

START_TEST(a_thread_that_ends_in_the_driver)
{
	start_stuck();
	attach();
	say("end\n");
	expect("done");
	detach(&(struct seen){ 0 });
	finish();
}
END_TEST

/* It is not held when it comes back, though we are still there; then it can be attached to. */
START_TEST(a_thread_that_waits_in_the_kernel)
{
	start_stuck();
	say("wait\n");
	expect("waiting");
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, NULL, &target), 0);
	ck_assert_int_eq(gputrace_target_resume(target), -EAGAIN);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "wait in the kernel"));
	gputrace_target_unref(target);
	say("\n");
	expect("done");
	attach();
	detach(&(struct seen){ 0 });
	finish();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("live");

	tcase_add_checked_fixture(tcase, NULL, end_program);
	tcase_add_test(tcase, closed_standard_streams_stay_closed);
	tcase_add_test(tcase, a_process_that_may_not_poll_any_more);
	tcase_add_loop_test(tcase, a_running_program_is_seen, 0, 2);
	tcase_add_test(tcase, attached_a_hundred_times);
	tcase_add_test(tcase, the_controller_is_killed);
	tcase_add_loop_test(tcase, the_program_is_killed, 0, 5);
	tcase_add_test(tcase, what_cannot_be_attached_is_refused);
	tcase_add_loop_test(tcase, a_program_with_a_seccomp_filter, 0, 6);
	tcase_add_test(tcase, a_program_in_another_mount_namespace);
	tcase_add_loop_test(tcase, a_program_whose_main_thread_has_ended, 0, geteuid() ? 1 : 2);
	tcase_add_test(tcase, an_agent_that_cannot_be_loaded);
	tcase_add_loop_test(tcase, a_program_that_lies_about_descriptors, 0, 2);
	tcase_add_test(tcase, a_stopped_program_with_a_strange_name);
	tcase_add_test(tcase, a_thread_that_stays_in_the_driver);
	tcase_add_test(tcase, a_thread_that_ends_in_the_driver);
	tcase_add_test(tcase, a_thread_that_waits_in_the_kernel);
	return run_case("live", tcase);
}
