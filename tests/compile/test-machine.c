/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled PTX with real warps, on the software device's machine. */
#include <stdlib.h>
#include <string.h>

#include "lib/object/object.h"
#include "tests/compile/machine.h"
#include "tests/compile/probes.h"

START_TEST(counters)
{
	struct machine *machine = machine_new(_i);
	unsigned i;

	machine_add(machine, "count");
	machine_add(machine, "count_on_host");
	machine_add(machine, "globals");
	machine_run(machine, "count", 1, 10, 96);
	for (i = 0; i < 16; i++)
		ck_assert_uint_eq(element(machine->object, "counts", 0, i), 10);
	machine_run(machine, "count_on_host", 1, 10, 96);
	ck_assert_uint_eq(element(machine->object, "host_counts", 0, 1), 960);
	machine_run(machine, "globals", 1, 2, 33);
	machine_free(machine);
}
END_TEST

START_TEST(launch_id)
{
	struct machine *machine = machine_new(_i);
	struct result r;

	machine_add(machine, "context");
	/* links 0 and 3 are on; launch 5, in slot 3, which is no part of the id */
	machine_run(machine, "context", 9ull << 48 | 5ull << GT_SLOT_BITS | 3, 1, 1);
	read_result(machine->object, 0, &r);
	ck_assert_uint_eq(r.launch_id, 5ull << GT_SLOT_BITS);
	ck_assert_uint_eq(r.helper_launch_id, 5ull << GT_SLOT_BITS);
	ck_assert_uint_eq(r.kernel_id, 77);
	ck_assert_uint_eq(r.low_byte, 77);
	ck_assert_uint_eq(r.block_dim, 111);
	ck_assert_uint_eq(r.grid_dim, 111);
	ck_assert_uint_eq(r.mask, 1);
	ck_assert_uint_eq(r.warp_sum, 7);
	ck_assert_uint_gt(r.time, 0);
	/* a whole warp: 32 times 7 */
	machine_run(machine, "context", 6, 1, 32);
	read_result(machine->object, 0, &r);
	ck_assert_uint_eq(r.mask, 0xffffffff);
	ck_assert_uint_eq(r.warp_sum, 224);
	machine_free(machine);
}
END_TEST

START_TEST(functions)
{
	struct machine *machine = machine_new(_i);
	struct result r;

	machine_add(machine, "functions");
	machine_run(machine, "functions", 1, 1, 1);
	read_result(machine->object, 0, &r);
	ck_assert_int_eq(r.codes[0], 10);
	ck_assert_int_eq(r.codes[1], 45);
	ck_assert_int_eq(r.codes[2], 9);
	machine_free(machine);
}
END_TEST

START_TEST(slots)
{
	struct machine *machine = machine_new(_i);
	uint64_t values[1024];
	uint32_t key = 1, i;

	machine_add(machine, "slots");
	machine_run(machine, "slots", 1, 5, 80);
	ck_assert_int_eq(gputrace_map_lookup(gputrace_object_find_map(machine->object, "by_thread"), 0, &key, 4,
					     values, sizeof(values)), 0);
	for (i = 0; i < 1024; i++)
		ck_assert_uint_eq(values[i], i < 400);
	key = 0;
	/* blocks of three warps, the last with 16 threads */
	ck_assert_int_eq(gputrace_map_lookup(gputrace_object_find_map(machine->object, "by_warp"), 0, &key, 4,
					     values, 64 * 8), 0);
	for (i = 0; i < 64; i++)
		ck_assert_uint_eq(values[i], i >= 15 ? 0 : i % 3 == 2 ? 16 : 32);
	ck_assert_int_eq(gputrace_map_lookup(gputrace_object_find_map(machine->object, "by_block"), 0, &key, 4,
					     values, 16 * 8), 0);
	for (i = 0; i < 16; i++)
		ck_assert_uint_eq(values[i], i < 5 ? 80 : 0);
	machine_free(machine);
}
END_TEST

/* Take all records of the probes' ring; each number below `limit` at most once. */
static unsigned drain(struct machine *machine, uint64_t limit, uint8_t *seen)
{
	struct test_ring ring = machine_ring(machine, 1);
	struct gt_record header;
	struct record record;
	unsigned count = 0;

	while (take_record(&ring, &header, &record)) {
		ck_assert_uint_eq(header.type, GT_REC_DATA);
		ck_assert_uint_eq(header.source, 1);
		ck_assert_uint_eq(header.size, RECORD_BYTES);
		ck_assert_uint_lt(record.number, limit);
		ck_assert_uint_eq(seen[record.number], 0);
		ck_assert_uint_eq(record.tail, 0x5a);
		seen[record.number] = 1;
		count++;
	}
	return count;
}

