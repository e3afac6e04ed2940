/* SPDX-License-Identifier: Apache-2.0 */
/* Programs compiled for the host: context, helpers, maps with the kernel's error numbers. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/object/object.h"
#include "tests/compile/common.h"
#include "tests/compile/probes.h"

static const struct gputrace_gpu_ctx sample = {
	.launch_id = 0x123456789abc, .kernel_id = 0xdead01ef, .space = 2, .address = 0x7f0012345678, .size = 8,
	.thread = { 5, 1, 0 }, .block = { 3, 4, 0 }, .block_dim = { 8, 2, 1 }, .grid_dim = { 6, 7, 1 },
};

/* Compile, run once, free; r0. */
static uint64_t run_once(struct gputrace_object *object, const char *name,
			 const struct gputrace_gpu_ctx *context)
{
	struct gputrace_image *image = compile_probe(object, name, false);
	uint64_t value = run(image, context);

	gputrace_image_unref(image);
	return value;
}

START_TEST(counters)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "count", false);
	struct gputrace_gpu_ctx context = sample;
	unsigned i;

	/* threads 0 to 19, of which the map has room for 16 */
	for (i = 0; i < 20; i++) {
		context.thread[0] = i;
		run(image, &context);
		run(image, &context);
	}
	ck_assert_int_eq(gputrace_map_count_instances(gputrace_object_find_map(object, "counts")), 1);
	for (i = 0; i < 16; i++)
		ck_assert_uint_eq(element(object, "counts", 0, i), 2);
	gputrace_image_unref(image);
	run_once(object, "count_on_host", &sample);
	ck_assert_uint_eq(element(object, "host_counts", 0, 1), 1);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(context_fields)
{
	struct gputrace_object *object = open_probes();
	struct timespec now;
	struct result r;
	uint64_t time;

	clock_gettime(CLOCK_REALTIME, &now);
	time = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	run_once(object, "context", &sample);
	read_result(object, 0, &r);
	ck_assert_uint_eq(r.launch_id, 0x123456789abc);
	ck_assert_uint_eq(r.helper_launch_id, 0x123456789abc);
	ck_assert_uint_eq(r.address, 0x7f0012345678);
	ck_assert_uint_eq(r.kernel_id, 0xdead01ef);
	ck_assert_uint_eq(r.low_byte, 0xef);
	ck_assert_uint_eq(r.high_half, 0xdead);
	ck_assert_uint_eq(r.space, 2);
	ck_assert_uint_eq(r.size, 8);
	ck_assert_uint_eq(r.thread, 15);
	ck_assert_uint_eq(r.block, 43);
	ck_assert_uint_eq(r.block_dim, 128);
	ck_assert_uint_eq(r.grid_dim, 176);
	/* thread (5, 1, 0) of 8 x 2: number 13 */
	ck_assert_uint_eq(r.lane, 13);
	ck_assert_uint_eq(r.mask, 1u << 13);
	ck_assert_uint_eq(r.warp_sum, 7);
	ck_assert_uint_eq(r.pid_tgid >> 32, (uint64_t)getpid());
	ck_assert_uint_ge(r.time, time);
	ck_assert_uint_lt(r.time, time + 60000000000);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(global_variables)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "globals", false);
	struct gputrace_map *data;
	uint64_t *bytes;
	uint32_t key = 0, size;

	run(image, &sample);
	run(image, &sample);
	data = gputrace_object_find_map(object, ".bss");
	size = gputrace_map_get_value_size(data);
	bytes = malloc(size);
	ck_assert_int_eq(gputrace_map_lookup(data, 0, &key, 4, bytes, size), 0);
	/* `total`, twice `step`, is first or last */
	ck_assert_uint_eq(bytes[0] + bytes[size / 8 - 1], 6);
	free(bytes);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(array_errors)
{
	static const int64_t expected[] = { 0, 0, -EEXIST, -E2BIG, -EINVAL, -EINVAL, 0, 1 };
	struct gputrace_object *object = open_probes();
	struct result r;

	run_once(object, "array_errors", &sample);
	read_result(object, 0, &r);
	ck_assert_mem_eq(r.codes, expected, sizeof(expected));
	ck_assert_uint_eq(element(object, "counts", 0, 15), 5);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(table_errors)
{
	static const int64_t expected[] = { -ENOENT, -ENOENT, 0, -EEXIST, 0, -EINVAL, 1, 0, 0 };
	struct gputrace_object *object = open_probes();
	struct result r;

	run_once(object, "table_errors", &sample);
	read_result(object, 0, &r);
	ck_assert_mem_eq(r.codes, expected, sizeof(expected));
	gputrace_object_unref(object);
}
END_TEST

static int64_t table_step(const struct gputrace_image *image, uint32_t what, uint32_t key, uint64_t value)
{
	struct gputrace_gpu_ctx context = sample;

	context.size = what;
	context.kernel_id = key;
	context.address = value;
	return (int32_t)run(image, &context);
}

START_TEST(full_table)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "table_step", false);
	struct gputrace_map *map = gputrace_object_find_map(object, "table");
	struct pair pair;
	uint32_t i, round;

	/* More keys in all than the table ever had room for: places are used again. */
	for (round = 0; round < 20; round++) {
		for (i = 0; i < TABLE_ENTRIES; i++)
			ck_assert_int_eq(table_step(image, TABLE_INSERT, 1000 * round + i, i), 0);
		ck_assert_int_eq(table_step(image, TABLE_INSERT, 1000 * round + i, 0), -E2BIG);
		ck_assert_int_eq(table_step(image, TABLE_INSERT, 1000 * round, 0), -EEXIST);
		ck_assert_int_eq(table_step(image, TABLE_UPDATE, 1000 * round + 7, 70), 0);
		for (i = 0; i < TABLE_ENTRIES; i++) {
			uint32_t key = 1000 * round + i;

			ck_assert_int_eq(gputrace_map_lookup(map, 0, &key, 4, &pair, sizeof(pair)), 0);
			ck_assert_uint_eq(pair.a, i == 7 ? 70 : i);
			ck_assert_uint_eq(pair.b, ~pair.a);
			ck_assert_int_eq(table_step(image, TABLE_DELETE, key, 0), 0);
			ck_assert_int_eq(table_step(image, TABLE_DELETE, key, 0), -ENOENT);
		}
	}
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

