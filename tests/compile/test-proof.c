/* SPDX-License-Identifier: Apache-2.0 */
/* How often programs are verified, and that what was found holds for them as they are. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/object/object.h"
#include "lib/verify/verify.h"
#include "tests/compile/common.h"

#define PROGRAMS 8

/* The linker gives these names to gt_verify() (ld's --wrap). */
int __real_gt_verify(const struct gt_prog *prog, const struct gt_verify_opts *opts,
		     struct gt_verify_result **ret_result);
int __wrap_gt_verify(const struct gt_prog *prog, const struct gt_verify_opts *opts,
		     struct gt_verify_result **ret_result);

static unsigned verified;
static struct gputrace_target *target;
static struct gputrace_object *object;

int __wrap_gt_verify(const struct gt_prog *prog, const struct gt_verify_opts *opts,
		     struct gt_verify_result **ret_result)
{
	verified++;
	return __real_gt_verify(prog, opts, ret_result);
}

/* Nothing is in the cache of compiled programs, and nothing can come into it. */
static void setup(void)
{
	struct gputrace_spawn_opts opts = { .size = sizeof(opts), .device = GPUTRACE_DEVICE_SIM };
	char *argv[] = { "true", NULL };

	setenv("XDG_CACHE_HOME", "/does/not/exist", 1);
	ck_assert_msg(!gputrace_target_spawn(NULL, argv, &opts, &target), "%s", gputrace_last_error());
	verified = 0;
}

static void teardown(void)
{
	target = gputrace_target_unref(target);
	object = gputrace_object_unref(object);
}

static int attach(struct gputrace_program *program)
{
	struct gputrace_link *link;
	int r = gputrace_attach_program(target, program, &link);

	if (!r)
		gputrace_link_unref(link);
	return r;
}

/* Adds 1 to the first value of the map with this index, and returns what was there if `fetch`. */
static struct gputrace_program *add_adder(const char *name, uint32_t map, bool fetch)
{
	const uint64_t code[] = {
		0x0000000000002118 | (uint64_t)map << 32,	/* r1 = value of the map at 0 */
		0x0000000000000000,
		0x00000001000002b7,				/* r2 = 1 */
		0x00000000000021db | (uint64_t)fetch << 32,	/* lock *(u64 *)(r1 + 0) += r2 */
		0x00000000000000b7,				/* r0 = 0 */
		0x0000000000000095,				/* exit */
	};
	struct gputrace_program *program;

	ck_assert_int_eq(gputrace_object_add_program(object, name, "cuda/entry:*", code, 6, &program), 0);
	return program;
}

static struct gputrace_map *add_array(const char *name)
{
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = 2 /* BPF_MAP_TYPE_ARRAY */, .key_size = 4, .value_size = 8, .max_entries = 1,
	};
	struct gputrace_map *map;

	ck_assert_int_eq(gputrace_object_add_map(object, name, &opts, &map), 0);
	return map;
}

START_TEST(once_each)
{
	struct gputrace_program *programs[PROGRAMS];
	char name[16];

	ck_assert_int_eq(gputrace_object_new(NULL, "adders", &object), 0);
	add_array("sum");
	for (unsigned i = 0; i < PROGRAMS; i++) {
		snprintf(name, sizeof(name), "adds%u", i);
		programs[i] = add_adder(name, 0, false);
	}
	for (unsigned i = 0; i < PROGRAMS; i++)
		ck_assert_msg(!attach(programs[i]), "%s", gputrace_last_error());
	ck_assert_uint_eq(verified, PROGRAMS);
}
END_TEST

/* Of many kinds, from a file: with the first all are, and those again whose instructions that makes others. */
START_TEST(those_of_a_file_with_the_first)
{
	unsigned programs = 0, with_the_first = 0;

	object = open_probes();
	for (struct gputrace_program *p = NULL; (p = gputrace_object_next_program(object, p));) {
		if (gputrace_program_get_point(p) == GPUTRACE_POINT_KERNEL)
			continue;
		ck_assert_msg(!attach(p), "%s", gputrace_last_error());
		if (!programs++)
			with_the_first = verified;
	}
	ck_assert_uint_gt(programs, 1);
	ck_assert_uint_ge(with_the_first, programs);
	ck_assert_uint_eq(verified, with_the_first);
}
END_TEST

