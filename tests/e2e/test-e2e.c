/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way, on the software device: start a program, put programs into its
 * kernels, read the stream.  With GPUTRACE_TEST_DEVICE=gpu the same on a GPU.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "both.h"

START_TEST(every_launch_becomes_a_kernel)
{
	struct run_options options = timeline();

	run_plain(&plain, real_device, "vecadd", "100", NULL);
	run_target(&run, &options, "vecadd", "100", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 100);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 100);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 1);
	ck_assert_uint_eq(run.lost, 0);
	ck_assert_uint_eq(run.disorder, 0);
	ck_assert_str_eq(run.notes, "");
}
END_TEST

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Kernels are tied to their launches, and nothing happens before its cause. */
START_TEST(kernels_are_tied_to_launches)
{
	struct run_options options = timeline();
	uint64_t begin = now_ns(), took;
	unsigned streams = 0;

	run_target(&run, &options, "vecadd", "64", NULL);
	took = now_ns() - begin;
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 64);
	for (unsigned i = 0; i < 64; i++) {
		const struct run_event *kernel = &run.kernels[i], *launch = NULL;

		for (unsigned j = 0; j < 64; j++) {
			if (run.launches[j].launch_id == kernel->launch_id)
				launch = &run.launches[j];
		}
		ck_assert_ptr_nonnull(launch);
		ck_assert_str_eq(kernel->name, "vecadd");
		ck_assert_uint_eq(kernel->stream, launch->stream);
		ck_assert_uint_eq(kernel->grid[0], launch->grid[0]);
		ck_assert_uint_eq(kernel->block[0], 256);
		ck_assert_uint_le(kernel->time, kernel->end);
		/* The error is what makes this hold, and it must be of use. */
		ck_assert_uint_ge(kernel->time + kernel->error, launch->time);
		ck_assert_uint_lt(kernel->error, real_device ? 10000 : took);
		streams |= kernel->stream == run.kernels[0].stream ? 1 : 2;
	}
	ck_assert_uint_eq(streams, 3);
}
END_TEST

START_TEST(threads_are_counted_exactly)
{
	struct run_options options = counting();
	unsigned long threads;

	run_plain(&plain, real_device, "vecadd", "40", NULL);
	run_target(&run, &options, "vecadd", "40", NULL);
	assert_same_output();
	ck_assert_int_eq(sscanf(run.output, "launches 40 threads %lu", &threads), 1);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), threads);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), threads);
}
END_TEST

/* Four ways out of a kernel, 24 threads each. */
START_TEST(every_way_out_counts)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "exits", NULL);
	run_target(&run, &options, "exits", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 96);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 96);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 1);
}
END_TEST

/* A kernel that spins for a known time. */
START_TEST(lengths_are_measured)
{
	static const uint64_t lengths[] = { 50000, 500000, 5000000 };
	struct run_options options = timeline();

	run_target(&run, &options, "spin", "50000", "500000", "5000000", NULL);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
	for (int i = 0; i < 3; i++) {
		uint64_t measured = run.kernels[i].end - run.kernels[i].time;

		ck_assert_uint_ge(measured + 100, lengths[i]);
		/* A GPU is precise; threads of the software device may have to wait for a core. */
		if (real_device)
			ck_assert_uint_le(measured, lengths[i] + lengths[i] / 100 + 1000);
	}
}
END_TEST

/* 500 + 512 threads of vecadd; 96 and 64 of a kernel without parameters. */
START_TEST(other_ways_to_pass_parameters)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "buffer", NULL);
	run_target(&run, &options, "buffer", NULL);
	assert_same_output();
	ck_assert_ptr_nonnull(strstr(run.output, " parameters 4 0\n"));
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 512 + 96 + 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 3);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* Handles that came by no entry that can be watched: 32 threads of a module's, 64 and 128 of a library's. */
START_TEST(handles_out_of_nowhere)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "private", NULL);
	run_target(&run, &options, "private", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64 + 128);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 32 + 64 + 128);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 3);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* Whoever reads the file, the program or the driver: 32 threads of a module's kernel, 64 of a library's. */
START_TEST(code_from_files)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "files", NULL);
	run_target(&run, &options, "files", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
}
END_TEST