START_TEST(ring_records)
{
	struct machine *machine = machine_new(_i);
	unsigned round, delivered, lost = 0;
	uint8_t *seen = calloc(1, 4096);

	machine_add(machine, "output");
	/* 16 + 32 * 24 bytes a warp: 83 fit, and then 11 records of 40 bytes */
	for (round = 0; round < 4; round++) {
		memset(seen, 0, 4096);
		machine_run(machine, "output", 1, 16, 64);
		ck_assert_uint_eq(drain(machine, 4096, seen), 1024);
	}
	ck_assert_uint_eq(machine_ctl(machine, 1)->lost, 0);
	for (round = 0; round < 4; round++) {
		memset(seen, 0, 4096);
		machine_run(machine, "output", 1, 60, 64);
		delivered = drain(machine, 4096, seen);
		/* every byte that a record fits into is used */
		ck_assert_uint_eq(delivered, 83 * 32 + 11);
		lost += 3840 - delivered;
		ck_assert_uint_eq(machine_ctl(machine, 1)->lost, lost);
	}
	free(seen);
	machine_free(machine);
}
END_TEST

/* Lanes of one warp with records of different lengths, and with some lanes only. */
START_TEST(ring_lanes)
{
	struct machine *machine = machine_new(_i);
	struct test_ring ring = machine_ring(machine, 1);
	struct gt_record header;
	uint64_t record[8];
	uint64_t seen = 0;
	unsigned i;

	machine_add(machine, "output_lengths");
	machine_add(machine, "output_some");
	machine_run(machine, "output_lengths", 1, 1, 64);
	while (take_record(&ring, &header, record)) {
		ck_assert_uint_eq(header.size, 8 + (record[0] & 31));
		ck_assert(!(seen & 1ull << record[0]));
		seen |= 1ull << record[0];
	}
	ck_assert_uint_eq(seen, ~0ull);
	machine_run(machine, "output_some", 1, 1, 64);
	for (i = 0, seen = 0; take_record(&ring, &header, record); i++)
		seen |= 1ull << record[0];
	/* 1, 4, 7, ... 61 */
	ck_assert_uint_eq(i, 21);
	ck_assert_uint_eq(seen, 0x2492492492492492);
	machine_free(machine);
}
END_TEST

START_TEST(reserved_records)
{
	struct machine *machine = machine_new(_i);
	struct test_ring ring = machine_ring(machine, 1);
	struct gt_record header;
	struct record record;
	uint64_t seen = 0;

	machine_add(machine, "reserve");
	machine_run(machine, "reserve", 1, 1, 64);
	while (take_record(&ring, &header, &record)) {
		ck_assert_uint_eq(record.check, 99);
		seen |= 1ull << record.number;
	}
	ck_assert_uint_eq(seen, 0x5555555555555555);
	machine_free(machine);
}
END_TEST

START_TEST(printing)
{
	struct machine *machine = machine_new(_i);
	struct test_ring ring = machine_ring(machine, 0);
	struct {
		struct gt_rec_printk printk;
		char fmt[GT_PRINTK_MAX];
	} record;
	struct gt_record header;
	unsigned i, first = 0, second = 0;

	machine_add(machine, "print");
	machine_run(machine, "print", 3ull << GT_SLOT_BITS, 1, 8);
	for (i = 0; take_record(&ring, &header, &record); i++) {
		ck_assert_uint_eq(header.type, GT_REC_PRINTK);
		ck_assert_uint_eq(record.printk.launch, 3ull << GT_SLOT_BITS);
		ck_assert_uint_gt(record.printk.time, 0);
		if (!strcmp(record.fmt, "thread %u of %u")) {
			ck_assert_uint_eq(record.printk.fmt_size, 16);
			ck_assert_uint_lt(record.printk.args[0], 8);
			ck_assert_uint_eq(record.printk.args[1], 8);
			first |= 1u << record.printk.args[0];
		} else {
			ck_assert_str_eq(record.fmt, "%d %d %d %d");
			ck_assert_uint_eq(record.printk.args[0], 1);
			ck_assert_uint_eq(record.printk.args[3], 4);
			ck_assert_uint_eq(record.printk.args[4], 0);
			second++;
		}
	}
	ck_assert_uint_eq(i, 16);
	ck_assert_uint_eq(first, 0xff);
	ck_assert_uint_eq(second, 8);
	machine_free(machine);
}
END_TEST

