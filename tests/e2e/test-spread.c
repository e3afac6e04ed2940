/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that have a copy for each multiprocessor on the GPU.  With
 * GPUTRACE_TEST_DEVICE=gpu on a GPU.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "both.h"

#define LAUNCHES 6
#define KEYS 4
#define BLOCKS_BEFORE 1000	/* as in spread.bpf.c */

static struct gputrace_link *link_;

static void teardown(void)
{
	link_ = gputrace_link_unref(link_);
	free_both();
}

/* Threads, blocks and warps that were launched, as the launches tell. */
static void count_launched(uint64_t *ret_threads, uint64_t *ret_blocks, uint64_t *ret_warps)
{
	*ret_threads = *ret_blocks = *ret_warps = 0;
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_LAUNCH]; i++) {
		const struct run_event *launch = &run.launches[i];
		uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
		uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];

		*ret_blocks += blocks;
		*ret_threads += blocks * threads;
		*ret_warps += blocks * ((threads + 31) / 32);
	}
}

static void check_values(void)
{
	uint64_t threads, blocks, warps, sum = 0, added;
	struct gputrace_map *narrow = gputrace_object_find_map(run.object, "narrow");
	uint32_t index = 1, pair[2];

	count_launched(&threads, &blocks, &warps);
	ck_assert_uint_gt(blocks, KEYS);
	for (uint32_t key = 0; key < KEYS; key++) {
		added = run_map_value(&run, "added", 0, key);
		ck_assert_uint_gt(added, 0);
		ck_assert_uint_eq(added, run_map_value(&run, "fetched", 0, key));
		sum += added;
	}
	ck_assert_uint_eq(sum, threads);
	ck_assert_uint_eq(run_map_value(&run, ".bss", 0, 0), threads);
	ck_assert_uint_eq(run_map_value(&run, ".data", 0, 0), BLOCKS_BEFORE + blocks);
	ck_assert_uint_eq(run_map_value(&run, "watched", 0, 0), blocks);
	ck_assert_uint_eq(run_map_value(&run, "large", 0, 65535), threads);
	ck_assert_int_eq(gputrace_map_lookup(narrow, 0, &index, sizeof(index), pair, sizeof(pair)), 0);
	ck_assert_uint_eq(pair[0], (uint32_t)warps);
	ck_assert_uint_eq(pair[1], (uint32_t)-warps);
	index = 0;
	ck_assert_int_eq(gputrace_map_lookup(narrow, 0, &index, sizeof(index), pair, sizeof(pair)), 0);
	ck_assert(pair[0] == 0 && pair[1] == 0);
}

struct accesses {
	uint64_t count, bytes;
};

static void read_element(const char *name, uint32_t key, struct accesses *values, unsigned count)
{
	struct gputrace_map *map = gputrace_object_find_map(run.object, name);

	ck_assert_msg(!gputrace_map_lookup(map, 0, &key, sizeof(key), values, count * sizeof(*values)), "%s: %s", name,
		      gputrace_last_error());
}

/* What waited in threads, and what was added at once, at the same places. */
static void check_accesses(void)
{
	static struct accesses held_sm[256], at_once_sm[256];
	struct accesses held, at_once;

	for (uint32_t key = 0; key < 2; key++) {
		uint64_t sum = 0;

		read_element("held", key, &held, 1);
		read_element("at_once", key, &at_once, 1);
		ck_assert_uint_gt(held.count, 0);
		ck_assert_uint_eq(held.count, at_once.count);
		ck_assert_uint_eq(held.bytes, at_once.bytes);
		ck_assert_uint_eq(held.bytes, 4 * held.count);	/* all are of floats */
		read_element("held_sm", key, held_sm, 256);
		read_element("at_once_sm", key, at_once_sm, 256);
		for (unsigned i = 0; i < 256; i++) {
			/* A GPU may move threads to another multiprocessor. */
			ck_assert(real_device || held_sm[i].count == at_once_sm[i].count);
			ck_assert_uint_eq(held_sm[i].bytes, 0);
			sum += held_sm[i].count;
		}
		ck_assert_uint_eq(sum, held.count);
	}
}

/* Does the code of a program take the number of the multiprocessor? */
static bool is_spread(const char *program)
{
	struct gputrace_image *image;
	bool found;

	ck_assert_int_eq(gputrace_compile_ptx(gputrace_object_find_program(run.object, program), NULL, &image), 0);
	found = strstr(gputrace_image_get_ptx(image), "%smid") != NULL;
	gputrace_image_unref(image);
	return found;
}

static void check_choice(void)
{
	ck_assert(is_spread("adds"));
	ck_assert(is_spread("adds_narrow"));
	ck_assert(is_spread("adds_blocks"));
	/* Its old values are wanted; another program reads it; its copies would be too large. */
	ck_assert(!is_spread("fetches"));
	ck_assert(!is_spread("adds_watched"));
	ck_assert(!is_spread("adds_large"));
}

