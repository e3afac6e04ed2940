/* SPDX-License-Identifier: Apache-2.0 */
/* 8 threads on 4 streams in each of 2 contexts of 3 processes: every launch is tied to exactly one kernel. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "both.h"

#define PROCESSES 3
#define THREADS 16		/* of a process, over both contexts */
#define LAUNCHES 20
#define ALL (PROCESSES * THREADS * LAUNCHES)

static int by_process_and_launch(const void *left, const void *right)
{
	const struct run_event *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->launch_id > b->launch_id) - (a->launch_id < b->launch_id);
}

static void sort(struct run_event *events, unsigned count)
{
	ck_assert_uint_eq(count, ALL);
	qsort(events, count, sizeof(events[0]), by_process_and_launch);
}

/* The calls of launches to the front; how many. */
static unsigned keep_launching_calls(void)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		if (!strcmp(run.calls[i].name, "cuLaunchKernel"))
			run.calls[kept++] = run.calls[i];
	}
	return kept;
}

/* No launch is there twice, and each thread of each process has made all of its own. */
static void check_launches(void)
{
	static unsigned char seen[PROCESSES][THREADS + 1][LAUNCHES + 1];
	int process = -1;

	memset(seen, 0, sizeof(seen));
	for (unsigned i = 0; i < ALL; i++) {
		const struct run_event *launch = &run.launches[i];

		if (!i || launch->pid != launch[-1].pid)
			process++;
		else
			ck_assert_uint_ne(launch->launch_id, launch[-1].launch_id);
		ck_assert_int_lt(process, PROCESSES);
		ck_assert_uint_ne(launch->launch_id, 0);
		ck_assert_uint_le(launch->grid[0], THREADS);
		ck_assert_uint_le(launch->grid[1], LAUNCHES);
		ck_assert_int_eq(seen[process][launch->grid[0]][launch->grid[1]]++, 0);
		ck_assert_uint_eq(launch->grid[2], (launch->grid[0] - 1) % 2 + 1);
	}
	ck_assert_int_eq(process, PROCESSES - 1);
}

static void check_run(const uint32_t *flags)
{
	struct run_options options = { .timeline = true, .api = true, .api_flags = flags, .real_device = real_device };

	run_plain(&plain, real_device, "2", "20", NULL);
	run_target(&run, &options, "2", "20", NULL);
	ck_assert_str_eq(run.output, "3 processes, status 0\n");
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_uint_eq(run.lost, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], PROCESSES);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 2 * PROCESSES);
	sort(run.launches, run.events[GPUTRACE_EVENT_LAUNCH]);
	sort(run.kernels, run.events[GPUTRACE_EVENT_KERNEL]);
	sort(run.calls, keep_launching_calls());
	check_launches();
	for (unsigned i = 0; i < ALL; i++) {
		const struct run_event *launch = &run.launches[i], *kernel = &run.kernels[i], *call = &run.calls[i];

		ck_assert_int_eq(kernel->pid, launch->pid);
		ck_assert_uint_eq(kernel->launch_id, launch->launch_id);
		ck_assert_mem_eq(kernel->grid, launch->grid, sizeof(kernel->grid));
		ck_assert_uint_eq(kernel->stream, launch->stream);
		ck_assert_int_eq(kernel->tid, launch->tid);
		ck_assert_uint_ge(kernel->time + kernel->error, launch->time);
		ck_assert_uint_eq(call->launch_id, launch->launch_id);
		ck_assert_int_eq(call->tid, launch->tid);
		ck_assert_uint_eq(call->args[1], launch->grid[0]);
		ck_assert_uint_eq(call->args[2], launch->grid[1]);
		ck_assert(call->time <= launch->time && launch->end <= call->end);
	}
}

START_TEST(calls_by_hooks)
{
	static const uint32_t flags[] = { GPUTRACE_API_AGENT, 0 };

	check_run(flags);
}
END_TEST

START_TEST(calls_by_uprobes)
{
	static const uint32_t flags[] = { GPUTRACE_API_UPROBES, 0 };

	check_run(flags);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("crowd");
	int failed;

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_test(tcase, calls_by_hooks);
	if (!geteuid())
		tcase_add_test(tcase, calls_by_uprobes);
	failed = run_case("crowd", tcase);
	if (!failed && geteuid()) {
		fprintf(stderr, "all but calls_by_uprobes passed: uprobes need root\n");
		return 77;
	}
	return failed;
}
