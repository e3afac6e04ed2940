/* SPDX-License-Identifier: Apache-2.0 */
/* Programs and times for kernels that were loaded before the agent came, on the software device. */
#include <string.h>

#include "running.h"
#include "tests/suite.h"

static const struct gputrace_live_opts copies = { .size = sizeof(copies), .flags = GPUTRACE_LIVE_COPIES };

/* Modules first, then libraries. */
static void start_with(int as_library, const char *threads)
{
	start_program(TARGET_PATH, as_library ? "library" : "module", threads, NULL, false);
	expect("ready");
}

static void start(int as_library)
{
	start_with(as_library, NULL);
}

/* Until so many launches and kernels have come, or nothing does. */
static void wait_for(struct seen *seen, unsigned launches, unsigned kernels)
{
	while ((seen->launches < launches || seen->kernels < kernels) && gputrace_reader_wait(reader, PATIENCE_MS) == 1)
		take(seen);
	ck_assert_uint_eq(seen->launches, launches);
	ck_assert_uint_eq(seen->kernels, kernels);
}

static const char *reason_of(const char *name, uint64_t launches)
{
	const struct gputrace_kernel *kernel = find_kernel(name, 0);

	ck_assert_msg(kernel != NULL, "%s is not listed as one without programs", name);
	ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), launches);
	return gputrace_kernel_get_reason(kernel);
}

static void is_traced(const char *name, uint64_t launches)
{
	const struct gputrace_kernel *kernel = find_kernel(name, 1);

	ck_assert_msg(kernel != NULL, "%s is not listed as one with programs", name);
	ck_assert_uint_eq(gputrace_kernel_get_launches(kernel), launches);
	ck_assert_uint_eq(gputrace_kernel_get_plain_launches(kernel), 0);
}

/*
 * Of seven kernels three can be found and copied.  All together a round adds
 * 32 x (1 + 2 + 4 + 100 + 16 + 32 + 64) = 7008 to the sum and 32 to the variable, which
 * was 7; the graph made before has not run.
 */
START_TEST(kernels_loaded_before)
{
	struct seen seen = { 0 };

	start(_i);
	say("run 1\n");
	expect("sum 7008 calls 39");
	attach_with(&copies);
	say("run 10\n");
	expect("sum 77088 calls 359");
	wait_for(&seen, 70, 30);
	is_traced("plain", 10);
	is_traced("large", 10);
	is_traced("twice", 10);
	ck_assert_str_eq(reason_of("counting", 10),
			 "loaded before attach, and cannot be run as a copy: it uses calls, a variable of its module");
	ck_assert_str_eq(reason_of("doubtful", 10),
			 "loaded before attach: several images of the process have a kernel of this name, and the driver does not tell which it was");
	ck_assert_str_eq(reason_of("loose", 10),
			 "loaded before attach: none of the images in the process's executable and libraries has such a kernel");
	ck_assert_str_eq(reason_of("namesake", 10),
			 "loaded before attach: no image of the process that has a kernel of this name is what it was loaded from (kernels in the module: 1, in the image 2)");
	detach(&seen);
	ck_assert_uint_eq(seen.kernels, 30);
	ck_assert_uint_eq(seen.lost, 0);
	ck_assert_str_eq(seen.notes, "");
	say("run 1\n");
	expect("sum 84096 calls 391");
	finish();
}
END_TEST

/* Nobody has asked for it. */
START_TEST(not_without_being_asked)
{
	struct seen seen = { 0 };

	start(_i);
	attach();
	say("run 2\n");
	expect("sum 14016 calls 71");
	wait_for(&seen, 14, 0);
	ck_assert_str_eq(reason_of("plain", 2), LOADED_BEFORE);
	ck_assert_str_eq(reason_of("loose", 2), LOADED_BEFORE);
	detach(&seen);
	ck_assert_uint_eq(seen.kernels, 0);
	finish();
}
END_TEST