/* Each replay runs 1024 + 2048 + 32 captured threads and 32 + 64 in nodes. */
START_TEST(graphs_replay_with_their_probes)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "graph", "50", NULL);
	run_target(&run, &options, "graph", "50", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 50u * (1024 + 2048 + 32 + 32 + 64));
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 50u * (1024 + 2048 + 32 + 32 + 64));
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 5);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 250);
	ck_assert_uint_eq(run.lost, 0);
}
END_TEST

/* Its code is compiled once and its kernel is one kernel, however often it is loaded. */
START_TEST(modules_come_and_go)
{
	struct run_options options = counting();
	const struct gputrace_kernel *kernel = NULL;
	unsigned kernels = 0;

	run_plain(&plain, real_device, "reload", "200", NULL);
	run_target(&run, &options, "reload", "200", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 200 * 32);
	while ((kernel = gputrace_target_next_kernel(run.target, kernel))) {
		kernels++;
		if (!strcmp(gputrace_kernel_get_name(kernel), "bump"))
			ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), 200);
		ck_assert_int_eq(gputrace_kernel_get_route(kernel), GPUTRACE_ROUTE_PTX);
		ck_assert_ptr_null(gputrace_kernel_get_reason(kernel));
	}
	ck_assert_uint_eq(kernels, 4);
}
END_TEST

/* An image that is left as it is has kernels that are not listed before they run; its note is their reason. */
START_TEST(images_left_as_they_are)
{
	static const char why[] = "an image without machine code for this GPU is left as it is";
	struct run_options options = counting();
	const struct gputrace_kernel *kernel = NULL;
	unsigned kernels = 0;

	setenv("GPUTRACE_ROUTE", "graft", 1);
	run_target(&run, &options, "reload", "20", NULL);
	unsetenv("GPUTRACE_ROUTE");
	ck_assert_ptr_nonnull(strstr(run.notes, why));
	while ((kernel = gputrace_target_next_kernel(run.target, kernel))) {
		kernels++;
		ck_assert_int_eq(gputrace_kernel_get_route(kernel), GPUTRACE_ROUTE_NONE);
		ck_assert_str_eq(gputrace_kernel_get_reason(kernel), why);
		ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), 20);
		ck_assert_uint_eq(gputrace_kernel_get_module(kernel), 1);
	}
	ck_assert_uint_eq(kernels, 1);
}
END_TEST

START_TEST(unknown_routes_are_refused)
{
	static const char *const known[] = { "", "ptx", "graft" };
	char *argv[] = { (char[]){ "true" }, NULL };
	struct gputrace_spawn_opts options = {
		.size = sizeof(options), .device = real_device ? GPUTRACE_DEVICE_REAL : GPUTRACE_DEVICE_SIM,
	};
	struct gputrace_target *target = NULL;

	setenv("GPUTRACE_ROUTE", "sass", 1);
	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &options, &target), -EINVAL);
	ck_assert_str_eq(gputrace_last_error(),
			 "GPUTRACE_ROUTE=sass in the environment: it may be ptx or graft, or not set");
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		setenv("GPUTRACE_ROUTE", known[i], 1);
		ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &options, &target), 0);
		gputrace_target_unref(target);
	}
	unsetenv("GPUTRACE_ROUTE");
}
END_TEST

START_TEST(many_threads_launch)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "threads", "250", NULL);
	run_target(&run, &options, "threads", "250", NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 4 * 250 * 32);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 1000);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 1000);
}
END_TEST

/* What a context's maps held is kept when it is destroyed. */
START_TEST(contexts_have_their_own_maps)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "contexts", NULL);
	run_target(&run, &options, "contexts", NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 2);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 64);
	ck_assert_uint_eq(run_map_value(&run, "entered", 1, 0), 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* The driver waits for the kernels of a context that ends, and what they count then is there, too. */
START_TEST(kernels_count_until_the_end)
{
	struct run_options options = counting();
	static const char *const ways[] = { "destroy", "reset", "release" };
	const char *how = ways[_i];
	int context = _i ? 0 : 1;

	run_plain(&plain, real_device, "ends", how, NULL);
	run_target(&run, &options, "ends", how, NULL);
	assert_same_output();
	ck_assert_uint_eq(run_map_value(&run, "entered", context, 0), 32 + 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
}
END_TEST

/* Others hold the primary context: whoever lets go of it does not wait for its kernels, of which one would wait for ever. */
START_TEST(one_of_two_holders_lets_go)
{
	struct run_options options = counting();

	run_target(&run, &options, "ends", "shared", NULL);
	ck_assert_str_eq(run.output, "done\n");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64 + 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 3);
}
END_TEST

/* A primary context cannot be destroyed that way, and its kernels go on as before. */
START_TEST(an_end_that_is_refused)
{
	struct run_options options = counting();

	run_plain(&plain, real_device, "ends", "refused", NULL);
	run_target(&run, &options, "ends", "refused", NULL);
	assert_same_output();
	ck_assert_str_eq(run.output, "CUresult 201, counter 133, done\n");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32 + 64 + 64);
}
END_TEST

