/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every way to launch a kernel, and that the driver's answers stay what they are
 * without us.  With GPUTRACE_TEST_DEVICE=gpu the same on a GPU.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "both.h"

static void run_both(const char *object, const char *what, const char *argument)
{
	struct run_options options = { .timeline = true, .object = object, .real_device = real_device };

	run_plain(&plain, real_device, what, argument, NULL);
	run_target(&run, &options, what, argument, NULL);
	ck_assert_int_eq(plain.status, 0);
	ck_assert_int_eq(run.status, 0);
	ck_assert_str_eq(run.output, plain.output);
}

static uint64_t plain_launches(void)
{
	const struct gputrace_kernel *kernel = NULL;
	uint64_t count = 0;

	while ((kernel = gputrace_target_next_kernel(run.target, kernel)))
		count += gputrace_kernel_get_plain_launches(kernel);
	return count;
}

/* 3 blocks of 256 threads; a graph's node of 5 times 32. */
START_TEST(answers)
{
	run_both("examples/bpf/threads.bpf.o", "answers", NULL);
	ck_assert_ptr_nonnull(strstr(run.output, "2 functions: add far; 6 untouched; first add\n"));
	ck_assert_ptr_nonnull(strstr(run.output, "node: same function 1, parameter 3, counter 3480\n"));
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 3 * 256 + 5 * 32);
	ck_assert_uint_eq(plain_launches(), 0);
}
END_TEST

/* Whatever the agent has no memory for, the program is told what it would be told without us. */
START_TEST(refused_memory)
{
	char number[8];

	snprintf(number, sizeof(number), "%d", _i);
	run_both("examples/bpf/threads.bpf.o", "answers", number);
	ck_assert_ptr_nonnull(strstr(run.output, "2 functions: add far;"));
}
END_TEST

/* What has no room with programs runs without, and this is said and counted. */
START_TEST(no_room_for_a_copy)
{
	unsigned blocks, counter;

	run_both("examples/bpf/threads.bpf.o", "cooperative", NULL);
	ck_assert_int_eq(sscanf(run.output, "blocks %u counter %u", &blocks, &counter), 2);
	ck_assert_uint_eq(counter, blocks * 1024 + 32);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL] + plain_launches(), 2);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), plain_launches() ? 32 : counter);
	if (!real_device)	/* its registers are counted by those of the PTX */
		ck_assert_uint_eq(plain_launches(), 1);
	if (plain_launches())
		ck_assert_ptr_nonnull(strstr(run.notes, "some launches of add run without programs: a cooperative launch of"));
	ck_assert_uint_eq(run.lost, 0);
}
END_TEST

/*
 * A kernel alone in its module has its programs in place.  What the driver will not launch so is
 * launched without them, from the program's code loaded again, unless the kernel uses its module's
 * variable: there would be two of it.
 */
START_TEST(changed_in_place)
{
	struct run_options options = { .timeline = true, .object = "examples/bpf/threads.bpf.o", .real_device = real_device };

	run_plain(&plain, real_device, "full", NULL);
	run_target(&run, &options, "full", NULL);
	ck_assert_str_eq(plain.output, "adds: 0 0, 96 threads\nadds: 0 0, 96 threads\ncounts: 0 0, 96 threads\n");
	ck_assert_ptr_nonnull(strstr(run.output, "adds: 0 0, 96 threads\nadds: 0 0, 96 threads\n"));
	ck_assert_ptr_nonnull(strstr(run.notes, "some launches of adds run without programs: the driver would not launch the kernel with programs in it (CUresult 1)"));
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 3 * 32);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 3 * 32);
	ck_assert_uint_eq(run.lost, 0);
	/* A GPU's driver tells that their shared memory differs, and programs go into copies. */
	if (real_device) {
		ck_assert_str_eq(run.output, plain.output);
		return;
	}
	ck_assert_ptr_nonnull(strstr(run.output, "counts: 1 0, 32 threads\n"));
	ck_assert_ptr_nonnull(strstr(run.notes, "a launch of counts failed with programs in it (CUresult 1), and cannot be tried without: it uses counter"));
}
END_TEST

