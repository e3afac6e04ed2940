/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One map, both sides: programs in the operating system's kernel and on the GPU
 * over the same arrays and variables.  With GPUTRACE_TEST_DEVICE=gpu on a GPU.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "both.h"

/* As in shared.bpf.c. */
enum { LAUNCHES, VALUE, VALUES_SEEN, ANSWER, ANSWERS_SEEN, THREADS, GIVEN, NUMBERS };

struct triple {
	uint32_t a, b, c;
};

static struct run_options sharing(void)
{
	return (struct run_options){
		.timeline = true, .object = "tests/e2e/shared.bpf.o", .real_device = real_device,
	};
}

static void set(struct run *of, const char *name, int instance, uint32_t index, uint64_t value)
{
	struct gputrace_map *map = gputrace_object_find_map(of->object, name);
	int r;

	ck_assert_ptr_nonnull(map);
	r = gputrace_map_update(map, instance, &index, sizeof(index), &value, sizeof(value), 0);
	ck_assert_msg(!r, "update of %s: %s", name, gputrace_last_error());
}

static struct triple triple_at(uint32_t index)
{
	struct triple triple = { 0 };

	ck_assert_int_eq(gputrace_map_lookup(gputrace_object_find_map(run.object, "triples"), 0, &index,
					     sizeof(index), &triple, sizeof(triple)), 0);
	return triple;
}

/*
 * Launch i of N is given 7 i by the kernel, and the GPU's block answers with 7 more;
 * the program waits for each launch and then unloads its module.
 */
START_TEST(each_side_reads_what_the_other_wrote)
{
	struct run_options options = sharing();
	const uint64_t n = 20, values = 7 * n * (n + 1) / 2;
	struct triple triple;

	run_plain(&plain, real_device, "reload", "20", NULL);
	run_target(&run, &options, "reload", "20", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, plain.status);
	ck_assert_str_eq(run.notes, "");
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, LAUNCHES), n);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, VALUE), 7 * n);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, VALUES_SEEN), values);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, ANSWER), 7 * n + 7);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, ANSWERS_SEEN), values + 7 * n);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, THREADS), 32 * n);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, GIVEN), n);
	triple = triple_at(299);
	ck_assert(triple.a == 1 && triple.b == 2 && triple.c == 3);
	triple = triple_at(298);
	ck_assert(triple.a == 3 && triple.b == 12 && triple.c == 1);
	triple = triple_at(297);
	ck_assert(triple.a == 0 && triple.b == 0 && triple.c == 0);
	ck_assert_uint_eq(run_map_value(&run, ".bss", 0, 0), 7 * n);
	ck_assert_uint_eq(run_map_value(&run, ".data", 0, 0), 7);
}
END_TEST

/* A constant that is 3 for both, a variable that is 10 for both, an element that begins with 1000. */
static void set_before(struct run *of)
{
	set(of, ".rodata.factor", GPUTRACE_INSTANCE_INITIAL, 0, 3);
	set(of, ".data", GPUTRACE_INSTANCE_INITIAL, 0, 10);
	set(of, "numbers", GPUTRACE_INSTANCE_INITIAL, GIVEN, 1000);
	set(of, "numbers", GPUTRACE_INSTANCE_INITIAL, LAUNCHES, 100);
}

static void look_after(struct run *of)
{
	struct gputrace_map *map = gputrace_object_find_map(of->object, "numbers");
	struct gputrace_map *constants = gputrace_object_find_map(of->object, ".rodata.factor");
	uint64_t value = 4;
	uint32_t index = 0;

	ck_assert_int_eq(gputrace_map_count_instances(map), 1);
	index = GIVEN;
	ck_assert_int_eq(gputrace_map_lookup(map, 0, &index, sizeof(index), &value, sizeof(value)), 0);
	ck_assert_uint_eq(value, 1000);
	/* One instance, by either name. */
	set(of, "numbers", 0, GIVEN, 2000);
	ck_assert_int_eq(gputrace_map_lookup(map, GPUTRACE_INSTANCE_INITIAL, &index, sizeof(index), &value,
					     sizeof(value)), 0);
	ck_assert_uint_eq(value, 2000);
	set(of, "numbers", GPUTRACE_INSTANCE_INITIAL, GIVEN, 3000);
	/* The kernel's copy cannot change any more. */
	index = 0;
	ck_assert_int_eq(gputrace_map_update(constants, GPUTRACE_INSTANCE_INITIAL, &index, sizeof(index),
					     &value, sizeof(value), 0), -EBUSY);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), ".rodata.factor"));
}

START_TEST(both_begin_with_what_was_set)
{
	struct run_options options = sharing();

	options.opened = set_before;
	options.attached = look_after;
	run_target(&run, &options, "reload", "2", NULL);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, LAUNCHES), 102);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, VALUES_SEEN), 30 * 101 + 30 * 102);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, ANSWERS_SEEN), 30 * 102 + 30 * 103);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, GIVEN), 3002);
}
END_TEST