/* A kernel's first launch is into a graph, which runs twice while it is traced; the one made before is spoken of. */
START_TEST(graphs)
{
	struct seen seen = { 0 };

	start(_i);
	attach_with(&copies);
	say("capture\n");
	expect("sum 64 calls 7");
	wait_for(&seen, 1, 2);
	is_traced("plain", 1);
	ck_assert_str_eq(seen.notes, "");
	say("graph\n");
	expect("sum 128 calls 7");
	detach(&seen);
	ck_assert_uint_eq(seen.launches, 1);
	ck_assert_uint_eq(seen.kernels, 2);
	ck_assert_ptr_nonnull(strstr(seen.notes, "instantiated before"));
	say("capture\n");
	expect("sum 192 calls 7");
	finish();
}
END_TEST

/* Copies come and go with their session: exact each time, also where the session before had none or others. */
START_TEST(again_and_again)
{
	start(_i);
	for (unsigned i = 1; i <= 20; i++) {
		const struct gputrace_live_opts *opts = i % 4 ? &copies : NULL;
		struct seen seen = { 0 };
		char sum[64];

		attach_with(opts);
		say("run 3\n");
		snprintf(sum, sizeof(sum), "sum %u calls %u", i * 3 * 7008, 7 + i * 3 * 32);
		expect(sum);
		wait_for(&seen, 21, opts ? 9 : 0);
		if (opts)
			is_traced("plain", 3);
		ck_assert_ptr_nonnull(strstr(reason_of("counting", 3), "loaded before attach"));
		detach(&seen);
		ck_assert_str_eq(seen.notes, "");
	}
	finish();
}
END_TEST

static uint64_t counted(struct gputrace_object *object, const char *name)
{
	struct gputrace_map *map = gputrace_object_find_map(object, name);
	uint32_t zero = 0;
	uint64_t value = 0;

	ck_assert_int_eq(gputrace_map_lookup(map, 0, &zero, sizeof(zero), &value, sizeof(value)), 0);
	return value;
}

/* Programs at entry and exit of each thread: 3 kernels, 5 launches, 32 threads. */
START_TEST(programs_in_copies)
{
	struct gputrace_object *object;
	struct seen seen = { 0 };

	start(_i);
	ck_assert_int_eq(gputrace_object_open_file(NULL, "examples/bpf/threads.bpf.o", &object), 0);
	ck_assert_int_eq(gputrace_target_attach(NULL, program.pid, &copies, &target), 0);
	ck_assert_int_eq(gputrace_attach_object(target, object, &timeline), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	say("run 5\n");
	expect("sum 35040 calls 167");
	wait_for(&seen, 35, 0);
	detach(&seen);
	ck_assert_uint_eq(counted(object, "entered"), 3 * 5 * 32);
	ck_assert_uint_eq(counted(object, "left"), 3 * 5 * 32);
	gputrace_object_unref(object);
	finish();
}
END_TEST

/* While eight threads launch: each session sees kernels by copies, no launch goes wrong, and nothing stays behind. */
START_TEST(threads)
{
	unsigned kb = 0;

	start_with(_i, "8");
	for (int i = 0; i < 40; i++) {
		struct seen seen = { 0 };

		attach_with(&copies);
		while (!seen.kernels && gputrace_reader_wait(reader, PATIENCE_MS) == 1)
			take(&seen);
		ck_assert_ptr_nonnull(find_kernel("plain", 1));
		detach(&seen);
		ck_assert_uint_gt(seen.kernels, 0);
		ck_assert_str_eq(seen.notes, "");
		if (i == 10)
			kb = resident_kb();
	}
	wait_for_at_most(resident_kb, kb + 2048);
	finish();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("late");

	tcase_add_checked_fixture(tcase, NULL, end_program);
	tcase_add_loop_test(tcase, kernels_loaded_before, 0, 2);
	tcase_add_loop_test(tcase, not_without_being_asked, 0, 2);
	tcase_add_loop_test(tcase, graphs, 0, 2);
	tcase_add_loop_test(tcase, again_and_again, 0, 2);
	tcase_add_loop_test(tcase, programs_in_copies, 0, 2);
	tcase_add_loop_test(tcase, threads, 0, 2);
	return run_case("late", tcase);
}