/* 5, then 100 more at each launch: one variable, whoever else is at work. */
START_TEST(variables_of_the_program_stay_its_own)
{
	struct run_options options = counting();

	run_target(&run, &options, "global", NULL);
	ck_assert_str_eq(run.output, "counter 5\ncounter 105\ncounter 205\ncounter 305\n");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 300);
}
END_TEST

/* However the program ends, what had happened is read, and its end is its own. */
START_TEST(every_end_is_survived)
{
	static const char *const ways[] = { "return", "exit", "_exit", "kill" };
	struct run_options options = timeline();

	run_plain(&plain, real_device, "leave", ways[_i], NULL);
	run_target(&run, &options, "leave", ways[_i], NULL);
	assert_same_output();
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 1);
}
END_TEST

static struct gputrace_link *five[6];	/* in attach order; the third is of the program that appends a 5 */

static void attach_five(struct run *now)
{
	static const char *const names[] = { "program3", "program1", "program5", "program2", "program4", "at_exit" };

	for (int i = 0; i < 6; i++) {
		struct gputrace_program *program = gputrace_object_find_program(now->object, names[i]);

		ck_assert_msg(!gputrace_attach_program(now->target, program, &five[i]), "%s", gputrace_last_error());
	}
}

/* Then the program, which waits for it, goes on. */
static void detach_one_of_five(struct run *now, const struct gputrace_event *event)
{
	if (gputrace_event_get_type(event) != GPUTRACE_EVENT_KERNEL || now->events[GPUTRACE_EVENT_KERNEL] != 1)
		return;
	ck_assert_int_eq(gputrace_link_detach(five[2]), 0);
	ck_assert_int_eq(kill(gputrace_target_get_pid(now->target), SIGUSR1), 0);
}

/* They run in attach order; the one that is detached stops, and the others go on. */
START_TEST(five_programs_at_one_point)
{
	struct run_options options = timeline();

	options.object = "tests/e2e/five.bpf.o";
	options.attach = attach_five;
	run.watch = detach_one_of_five;
	run_target(&run, &options, "spin", "100000", "signal", "100000", "100000", "100000", NULL);
	ck_assert_uint_eq(run_map_value(&run, "order", 0, 1), 1);
	ck_assert_uint_eq(run_map_value(&run, "order", 0, 2), 3);
	ck_assert_uint_eq(run_map_value(&run, "order", 0, 3), 0);
	for (int i = 0; i < 6; i++)
		gputrace_link_unref(five[i]);
}
END_TEST

/* After detaching, launches go on and the program's results are right. */
START_TEST(detached_in_the_middle)
{
	struct run_options options = counting();

	options.detach_at = "vecadd";
	run_plain(&plain, real_device, "vecadd", "3000", NULL);
	run_target(&run, &options, "vecadd", "3000", NULL);
	assert_same_output();
	ck_assert_uint_ge(run.events[GPUTRACE_EVENT_KERNEL], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 3000);
}
END_TEST

/* A graph that was made while programs were attached is launched on and on after they are detached. */
START_TEST(graph_outlives_its_probes)
{
	struct run_options options = counting();
	const char *replays = real_device ? "20000" : "1000";

	options.detach_at = "vecadd";
	run_plain(&plain, real_device, "graph", replays, NULL);
	run_target(&run, &options, "graph", replays, NULL);
	assert_same_output();
	ck_assert_uint_ge(run.events[GPUTRACE_EVENT_KERNEL], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 5);
}
END_TEST

/* 4096 bytes hold a few of the 200 kernels' records: delivered and lost make up all. */
START_TEST(what_is_lost_is_counted)
{
	struct run_options options = timeline();

	options.agent_ring_bytes = 4096;
	run.watch = run_watch_late;
	run_plain(&plain, real_device, "threads", "1000", NULL);
	run_target(&run, &options, "threads", "1000", NULL);
	assert_same_output();
	ck_assert_uint_gt(run.lost, 0);
	/*
	 * Four function records and one context record share the ring with the launches.  So do
	 * readings of the clock, as many as there is time for: no events, so not among the lost.
	 */
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH] + run.events[GPUTRACE_EVENT_FUNCTION] +
			  run.events[GPUTRACE_EVENT_CONTEXT] + run.lost, 4000 + 4 + 1);
}
END_TEST