#define THREADS 4
#define ROUNDS 20000
#define KEYS 20

struct storm {
	const struct gputrace_image *image;
	unsigned number;
	uint64_t inserted, deleted, added;
};

static void *storm(void *data)
{
	struct storm *s = data;
	uint64_t random = s->number + 1;
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		uint32_t key, what;

		random = random * 6364136223846793005u + 1442695040888963407u;
		key = (uint32_t)(random >> 40) % KEYS;
		what = (uint32_t)(random >> 33) % 3;
		if (what == 0)
			s->inserted += table_step(s->image, TABLE_INSERT, key, i) == 0;
		else if (what == 1)
			s->deleted += table_step(s->image, TABLE_DELETE, key, i) == 0;
		else
			table_step(s->image, TABLE_UPDATE, key, i);
	}
	return NULL;
}

/* Whatever the threads do, inserted - deleted = elements, and no value is torn. */
START_TEST(table_contention)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "table_step", false);
	struct gputrace_map *map = gputrace_object_find_map(object, "table");
	struct storm storms[THREADS];
	uint64_t inserted = 0, deleted = 0;
	pthread_t threads[THREADS];
	uint32_t key, i, found = 0;
	struct pair pair;

	for (i = 0; i < THREADS; i++) {
		storms[i] = (struct storm){ .image = image, .number = i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, storm, &storms[i]), 0);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		inserted += storms[i].inserted;
		deleted += storms[i].deleted;
	}
	ck_assert_uint_gt(deleted, ROUNDS / 10);
	for (key = 0; key < KEYS; key++) {
		if (gputrace_map_lookup(map, 0, &key, 4, &pair, sizeof(pair)) < 0)
			continue;
		found++;
		ck_assert_uint_eq(pair.b, ~pair.a);
	}
	ck_assert_uint_eq(inserted - deleted, found);
	/* and the places are all there still */
	for (key = 0; key < KEYS; key++)
		table_step(image, TABLE_DELETE, key, 0);
	for (key = 0; key < TABLE_ENTRIES; key++)
		ck_assert_int_eq(table_step(image, TABLE_INSERT, key, key), 0);
	ck_assert_int_eq(table_step(image, TABLE_INSERT, key, key), -E2BIG);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

