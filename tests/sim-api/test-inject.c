/* SPDX-License-Identifier: Apache-2.0 */
/* CUDA_INJECTION64_PATH, in processes of its own. */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim-api/common.h"

/* What a child that initialises the driver twice prints, with the variable set so. */
static void run_child(const char *path, char *out, size_t size)
{
	int fds[2], status;
	size_t n = 0;
	ssize_t got;
	pid_t pid;

	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	if (pid == 0) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		if (path)
			setenv("CUDA_INJECTION64_PATH", path, 1);
		else
			unsetenv("CUDA_INJECTION64_PATH");
		if (cuInit(0) || dprintf(STDOUT_FILENO, "after\n") < 0 || cuInit(0))
			_exit(1);
		_exit(0);
	}
	close(fds[1]);
	while (n < size - 1 && (got = read(fds[0], out + n, size - 1 - n)) > 0)
		n += (size_t)got;
	out[n] = '\0';
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(called_once_before_init_returns)
{
	char out[200];

	run_child(SIM_API_INJECT, out, sizeof(out));
	ck_assert_str_eq(out, "injected: result 0, 1 device, entry 1\nafter\n");
}
END_TEST

START_TEST(nothing_to_load)
{
	char out[200];

	run_child(NULL, out, sizeof(out));
	ck_assert_str_eq(out, "after\n");
	run_child("", out, sizeof(out));
	ck_assert_str_eq(out, "after\n");
	run_child("/no/such/library.so", out, sizeof(out));
	ck_assert_str_eq(out, "after\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sim-inject");
	TCase *tc = tcase_create("all");

	tcase_add_test(tc, called_once_before_init_returns);
	tcase_add_test(tc, nothing_to_load);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