START_TEST(table_storm)
{
	struct machine *machine = machine_new(_i);
	struct gputrace_map *map = gputrace_object_find_map(machine->object, "table");
	struct pair pair;
	uint32_t key;

	machine_add(machine, "table_storm");
	machine_run(machine, "table_storm", 1, 32, 128);
	ck_assert_uint_eq(element(machine->object, "counts", 0, 0), 64);
	for (key = 0; key < 64; key++) {
		ck_assert_int_eq(gputrace_map_lookup(map, 0, &key, 4, &pair, sizeof(pair)), 0);
		ck_assert_uint_eq(pair.a, 64);
	}
	ck_assert_int_lt(gputrace_map_lookup(map, 0, &key, 4, &pair, sizeof(pair)), 0);
	machine_free(machine);
}
END_TEST

/* Many more keys than places: what went in came out, and all places are free again. */
START_TEST(table_churn)
{
	struct machine *machine = machine_new(_i);
	struct gputrace_map *map = gputrace_object_find_map(machine->object, "table");
	uint64_t inserted;
	uint32_t key;

	machine_add(machine, "table_churn");
	machine_run(machine, "table_churn", 1, 64, 64);
	inserted = element(machine->object, "counts", 0, 1);
	ck_assert_uint_ge(inserted, TABLE_ENTRIES);
	ck_assert_uint_eq(element(machine->object, "counts", 0, 2), inserted);
	ck_assert_int_lt(gputrace_map_next_key(map, 0, NULL, &key, 4), 0);
	ck_assert_uint_eq(*(uint64_t *)(machine->dev + map->place.offset), 0);
	machine_free(machine);
}
END_TEST

static void check_recent(struct machine *machine, const char *name)
{
	struct gputrace_map *map = gputrace_object_find_map(machine->object, name);
	uint32_t key, *previous = NULL, count = 0;
	struct pair pair;

	for (; gputrace_map_next_key(map, 0, previous, &key, 4) == 0; previous = &key, count++) {
		ck_assert_int_eq(gputrace_map_lookup(map, 0, &key, 4, &pair, sizeof(pair)), 0);
		ck_assert_uint_eq(pair.a, key);
		ck_assert_uint_eq(pair.b, ~(uint64_t)key);
	}
	ck_assert_uint_gt(count, 0);
	ck_assert_uint_le(count, TABLE_ENTRIES);
}

START_TEST(recent_storm)
{
	struct machine *machine = machine_new(_i);

	machine_add(machine, "recent_storm");
	machine_run(machine, "recent_storm", 1, 16, 64);
	ck_assert_uint_eq(element(machine->object, "counts", 0, 0), 1024);
	ck_assert_uint_eq(element(machine->object, "counts", 0, 1), 1024);
	check_recent(machine, "recent");
	check_recent(machine, "recent_on_host");
	machine_free(machine);
}
END_TEST

static void check_kernel(struct machine *machine, uint64_t launch)
{
	struct test_ring ring = machine_ring(machine, 0);
	struct gt_rec_kernel kernel;
	struct gt_record header;

	ck_assert_int_eq(take_record(&ring, &header, &kernel), 1);
	ck_assert_uint_eq(header.type, GT_REC_KERNEL);
	ck_assert_uint_eq(header.source, 0);
	ck_assert_uint_eq(header.size, sizeof(kernel));
	ck_assert_uint_eq(kernel.launch, launch);
	ck_assert_uint_eq(kernel.kernel, 77);
	ck_assert_uint_gt(kernel.start, 0);
	ck_assert_uint_le(kernel.start, kernel.end);
	ck_assert_int_eq(take_record(&ring, &header, &kernel), 0);
}

static bool slot_is_clean(struct machine *machine, uint64_t launch)
{
	const struct gt_launch_slots *rows = (const void *)(machine->dev + machine->slots);
	unsigned slot = launch % GT_LAUNCH_SLOTS;

	for (unsigned i = 0; i < GT_SLOT_CLASSES; i++) {
		if (rows->threads[i][slot])
			return false;
	}
	return !rows->start[slot] && !rows->classes_done[slot];
}

/* What the GPU told the agent of the launch's slot. */
static uint64_t slot_done(struct machine *machine, uint64_t launch)
{
	return ((struct gt_host_arena *)machine->host)->slot_done[launch % GT_LAUNCH_SLOTS];
}

/* One record for each launch, whatever the grid, and a clean slot after it. */
START_TEST(timeline)
{
	static const unsigned shapes[][2] = {
		{ 1, 1 }, { 1, 32 }, { 1, 33 }, { 3, 100 }, { 63, 64 }, { 64, 64 }, { 65, 1 }, { 200, 70 }, { 128, 32 }, { 1000, 3 },
	};
	uint64_t launch = 2040;
	unsigned i, early;

	for (early = 0; early < 8; early += 7) {
		struct machine *machine = machine_new(false);

		machine_add_timed(machine, early, NULL);
		for (i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++, launch++) {
			machine_run(machine, "timed", 5ull << 48 | launch, shapes[i][0], shapes[i][1]);
			check_kernel(machine, launch);
			ck_assert(slot_is_clean(machine, launch));
			ck_assert_uint_eq(slot_done(machine, launch), launch);
		}
		ck_assert_uint_eq(machine_ctl(machine, 0)->lost, 0);
		machine_free(machine);
	}
}
END_TEST