/* The ring behind a host image. */
static struct test_ring host_ring(struct gputrace_object *object, struct gt_ring_ctl **ret_ctl)
{
	struct gputrace_map *map = gputrace_object_find_map(object, "ring");
	struct test_ring ring = { .size = RING_BYTES };
	void *memory;

	ck_assert_int_eq(gt_map_host_instance(map, &memory), 0);
	ring.data = memory;
	ring.tail = (uint64_t *)((char *)memory + RING_BYTES);
	*ret_ctl = (struct gt_ring_ctl *)((char *)memory + RING_BYTES + GT_MAP_ALIGN);
	return ring;
}

START_TEST(ring_records)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "output", false);
	struct gputrace_gpu_ctx context = sample;
	struct gt_ring_ctl *ctl;
	struct test_ring ring = host_ring(object, &ctl);
	uint32_t i, delivered = 0, lost = 0, round;
	struct gt_record header;
	struct record record;

	context.block[0] = 0;
	for (round = 0; round < 5; round++) {
		/* 17 bytes take 40: 1638 records fit, and all when half are taken out meanwhile */
		for (i = 0; i < 2000; i++) {
			context.thread[0] = 2000 * round + i;
			if (run(image, &context) == 0)
				continue;
			lost++;
		}
		while (take_record(&ring, &header, &record)) {
			ck_assert_uint_eq(header.type, GT_REC_DATA);
			ck_assert_uint_eq(header.size, RECORD_BYTES);
			ck_assert_uint_eq(record.check, ~record.number);
			ck_assert_uint_eq(record.tail, 0x5a);
			delivered++;
		}
	}
	ck_assert_uint_eq(delivered + lost, 10000);
	ck_assert_uint_eq(delivered, 5 * (RING_BYTES / 40));
	ck_assert_uint_eq(ctl->lost, lost);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(ring_lengths)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "output_lengths", false);
	struct gputrace_gpu_ctx context = sample;
	struct gt_ring_ctl *ctl;
	struct test_ring ring = host_ring(object, &ctl);
	struct gt_record header;
	uint64_t record[8];
	uint32_t i;

	/* enough to go round the ring's end several times */
	for (i = 0; i < 20000; i++) {
		context.thread[0] = i;
		ck_assert_uint_eq(run(image, &context), 0);
		ck_assert_int_eq(take_record(&ring, &header, record), 1);
		ck_assert_uint_eq(header.size, 8 + (i & 31));
		ck_assert_uint_eq(record[0], i);
	}
	ck_assert_uint_eq(ctl->lost, 0);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(reserved_records)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "reserve", false);
	struct gputrace_gpu_ctx context = sample;
	struct gt_ring_ctl *ctl;
	struct test_ring ring = host_ring(object, &ctl);
	struct gt_record header;
	struct record record;
	uint32_t i;

	for (i = 0; i < 10; i++) {
		context.thread[0] = i;
		ck_assert_uint_eq(run(image, &context), 0);
	}
	for (i = 0; i < 10; i += 2) {
		ck_assert_int_eq(take_record(&ring, &header, &record), 1);
		ck_assert_uint_eq(header.size, sizeof(record));
		ck_assert_uint_eq(record.number, i);
		ck_assert_uint_eq(record.check, 99);
		ck_assert_uint_eq(record.tail, 0);	/* never written */
	}
	ck_assert_int_eq(take_record(&ring, &header, &record), 0);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

struct producer {
	const struct gputrace_image *image;
	uint32_t number;
	uint64_t lost;
};

#define RECORDS 30000

static void *produce(void *data)
{
	struct producer *p = data;
	struct gputrace_gpu_ctx context = sample;
	uint32_t i;

	context.block[0] = 0;
	for (i = 0; i < RECORDS; i++) {
		context.thread[0] = p->number * RECORDS + i;
		p->lost += run(p->image, &context) != 0;
	}
	return NULL;
}