/* The same when the driver cannot load it at the moment when the program first asks for the kernel. */
START_TEST(loaded_late)
{
	struct run_options options = { .timeline = true, .object = "examples/bpf/threads.bpf.o" };
	const struct gputrace_kernel *kernel = NULL;
	unsigned plain_kernels = 0;

	run_plain(&plain, false, "lazy", NULL);
	run_target(&run, &options, "lazy", NULL);
	/* By module, by library, by a kernel of a library in one context and in another. */
	ck_assert_str_eq(plain.output, "adds: 2, 0 threads\nadds: 2, 0 threads\nadds: 0, 32 threads\nadds: 2, 0 threads\ncounts: 2, 0 threads\n");
	ck_assert_str_eq(run.output, "adds: 0, 32 threads\nadds: 0, 32 threads\nadds: 0, 32 threads\nadds: 0, 32 threads\ncounts: 2, 0 threads\n");
	ck_assert_ptr_nonnull(strstr(run.notes, "counts could not be loaded with programs in it (CUresult 2), and cannot be without: it uses counter"));
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 4);
	/* Only one of them ran with programs. */
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 32);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 32);
	while ((kernel = gputrace_target_next_kernel(run.target, kernel)))
		if (gputrace_kernel_get_reason(kernel) && strstr(gputrace_kernel_get_reason(kernel), "would not load the kernel with programs in it (CUresult 2)"))
			plain_kernels++;
	ck_assert_uint_eq(plain_kernels, 1);
	ck_assert_uint_eq(run.lost, 0);
}
END_TEST

START_TEST(resolved)
{
	run_both("examples/bpf/threads.bpf.o", "resolved", NULL);
	ck_assert_str_eq(run.output, "counter 128\n");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 4);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 128);
	ck_assert_uint_eq(run.launches[0].stream, 0);
	ck_assert_uint_eq(run.launches[1].stream, 0);
	ck_assert_uint_ne(run.launches[2].stream, 0);
	ck_assert_uint_eq(run.launches[3].stream, 0);
}
END_TEST

static void check_twins(unsigned times)
{
	const struct gputrace_kernel *kernel = NULL;
	uint32_t modules[2] = { 0 };
	unsigned count = 0;

	while ((kernel = gputrace_target_next_kernel(run.target, kernel))) {
		if (strcmp(gputrace_kernel_get_name(kernel), "twin"))
			continue;
		ck_assert_uint_lt(count, 2);
		ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), times);
		modules[count++] = gputrace_kernel_get_module(kernel);
	}
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_ne(modules[0], 0);
	ck_assert_uint_ne(modules[1], 0);
	ck_assert_uint_ne(modules[0], modules[1]);
}

/* One name, two kernels of two modules, each with its own threads and launches, however often they come. */
START_TEST(twins)
{
	const unsigned times = real_device ? 500 : 10000;	/* a GPU's driver takes its time to compile */
	char number[8], expected[32];

	snprintf(number, sizeof(number), "%u", times);
	snprintf(expected, sizeof(expected), "sum %u flat\n", times * (1 + 2 * 1000));
	run_both("examples/bpf/threads.bpf.o", "twins", number);
	ck_assert_str_eq(run.output, expected);
	check_twins(times);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2 * times);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 3 * times);
	for (unsigned i = 0; i < 2 * times && i < RUN_KEPT; i++)
		ck_assert_uint_eq(run.kernels[i].block[0], 1 + i % 2);
}
END_TEST

/* The same where their images, which have no machine code, are left as they are. */
START_TEST(twins_left_as_they_are)
{
	setenv("GPUTRACE_ROUTE", "graft", 1);
	run_both("examples/bpf/threads.bpf.o", "twins", "5");
	unsetenv("GPUTRACE_ROUTE");
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 0);
	check_twins(5);
}
END_TEST

/* Its target stays, and it carries programs that need a newer one. */
START_TEST(old_targets)
{
	run_both("examples/bpf/threads.bpf.o", "old", NULL);
	ck_assert_str_eq(run.output, "counter 1054\n");	/* 2 x (496 + 31) */
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 64);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 1);
	ck_assert_str_eq(run.notes, "");
}
END_TEST

START_TEST(ways)
{
	run_both("examples/bpf/threads.bpf.o", "ways", NULL);
	ck_assert_str_eq(run.output, "counter 896, 4 of 4 in order\n");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 7);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 7);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 896);
	ck_assert_uint_eq(run_map_value(&run, "left", 0, 0), 896);
	ck_assert_uint_eq(plain_launches(), 0);
	/* The thread's own stream is none of the others. */
	ck_assert_uint_eq(run.launches[4].stream, 0);
	ck_assert_uint_ne(run.launches[5].stream, 0);
	ck_assert_uint_eq(run.launches[5].stream, run.launches[6].stream);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("launches");

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_test(tcase, answers);
	tcase_add_loop_test(tcase, refused_memory, 1, 41);
	tcase_add_test(tcase, no_room_for_a_copy);
	tcase_add_test(tcase, changed_in_place);
	if (!real_device)	/* whose driver's memory is not ours to refuse */
		tcase_add_test(tcase, loaded_late);
	tcase_add_test(tcase, resolved);
	tcase_add_test(tcase, twins);
	tcase_add_test(tcase, twins_left_as_they_are);
	tcase_add_test(tcase, old_targets);
	tcase_add_test(tcase, ways);
	return run_case("launches", tcase);
}