/*
 * A burst that every ring is too small for.  How many calls there are is known from a
 * run with room for them: the program makes the same each time.
 */
START_TEST(bursts_overrun_every_ring)
{
	static const uint32_t uprobes[] = { GPUTRACE_API_UPROBES, 0 };
	struct run_options options = timeline();
	unsigned calls;

	options.api = true;
	options.api_flags = uprobes;
	run_target(&run, &options, "threads", "1000", NULL);
	ck_assert_uint_eq(run.lost, 0);
	calls = run.events[GPUTRACE_EVENT_API];
	ck_assert_uint_gt(calls, 4000);
	run_free(&run);

	for (int which = 1; which <= 3; which++) {
		options.api_ring_bytes = which & 1 ? 4096 : 0;
		options.gpu_ring_bytes = which & 2 ? 4096 : 0;
		run.watch = run_watch_late;
		run_target(&run, &options, "threads", "1000", NULL);
		ck_assert_int_eq(run.lost_calls > 0, which & 1);
		ck_assert_int_eq(run.lost_kernels > 0, which >> 1);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_API] + run.lost_calls, calls);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL] + run.lost_kernels, 4000);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 4000);
		ck_assert_uint_eq(run.lost, run.lost_calls + run.lost_kernels);
		run_free(&run);
	}
}
END_TEST

/* The operating system's side: each launch is seen as a call, which contains it. */
START_TEST(calls_contain_their_launches)
{
	struct run_options options = timeline();
	unsigned launches = 0, synchronisations = 0;

	options.api = true;
	run_plain(&plain, real_device, "vecadd", "64", NULL);
	run_target(&run, &options, "vecadd", "64", NULL);
	assert_same_output();
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		const struct run_event *call = &run.calls[i];

		ck_assert_uint_le(call->time, call->end);
		if (!strcmp(call->name, "cuLaunchKernel")) {
			launches++;
			ck_assert_uint_ne(call->launch_id, 0);
		}
		synchronisations += !strcmp(call->name, "cuStreamSynchronize");
	}
	ck_assert_uint_eq(launches, 64);
	ck_assert_uint_eq(synchronisations, 4);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 64);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("end to end");
	int failed;

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_test(tcase, every_launch_becomes_a_kernel);
	tcase_add_test(tcase, kernels_are_tied_to_launches);
	tcase_add_test(tcase, threads_are_counted_exactly);
	tcase_add_test(tcase, every_way_out_counts);
	tcase_add_test(tcase, lengths_are_measured);
	tcase_add_test(tcase, other_ways_to_pass_parameters);
	tcase_add_test(tcase, handles_out_of_nowhere);
	tcase_add_test(tcase, code_from_files);
	tcase_add_test(tcase, graphs_replay_with_their_probes);
	tcase_add_test(tcase, modules_come_and_go);
	tcase_add_test(tcase, images_left_as_they_are);
	tcase_add_test(tcase, unknown_routes_are_refused);
	tcase_add_test(tcase, many_threads_launch);
	tcase_add_test(tcase, contexts_have_their_own_maps);
	tcase_add_loop_test(tcase, kernels_count_until_the_end, 0, 3);
	tcase_add_test(tcase, one_of_two_holders_lets_go);
	if (!real_device)
		tcase_add_test(tcase, an_end_that_is_refused);
	tcase_add_test(tcase, variables_of_the_program_stay_its_own);
	tcase_add_loop_test(tcase, every_end_is_survived, 0, 4);
	tcase_add_test(tcase, five_programs_at_one_point);
	tcase_add_test(tcase, detached_in_the_middle);
	tcase_add_test(tcase, graph_outlives_its_probes);
	tcase_add_test(tcase, what_is_lost_is_counted);
	if (!geteuid()) {
		tcase_add_test(tcase, bursts_overrun_every_ring);
		tcase_add_test(tcase, calls_contain_their_launches);
	}
	failed = run_case("end to end", tcase);
	if (!failed && geteuid()) {
		fprintf(stderr, "all but two passed: uprobes need root\n");
		return 77;
	}
	return failed;
}