/* Several producers and a consumer: delivered + lost = produced, each record whole and once. */
START_TEST(ring_contention)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "output", false);
	uint8_t *seen = calloc(1, THREADS * RECORDS);
	struct producer producers[THREADS];
	uint64_t delivered = 0, lost = 0;
	pthread_t threads[THREADS];
	struct gt_ring_ctl *ctl;
	struct test_ring ring = host_ring(object, &ctl);
	struct gt_record header;
	struct record record;
	unsigned i;

	for (i = 0; i < THREADS; i++) {
		producers[i] = (struct producer){ .image = image, .number = i };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	while (delivered + __atomic_load_n(&ctl->lost, __ATOMIC_RELAXED) < THREADS * RECORDS) {
		if (!take_record(&ring, &header, &record))
			continue;
		ck_assert_uint_eq(record.check, ~record.number);
		ck_assert_uint_lt(record.number, THREADS * RECORDS);
		ck_assert_uint_eq(seen[record.number], 0);
		seen[record.number] = 1;
		delivered++;
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		lost += producers[i].lost;
	}
	ck_assert_int_eq(take_record(&ring, &header, &record), 0);
	ck_assert_uint_eq(ctl->lost, lost);
	ck_assert_uint_eq(delivered + lost, THREADS * RECORDS);
	free(seen);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(slots)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_map *threads, *warps, *blocks;
	struct gputrace_gpu_ctx context = sample;
	uint64_t values[1024];
	uint32_t key = 1;

	/* block (1, 0, 0), thread (5, 1, 0) of blocks of 64 x 2: thread 128 + 69, warp 4 + 2, block 1 */
	context.block[0] = 1, context.block[1] = 0;
	context.block_dim[0] = 64;
	run_once(object, "slots", &context);
	threads = gputrace_object_find_map(object, "by_thread");
	warps = gputrace_object_find_map(object, "by_warp");
	blocks = gputrace_object_find_map(object, "by_block");
	ck_assert_uint_eq(gputrace_map_get_slots(threads), 1024);
	ck_assert_int_eq(gputrace_map_lookup(threads, 0, &key, 4, values, sizeof(values)), 0);
	ck_assert_uint_eq(values[197], 1);
	ck_assert_uint_eq(values[196] | values[198], 0);
	key = 0;
	ck_assert_int_eq(gputrace_map_lookup(warps, 0, &key, 4, values, 64 * 8), 0);
	ck_assert_uint_eq(values[6], 1);
	ck_assert_int_eq(gputrace_map_lookup(blocks, 0, &key, 4, values, 16 * 8), 0);
	ck_assert_uint_eq(values[1], 1);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(functions)
{
	struct gputrace_object *object = open_probes();
	struct result r;

	run_once(object, "functions", &sample);
	read_result(object, 0, &r);
	ck_assert_int_eq(r.codes[0], 10);	/* the callback ends it at index 9 */
	ck_assert_int_eq(r.codes[1], 45);
	ck_assert_int_eq(r.codes[2], 25 + 9);
	gputrace_object_unref(object);
}
END_TEST

/* 65536 rounds are what a program may make where the verifier sees no end. */
START_TEST(countdown)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "endless", false);
	struct gputrace_gpu_ctx context = sample;

	context.launch_id = 65000;
	ck_assert_uint_eq(run(image, &context), 7);
	ck_assert_uint_eq(element(object, "counts", 0, 3), 65000);
	context.launch_id = 1ull << 40;
	ck_assert_uint_eq(run(image, &context), 0);
	ck_assert_uint_ge(element(object, "counts", 0, 3), 65000 + 65535);
	ck_assert_uint_le(element(object, "counts", 0, 3), 65000 + 65537);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

/* Nothing reads what a host image prints: once its ring is full the rest is dropped. */
START_TEST(printing)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "print", false);
	unsigned i;

	for (i = 0; i < 1000; i++)
		run(image, &sample);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("host");
	TCase *tcase = tcase_create("host");

	tcase_add_test(tcase, counters);
	tcase_add_test(tcase, context_fields);
	tcase_add_test(tcase, global_variables);
	tcase_add_test(tcase, array_errors);
	tcase_add_test(tcase, table_errors);
	tcase_add_test(tcase, full_table);
	tcase_add_test(tcase, table_contention);
	tcase_add_test(tcase, ring_records);
	tcase_add_test(tcase, ring_lengths);
	tcase_add_test(tcase, reserved_records);
	tcase_add_test(tcase, ring_contention);
	tcase_add_test(tcase, slots);
	tcase_add_test(tcase, functions);
	tcase_add_test(tcase, countdown);
	tcase_add_test(tcase, printing);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
