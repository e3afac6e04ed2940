/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels in graphs are counted exactly, however often graphs are made, set anew,
 * copied and destroyed.  With GPUTRACE_TEST_DEVICE=gpu the same on a GPU.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "both.h"

/* The same output with and without us, `kernels` ends of kernels of `captured` launches, none lost. */
static void check_run(unsigned captured, unsigned kernels, const char *what, const char *first,
		      const char *second)
{
	struct run_options options = {
		.timeline = true, .object = "examples/bpf/threads.bpf.o", .real_device = real_device,
		.gpu_ring_bytes = 64 << 20, .agent_ring_bytes = 16 << 20,
	};
	unsigned long threads;

	run_plain(&plain, real_device, what, first, second, NULL);
	run_target(&run, &options, what, first, second, NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, 0);
	ck_assert_uint_eq(run.lost, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], captured);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], kernels);
	ck_assert_str_eq(run.notes, "");
	ck_assert_int_eq(sscanf(strstr(run.output, "threads"), "threads %lu right", &threads), 1);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), threads);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), threads);
	for (unsigned i = 0; i < kernels && i < RUN_KEPT; i++) {
		ck_assert_uint_ne(run.kernels[i].launch_id, 0);
		ck_assert_uint_le(run.kernels[i].time, run.kernels[i].end);
		ck_assert_uint_ne(run.kernels[i].block[0], 0);	/* known from its launch */
	}
}

/* More nodes than there are slots for in one context. */
START_TEST(long_graph)
{
	check_run(5000, 30000, "long", "5000", "6");
	ck_assert_ptr_nonnull(strstr(run.output, "flat"));
}
END_TEST

START_TEST(long_replay)
{
	const char *replays = getenv("GPUTRACE_TEST_REPLAYS");

	if (real_device)
		check_run(1000, 1000 * atoi(replays ? replays : "3000"), "long", "1000", replays ? replays : "3000");
	else
		check_run(10, 20000, "long", "10", "2000");
	ck_assert_ptr_nonnull(strstr(run.output, "flat"));
}
END_TEST

/* 3 nodes built, 3 captured, 2 set; 12 kernels. */
START_TEST(graphs_come_and_go)
{
	if (real_device)
		check_run(20000 * 8, 20000 * 12, "churn", "20000", NULL);
	else
		check_run(2000 * 8, 2000 * 12, "churn", "2000", NULL);
	ck_assert_ptr_nonnull(strstr(run.output, "flat"));
}
END_TEST

START_TEST(nodes_side_by_side)
{
	check_run(500, 2 * 500 * 20, "wide", "500", "20");
}
END_TEST

START_TEST(executables_of_one_graph)
{
	check_run(4, 2 * 1500 * 4, "many", "1500", NULL);
}
END_TEST

START_TEST(child_graphs_and_clones)
{
	check_run(4, 300 * 12, "nested", "300", NULL);
}
END_TEST

/* Each kernel is tied to its own node: node i has i threads, and there are two of each. */
START_TEST(kernels_of_nodes)
{
	unsigned by_size[25] = { 0 };

	check_run(48, 48, "mixed", "1", NULL);
	for (unsigned i = 0; i < 48; i++) {
		const struct run_event *kernel = &run.kernels[i];

		ck_assert_uint_le(kernel->block[0], 24);
		by_size[kernel->block[0]]++;
		for (unsigned j = 0; j < i; j++)
			ck_assert_uint_ne(run.kernels[j].launch_id, kernel->launch_id);
	}
	for (unsigned i = 1; i <= 24; i++)
		ck_assert_uint_eq(by_size[i], 2);
}
END_TEST

/* Made while there were programs in its kernels, launched when they have been switched off. */
START_TEST(detached_graph)
{
	struct run_options options = {
		.timeline = true, .object = "examples/bpf/threads.bpf.o", .real_device = real_device,
		.detach_at = "add",
	};

	run_plain(&plain, real_device, "long", "10", "1000", NULL);
	run_target(&run, &options, "long", "10", "1000", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, 0);
	ck_assert_uint_ge(run.events[GPUTRACE_EVENT_KERNEL], 1);
}
END_TEST

/* More than there are slots, and never the time to see one end. */
START_TEST(destroyed_while_running)
{
	check_run(4500, 4500, "early", "4500", NULL);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("graphs");

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_test(tcase, long_graph);
	tcase_add_test(tcase, long_replay);
	tcase_add_test(tcase, graphs_come_and_go);
	tcase_add_test(tcase, nodes_side_by_side);
	tcase_add_test(tcase, executables_of_one_graph);
	tcase_add_test(tcase, child_graphs_and_clones);
	tcase_add_test(tcase, kernels_of_nodes);
	tcase_add_test(tcase, detached_graph);
	tcase_add_test(tcase, destroyed_while_running);
	return run_case("graphs", tcase);
}