/*
 * A grid of 2^33 blocks: block (0,0,1) has number 2^32, so it is not the first of its class, which takes away
 * the 2^27 blocks of 1 thread that there are; it only leaves.
 */
START_TEST(timeline_huge)
{
	static const struct machine_place at[][7] = {
		{ { "%nctaid.x", "131072" }, { "%nctaid.y", "32768" }, { "%nctaid.z", "2" },
		  { "%ctaid.x", "0" }, { "%ctaid.y", "0" }, { "%ctaid.z", "1" }, { NULL, NULL } },
		{ { "%nctaid.x", "131072" }, { "%nctaid.y", "32768" }, { "%nctaid.z", "2" },
		  { "%ctaid.x", "0" }, { "%ctaid.y", "0" }, { "%ctaid.z", "0" }, { NULL, NULL } },
	};
	static const int64_t left[] = { 1, 1 - (1 << 27) };
	struct machine *machine = machine_new(false);
	const struct gt_launch_slots *rows = (const void *)(machine->dev + machine->slots);

	machine_add_timed(machine, 0, at[_i]);
	machine_run(machine, "timed", 5, 1, 1);
	ck_assert_int_eq((int64_t)rows->threads[0][5], left[_i]);
	machine_free(machine);
}
END_TEST

/* A launch without a slot: no record, one lost, and nobody's slot is touched. */
START_TEST(timeline_without_slot)
{
	struct machine *machine = machine_new(false);
	struct test_ring ring = machine_ring(machine, 0);
	struct gt_rec_kernel kernel;
	struct gt_record header;

	machine_add_timed(machine, 0, NULL);
	machine_run(machine, "timed", 7ull << GT_SLOT_BITS, 10, 64);
	ck_assert_int_eq(take_record(&ring, &header, &kernel), 0);
	ck_assert_uint_eq(machine_ctl(machine, 0)->lost, 1);
	ck_assert(slot_is_clean(machine, 1));
	ck_assert_uint_eq(slot_done(machine, 0), 0);
	machine_run(machine, "timed", 8ull << GT_SLOT_BITS | 3, 10, 64);
	check_kernel(machine, 8ull << GT_SLOT_BITS | 3);
	ck_assert_uint_eq(machine_ctl(machine, 0)->lost, 1);
	machine_free(machine);
}
END_TEST

/* The ring of 64 KiB holds 1365 records of 48 bytes; the reader's tail gives room again. */
START_TEST(timeline_full)
{
	struct machine *machine = machine_new(false);
	struct test_ring ring = machine_ring(machine, 0);
	struct gt_rec_kernel kernel;
	struct gt_record header;
	unsigned i, delivered = 0;

	machine_add_timed(machine, 0, NULL);
	machine_ctl(machine, 0)->credits = 480;		/* as if all but ten were taken */
	for (i = 1; i <= 12; i++)
		machine_run(machine, "timed", i, 2, 2);
	ck_assert_uint_eq(machine_ctl(machine, 0)->lost, 2);
	while (take_record(&ring, &header, &kernel))
		delivered++;
	ck_assert_uint_eq(delivered, 10);
	machine_run(machine, "timed", 13, 2, 2);
	check_kernel(machine, 13);
	ck_assert_uint_eq(machine_ctl(machine, 0)->lost, 2);
	machine_free(machine);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("machine");
	TCase *tcase = tcase_create("machine");

	tcase_add_loop_test(tcase, counters, 0, 2);
	tcase_add_loop_test(tcase, launch_id, 0, 2);
	tcase_add_loop_test(tcase, functions, 0, 2);
	tcase_add_loop_test(tcase, slots, 0, 2);
	tcase_add_loop_test(tcase, ring_records, 0, 2);
	tcase_add_loop_test(tcase, ring_lanes, 0, 2);
	tcase_add_loop_test(tcase, reserved_records, 0, 2);
	tcase_add_loop_test(tcase, printing, 0, 2);
	tcase_add_loop_test(tcase, table_storm, 0, 2);
	tcase_add_loop_test(tcase, table_churn, 0, 2);
	tcase_add_loop_test(tcase, recent_storm, 0, 2);
	tcase_add_test(tcase, timeline);
	tcase_add_loop_test(tcase, timeline_huge, 0, 2);
	tcase_add_test(tcase, timeline_without_slot);
	tcase_add_test(tcase, timeline_full);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