/* With the same sentence and log each time. */
START_TEST(a_refused_one_once)
{
	struct gputrace_program *adds, *refused;
	char *sentence, *log;

	ck_assert_int_eq(gputrace_object_new(NULL, "refused", &object), 0);
	add_array("sum");
	adds = add_adder("adds", 0, false);
	refused = add_adder("refused", 1, false);
	ck_assert_int_eq(attach(refused), -EACCES);
	sentence = strdup(gputrace_last_error());
	log = strdup(gputrace_program_get_log(refused));
	ck_assert_ptr_nonnull(strstr(sentence, "refused: insn 0"));
	ck_assert_int_eq(attach(adds), 0);
	ck_assert_int_eq(attach(refused), -EACCES);
	ck_assert_str_eq(gputrace_last_error(), sentence);
	ck_assert_str_eq(gputrace_program_get_log(refused), log);
	ck_assert_uint_eq(verified, 2);
	free(sentence);
	free(log);
}
END_TEST

/* Of the map that it names, too, it is then known what it does. */
START_TEST(a_map_that_comes_later)
{
	struct gputrace_map *map;

	ck_assert_int_eq(gputrace_object_new(NULL, "later", &object), 0);
	add_array("first");
	add_adder("adds", 1, false);
	ck_assert_int_eq(attach(gputrace_object_find_program(object, "adds")), -EACCES);
	map = add_array("second");
	ck_assert_msg(!attach(gputrace_object_find_program(object, "adds")), "%s", gputrace_last_error());
	ck_assert(map->added);
	ck_assert_uint_gt(map->spread, 0);
}
END_TEST

/* What a program does that comes later is found, and what those before it do is not looked for again. */
START_TEST(a_program_that_comes_later)
{
	ck_assert_int_eq(gputrace_object_new(NULL, "later", &object), 0);
	add_array("sum");
	ck_assert_int_eq(attach(add_adder("adds", 0, false)), 0);
	ck_assert_int_eq(attach(add_adder("fetches", 0, true)), -EBUSY);
	ck_assert_uint_eq(verified, 2);
}
END_TEST

/* The first conversion of what `print` of probes.bpf.c prints. */
static void set_conversion(char letter)
{
	struct gputrace_map *constants = gputrace_object_find_map(object, ".rodata");
	size_t size = gputrace_map_get_value_size(constants);
	char *bytes = malloc(size), *format;
	uint32_t key = 0;

	ck_assert_int_eq(gputrace_map_lookup(constants, GPUTRACE_INSTANCE_INITIAL, &key, 4, bytes, size), 0);
	format = memmem(bytes, size, "thread %", 8);
	ck_assert_ptr_nonnull(format);
	format[8] = letter;
	ck_assert_int_eq(gputrace_map_update(constants, GPUTRACE_INSTANCE_INITIAL, &key, 4, bytes, size, 0), 0);
	free(bytes);
}

/* Formats may be set until a program is attached, and each time the one that is there is checked. */
START_TEST(constants_that_change)
{
	struct gputrace_program *prints, *counts;

	object = open_probes();
	prints = gputrace_object_find_program(object, "print");
	counts = gputrace_object_find_program(object, "count");
	ck_assert_int_eq(attach(counts), 0);
	set_conversion('s');
	ck_assert_int_eq(attach(prints), -EACCES);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "%s of the format"));
	set_conversion('x');
	ck_assert_msg(!attach(prints), "%s", gputrace_last_error());
	set_conversion('s');
	ck_assert_int_eq(attach(prints), -EACCES);
	ck_assert_int_eq(attach(counts), 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("proof");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, once_each);
	tcase_add_test(tcase, those_of_a_file_with_the_first);
	tcase_add_test(tcase, a_refused_one_once);
	tcase_add_test(tcase, a_map_that_comes_later);
	tcase_add_test(tcase, a_program_that_comes_later);
	tcase_add_test(tcase, constants_that_change);
	return run_case("proof", tcase);
}
