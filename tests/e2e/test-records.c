/* SPDX-License-Identifier: Apache-2.0 */
/* Records in batches: each that programs on the GPU wrote, once, and none as an event. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/suite.h"

#define PATIENCE_MS 600000
#define LAUNCHES 5
#define BLOCKS 512		/* of the demo, in blocks of 256 threads */
#define BATCH_MOST 4096

/* As in examples/bpf/block-times.bpf.c. */
struct record {
	uint64_t launch, block, start, end;
};

static struct gputrace_target *target;
static struct gputrace_object *object;
static struct gputrace_reader *reader;
static struct gputrace_link *link_;
static struct {
	struct record records[LAUNCHES * BLOCKS];
	unsigned count, batches, in_middle;	/* in_middle: of a batch, not as its first */
	const struct gputrace_gpu *gpu;
	int pid;
} seen;

static void take(void *data, const struct gputrace_records *records)
{
	const uint8_t *at = records->data;

	ck_assert_ptr_eq(data, &seen);
	ck_assert_uint_ge(records->count, 1);
	ck_assert_uint_le(records->count, BATCH_MOST);
	ck_assert_uint_le(seen.count + records->count, LAUNCHES * BLOCKS);
	for (unsigned i = 0; i < records->count; i++, at += sizeof(struct record)) {
		ck_assert_uint_eq(records->sizes[i], sizeof(struct record));
		memcpy(&seen.records[seen.count++], at, sizeof(struct record));
	}
	seen.batches++;
	seen.in_middle += records->count - 1;
	seen.gpu = records->gpu;
	seen.pid = records->pid;
}

static void setup(void)
{
	static char *argv[] = { "examples/demo/vecadd", "-l", "5", "-n", "131072", NULL };
	struct gputrace_spawn_opts opts = { .size = sizeof(opts), .device = GPUTRACE_DEVICE_SIM };

	memset(&seen, 0, sizeof(seen));
	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &opts, &target), 0);
	ck_assert_int_eq(gputrace_object_open_file(NULL, "examples/bpf/block-times.bpf.o", &object), 0);
	ck_assert_int_eq(gputrace_attach_object(target, object, &link_), 0);
	ck_assert_int_eq(gputrace_reader_new(target, NULL, &reader), 0);
}

static void teardown(void)
{
	reader = gputrace_reader_unref(reader);
	link_ = gputrace_link_unref(link_);
	object = gputrace_object_unref(object);
	target = gputrace_target_unref(target);
}

/* How many records came as events. */
static unsigned follow(void)
{
	const struct gputrace_event *event;
	unsigned events = 0;

	ck_assert_int_eq(gputrace_target_resume(target), 0);
	while (gputrace_reader_wait(reader, PATIENCE_MS) == 1) {
		while ((event = gputrace_reader_next(reader)))
			events += gputrace_event_get_type(event) == GPUTRACE_EVENT_DATA;
	}
	ck_assert_uint_eq(gputrace_reader_get_lost(reader), 0);
	return events;
}

static int by_launch_and_block(const void *left, const void *right)
{
	const struct record *a = left, *b = right;

	if (a->launch != b->launch)
		return a->launch < b->launch ? -1 : 1;
	return (a->block > b->block) - (a->block < b->block);
}

START_TEST(each_once)
{
	struct gputrace_map *map = gputrace_object_find_map(object, "blocks");

	ck_assert_int_eq(gputrace_reader_set_records(reader, map, take, &seen), 0);
	ck_assert_uint_eq(follow(), 0);
	ck_assert_uint_eq(seen.count, LAUNCHES * BLOCKS);
	qsort(seen.records, seen.count, sizeof(seen.records[0]), by_launch_and_block);
	for (unsigned i = 0; i < seen.count; i++) {
		ck_assert_uint_eq(seen.records[i].launch, seen.records[i - i % BLOCKS].launch);
		ck_assert_uint_eq(seen.records[i].block, i % BLOCKS);
		ck_assert_uint_gt(seen.records[i].start, 0);
		ck_assert_uint_le(seen.records[i].start, seen.records[i].end);
	}
	ck_assert_uint_eq(seen.batches + seen.in_middle, seen.count);
	ck_assert_ptr_eq(seen.gpu, gputrace_target_next_gpu(target, NULL));
	ck_assert_ptr_nonnull(seen.gpu);
	ck_assert_int_eq(seen.pid, gputrace_target_get_pid(target));
}
END_TEST

START_TEST(as_events_again)
{
	struct gputrace_map *map = gputrace_object_find_map(object, "blocks");

	ck_assert_int_eq(gputrace_reader_set_records(reader, map, NULL, NULL), 0);
	ck_assert_int_eq(gputrace_reader_set_records(reader, map, take, NULL), 0);
	ck_assert_int_eq(gputrace_reader_set_records(reader, map, take, &seen), 0);
	ck_assert_int_eq(gputrace_reader_set_records(reader, map, NULL, NULL), 0);
	ck_assert_uint_eq(follow(), LAUNCHES * BLOCKS);
	ck_assert_uint_eq(seen.count, 0);
}
END_TEST

START_TEST(no_ring)
{
	struct gputrace_map *map = gputrace_object_find_map(object, "starts");

	ck_assert_int_eq(gputrace_reader_set_records(reader, map, take, &seen), -EINVAL);
	ck_assert_str_eq(gputrace_last_error(), "map starts is no ring buffer");
}
END_TEST

START_TEST(not_by_others)
{
	struct gputrace_map *map = gputrace_object_find_map(object, "blocks");
	struct gputrace_reader *other;
	char path[64];

	snprintf(path, sizeof(path), "tests/e2e/records-%d", (int)getpid());
	ck_assert_int_eq(gputrace_reader_publish(reader, path, NULL), 0);
	ck_assert_int_eq(gputrace_reader_connect(path, &other), 0);
	ck_assert_int_eq(gputrace_reader_set_records(other, map, take, &seen), -EOPNOTSUPP);
	gputrace_reader_unref(other);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("records");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, each_once);
	tcase_add_test(tcase, as_events_again);
	tcase_add_test(tcase, no_ring);
	tcase_add_test(tcase, not_by_others);
	return run_case("records", tcase);
}