START_TEST(hold_the_same)
{
	struct run_options options = {
		.timeline = true, .object = "tests/e2e/spread.bpf.o", .real_device = real_device,
	};

	run_plain(&plain, real_device, "vecadd", "6", NULL);
	run_target(&run, &options, "vecadd", "6", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, plain.status);
	ck_assert_str_eq(run.notes, "");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], LAUNCHES);
	check_values();
	check_accesses();
	check_choice();
}
END_TEST

/* Kernels that run when programs are switched off add what they have held back. */
START_TEST(hold_the_same_when_detached)
{
	struct run_options options = {
		.timeline = true, .object = "tests/e2e/spread.bpf.o", .detach_at = "vecadd", .real_device = real_device,
	};

	run_plain(&plain, real_device, "vecadd", "200", NULL);
	run_target(&run, &options, "vecadd", "200", NULL);
	ck_assert_str_eq(run.output, plain.output);
	check_accesses();
}
END_TEST

static void begin_with(struct run *of)
{
	struct gputrace_map *map = gputrace_object_find_map(of->object, "added");
	uint64_t value = 1000000;
	uint32_t index = 3;

	ck_assert_int_eq(gputrace_map_update(map, GPUTRACE_INSTANCE_INITIAL, &index, sizeof(index), &value,
					     sizeof(value), 0), 0);
}

/* Of each multiprocessor, element by element. */
static void begin_apart(struct run *of)
{
	static struct accesses values[256];
	struct gputrace_map *map = gputrace_object_find_map(of->object, "held_sm");

	for (uint32_t key = 0; key < 2; key++) {
		for (unsigned i = 0; i < 256; i++)
			values[i] = (struct accesses){ 0, 1000 * key + i };
		ck_assert_int_eq(gputrace_map_update(map, GPUTRACE_INSTANCE_INITIAL, &key, sizeof(key), values,
						     sizeof(values), 0), 0);
	}
}

START_TEST(multiprocessors_begin_with_what_was_set)
{
	static struct accesses values[256], at_once[256];
	struct run_options options = {
		.object = "tests/e2e/spread.bpf.o", .opened = begin_apart, .real_device = real_device,
	};

	run_target(&run, &options, "vecadd", "3", NULL);
	for (uint32_t key = 0; key < 2; key++) {
		read_element("held_sm", key, values, 256);
		read_element("at_once_sm", key, at_once, 256);
		for (unsigned i = 0; i < 256; i++) {
			ck_assert(real_device || values[i].count == at_once[i].count);
			ck_assert_uint_eq(values[i].bytes, 1000 * key + i);
		}
	}
}
END_TEST

/* What was set before counts once, in every context. */
START_TEST(begin_with_what_was_set)
{
	struct run_options options = {
		.object = "tests/e2e/spread.bpf.o", .opened = begin_with, .real_device = real_device,
	};
	struct gputrace_map *map;
	int contexts;

	run_target(&run, &options, "contexts", NULL);
	map = gputrace_object_find_map(run.object, "added");
	contexts = gputrace_map_count_instances(map);
	ck_assert_int_ge(contexts, 2);
	for (int i = 0; i < contexts; i++)
		ck_assert_uint_eq(run_map_value(&run, "added", i, 3), run_map_value(&run, "fetched", i, 3) + 1000000);
}
END_TEST

/* A program that comes when the map has copies, and wants more than to add. */
static void attach_all_then_one_more(struct run *of)
{
	static const uint64_t reads[] = {
		0x0000000000002118,	/* r1 = value of the map at 0 */
		0x0000000000000000,
		0x0000000000001079,	/* r0 = *(u64 *)(r1 + 0) */
		0x00000000000000b7,	/* r0 = 0 */
		0x0000000000000095,	/* exit */
	};
	struct gputrace_program *late;
	struct gputrace_link *more;
	uint32_t index = 0;
	uint64_t code[5];

	ck_assert_msg(!gputrace_attach_object(of->target, of->object, &link_), "%s", gputrace_last_error());
	memcpy(code, reads, sizeof(code));
	for (struct gputrace_map *map = NULL; (map = gputrace_object_next_map(of->object, map)); index++) {
		if (!strcmp(gputrace_map_get_name(map), ".bss"))
			break;
	}
	code[0] |= (uint64_t)index << 32;
	ck_assert_int_eq(gputrace_object_add_program(of->object, "late", "cuda/entry:*", code, 5, &late), 0);
	ck_assert_msg(gputrace_attach_program(of->target, late, &more) == -EBUSY, "%s", gputrace_last_error());
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "map .bss is kept"));
}

START_TEST(a_later_reader_is_refused)
{
	struct run_options options = {
		.timeline = true, .object = "tests/e2e/spread.bpf.o", .attach = attach_all_then_one_more,
		.real_device = real_device,
	};

	run_target(&run, &options, "vecadd", "6", NULL);
	check_values();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("spread maps");

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, hold_the_same);
	tcase_add_test(tcase, hold_the_same_when_detached);
	tcase_add_test(tcase, begin_with_what_was_set);
	tcase_add_test(tcase, multiprocessors_begin_with_what_was_set);
	tcase_add_test(tcase, a_later_reader_is_refused);
	return run_case("spread maps", tcase);
}
