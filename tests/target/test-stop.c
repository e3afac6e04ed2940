/* SPDX-License-Identifier: Apache-2.0 */
/* Stopping a thread: its signals are the program's. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/target/hijack_stop.h"
#include "tests/suite.h"

static const int signals[] = { SIGUSR1, SIGTRAP };
static volatile sig_atomic_t came;

static void count(int signal)
{
	(void)signal;
	came++;
}

/* Ends when a signal has come, with how often it did. */
static pid_t start(int signal)
{
	sigset_t one, before;
	pid_t pid;

	/* It comes when it is waited for. */
	sigemptyset(&one);
	sigaddset(&one, signal);
	sigprocmask(SIG_BLOCK, &one, &before);
	pid = fork();
	if (!pid) {
		sigaction(signal, &(struct sigaction){ .sa_handler = count }, NULL);
		while (!came)
			sigsuspend(&before);
		_exit(came);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	return pid;
}

static char state_of(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	ck_assert_int_eq(fscanf(file, "%*d %*s %c", &state), 1);
	fclose(file);
	return state;
}

/* A signal of its own stops it, before it is asked to: it gets the signal all the same. */
START_TEST(signal_comes_first)
{
	pid_t pid = start(signals[_i]);
	int status;

	ck_assert_int_eq(ptrace(PTRACE_SEIZE, pid, NULL, NULL), 0);
	kill(pid, signals[_i]);
	while (state_of(pid) != 't')
		usleep(1000);
	ck_assert_int_eq(gt_stop_interrupt(pid), 0);
	gt_stop_let_go(pid);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("stop");

	tcase_add_loop_test(tcase, signal_comes_first, 0, 2);
	return run_case("stop", tcase);
}