/* 32 threads in the parent, 64 in its child. */
START_TEST(processes_share_it)
{
	struct run_options options = sharing();

	run_plain(&plain, real_device, "fork", NULL);
	run_target(&run, &options, "fork", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_CONTEXT], 2);
	ck_assert_int_eq(gputrace_map_count_instances(gputrace_object_find_map(run.object, "numbers")), 1);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, THREADS), 96);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, GIVEN), 2);
}
END_TEST

/* 32, 64 and 32 threads in two contexts of one process, one of which is gone at the end. */
START_TEST(contexts_share_it)
{
	struct run_options options = sharing();

	run_plain(&plain, real_device, "contexts", NULL);
	run_target(&run, &options, "contexts", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(gputrace_map_count_instances(gputrace_object_find_map(run.object, "numbers")), 1);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, LAUNCHES), 3);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, THREADS), 128);
}
END_TEST

static struct gputrace_link *second;

static void attach_again(struct run *of)
{
	int r = gputrace_attach_object(of->target, of->object, &second);

	ck_assert_msg(!r, "%s", gputrace_last_error());
}

/* All of it runs twice, over the same memory. */
START_TEST(attached_twice)
{
	struct run_options options = sharing();

	options.attached = attach_again;
	run_target(&run, &options, "reload", "5", NULL);
	second = gputrace_link_unref(second);
	ck_assert_int_eq(gputrace_map_count_instances(gputrace_object_find_map(run.object, "numbers")), 1);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, LAUNCHES), 10);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, THREADS), 2 * 5 * 32);
}
END_TEST

/* What it held is there when the target is not. */
START_TEST(contents_outlive_the_target)
{
	struct run_options options = sharing();

	run_target(&run, &options, "reload", "3", NULL);
	run.target = gputrace_target_unref(run.target);
	ck_assert_uint_eq(run_map_value(&run, "numbers", 0, THREADS), 96);
	ck_assert_uint_eq(run_map_value(&run, "numbers", GPUTRACE_INSTANCE_INITIAL, LAUNCHES), 3);
}
END_TEST

static void open_and_spawn(const char *object)
{
	static char *const argv[] = { TARGET_PATH, "exits", NULL };
	struct gputrace_spawn_opts spawn = {
		.size = sizeof(spawn), .device = real_device ? GPUTRACE_DEVICE_REAL : GPUTRACE_DEVICE_SIM,
	};

	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &spawn, &run.target), 0);
	ck_assert_int_eq(gputrace_object_open_file(NULL, object, &run.object), 0);
}

START_TEST(tables_are_not_shared)
{
	struct gputrace_link *link;

	open_and_spawn("tests/e2e/both.bpf.o");
	ck_assert_int_eq(gputrace_attach_object(run.target, run.object, &link), -EOPNOTSUPP);
	ck_assert_msg(strstr(gputrace_last_error(), "map in_kernel is used both") != NULL, "%s",
		      gputrace_last_error());
}
END_TEST

/* Functions of one section, each called by one side. */
START_TEST(each_side_may_have_its_own)
{
	struct gputrace_link *link;
	int r;

	open_and_spawn("tests/e2e/apart.bpf.o");
	r = gputrace_attach_object(run.target, run.object, &link);
	ck_assert_msg(!r, "%s", gputrace_last_error());
	gputrace_link_unref(link);
}
END_TEST

START_TEST(not_after_the_gpu_has_it_alone)
{
	struct gputrace_link *alone, *both;

	open_and_spawn("tests/e2e/shared.bpf.o");
	ck_assert_int_eq(gputrace_attach_program(run.target, gputrace_object_find_program(run.object, "on_thread"),
						 &alone), 0);
	ck_assert_int_eq(gputrace_attach_object(run.target, run.object, &both), -EBUSY);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "map numbers"));
	gputrace_link_unref(alone);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("shared maps");

	if (geteuid()) {
		fprintf(stderr, "uprobes need root: not tried\n");
		return 77;
	}
	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_test(tcase, each_side_reads_what_the_other_wrote);
	tcase_add_test(tcase, both_begin_with_what_was_set);
	tcase_add_test(tcase, processes_share_it);
	tcase_add_test(tcase, contexts_share_it);
	tcase_add_test(tcase, attached_twice);
	tcase_add_test(tcase, contents_outlive_the_target);
	tcase_add_test(tcase, tables_are_not_shared);
	tcase_add_test(tcase, each_side_may_have_its_own);
	tcase_add_test(tcase, not_after_the_gpu_has_it_alone);
	return run_case("shared maps", tcase);
}
