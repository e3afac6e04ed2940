/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's parts that need no target: rings, queue, launches, printing. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/reader/launches.h"
#include "lib/reader/message.h"
#include "lib/reader/print.h"
#include "lib/reader/queue.h"
#include "lib/reader/ranges.h"
#include "lib/reader/records.h"
#include "lib/reader/reader.h"
#include "lib/reader/ring.h"
#include "lib/target/area.h"
#include "lib/target/context.h"
#include "tests/suite.h"

/* ---- rings ---- */

#define RING 256
static uint64_t memory[RING / 8];
static uint64_t published;
static uint8_t payload[GT_RECORD_MAX_PAYLOAD] __attribute__((aligned(8)));

static struct gt_ring fresh_ring(uint64_t tail)
{
	memset(memory, 0, sizeof(memory));
	published = 0;
	return (struct gt_ring){ (uint8_t *)memory, RING, tail, &published };
}

/* Write a record as a producer does; the first word last unless `unfinished`. */
static void produce(uint64_t position, const void *bytes, uint32_t size, int unfinished)
{
	struct gt_record record = {
		.seq = (uint32_t)(position >> 3) + 1,
		.len = 16 + ((size + 7) & ~7u),
		.type = GT_REC_DATA,
		.source = 3,
		.size = size,
	};
	uint64_t words[2];
	uint8_t padded[RING] = { 0 };

	memcpy(words, &record, 16);
	memcpy(padded, bytes, size);
	memory[(position + 8) / 8 % (RING / 8)] = words[1];
	for (uint32_t i = 0; i < size; i += 8)
		memcpy(&memory[(position + 16 + i) / 8 % (RING / 8)], padded + i, 8);
	if (!unfinished)
		memory[position / 8 % (RING / 8)] = words[0];
}

START_TEST(ring_record_wraps)
{
	/* 40 bytes from position 240 on: 16 before the end, 24 at the start. */
	struct gt_ring ring = fresh_ring(240);
	struct gt_record record;

	produce(240, "abcdefghijklmnopqrs", 19, 0);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 1);
	ck_assert_uint_eq(record.size, 19);
	ck_assert_uint_eq(record.source, 3);
	ck_assert_mem_eq(payload, "abcdefghijklmnopqrs", 19);
	ck_assert_uint_eq(ring.tail, 280);
	ck_assert_uint_eq(published, 280);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 0);
}
END_TEST

START_TEST(ring_waits_for_the_first_word)
{
	struct gt_ring ring = fresh_ring(0);
	struct gt_record record;

	produce(0, "xy", 2, 1);
	produce(24, "later", 5, 0);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 0);
	produce(0, "xy", 2, 0);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 1);
	ck_assert_uint_eq(record.size, 2);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 1);
	ck_assert_mem_eq(payload, "later", 5);
}
END_TEST

/* Records at 0 and 48 are never finished, which those at 24, 72 and 96 are. */
START_TEST(ring_passes_over)
{
	struct gt_ring ring = fresh_ring(0);
	struct gt_record record;

	for (uint64_t i = 0; i < 5; i++)
		produce(24 * i, &i, 8, i == 0 || i == 2);
	/* Once around it would be the first word of a record at 16 + 256. */
	memory[16 / 8] = (16 + 256) / 8 + 1;
	ck_assert(!gt_ring_pass(&ring, 24));
	ck_assert_uint_eq(ring.tail, 0);
	ck_assert(gt_ring_pass(&ring, 120));
	ck_assert_uint_eq(ring.tail, 24);
	ck_assert_uint_eq(published, 24);
	ck_assert_uint_eq(memory[16 / 8], 0);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 1);
	ck_assert_uint_eq(payload[0], 1);
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 0);
	/* However far its producers say that they have come. */
	ck_assert(gt_ring_pass(&ring, UINT64_MAX));
	for (uint8_t i = 3; i < 5; i++) {
		ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 1);
		ck_assert_uint_eq(payload[0], i);
	}
	ck_assert(!gt_ring_pass(&ring, ring.tail));
	ck_assert(!gt_ring_pass(&ring, ring.tail - 8));
	ck_assert_uint_eq(ring.tail, 120);
}
END_TEST

/* What only begins as a record does is none. */
START_TEST(ring_passes_over_to_records_alone)
{
	struct gt_ring ring = fresh_ring(0);

	produce(24, "later", 5, 0);
	memory[24 / 8] = (24 / 8 + 1) | 32ull << 32;	/* a word longer than it is */
	ck_assert(!gt_ring_pass(&ring, RING));
	produce(232, "wraps", 5, 0);
	ck_assert(gt_ring_pass(&ring, RING));
	ck_assert_uint_eq(ring.tail, 232);
}
END_TEST

/* Of a warp's threads that wrote together. */
START_TEST(ring_record_of_several)
{
	struct gt_ring ring = fresh_ring(232);
	struct gt_record record;

	produce(232, "first\0\0\0second\0\0third", 21, 1);
	memory[240 / 8] = GT_REC_DATA | 2 << 8 | 3 << 16 | 5ull << 32;
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 0);
	memory[232 / 8] = (232 / 8 + 1) | 40ull << 32;
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 1);
	ck_assert_uint_eq(record.more, 2);
	ck_assert_uint_eq(record.size, 5);
	ck_assert_mem_eq(payload, "first\0\0\0second\0\0third", 21);
	ck_assert_uint_eq(ring.tail, 272);
}
END_TEST

/* Lengths that would lead out of the ring or out of the payload buffer. */
START_TEST(ring_refuses_nonsense)
{
	static const struct {
		uint32_t len, size;
		uint8_t more;
	} bad[] = { { 8, 0, 0 }, { 17, 0, 0 }, { RING + 8, 8, 0 }, { 24, 9, 0 }, { 16, 1, 0 }, { 0xfffffff8, 16, 0 },
		    { 32, 0xffffffff, 0 }, { 40, 8, 3 }, { 40, 1, 255 }, { 32, 0x80000000, 1 },
		    { 40, 8, 0 }, { 24, 17, 0 } };
	struct gt_ring ring;
	struct gt_record record;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ring = fresh_ring(0);
		memory[0] = 1 | (uint64_t)bad[i].len << 32;
		memory[1] = (uint64_t)bad[i].size << 32 | (uint64_t)bad[i].more << 8;
		ck_assert_int_eq(gt_ring_take(&ring, &record, payload), -EPROTO);
		ck_assert_uint_eq(ring.tail, 0);
	}
	/* A sequence number of another lap is simply not there yet. */
	ring = fresh_ring(0);
	memory[0] = 33 | 16ull << 32;
	ck_assert_int_eq(gt_ring_take(&ring, &record, payload), 0);
}
END_TEST

/* ---- queue ---- */

/* ---- batches ---- */

static struct gt_handlers handlers;
static struct {
	unsigned batches, records;
	uint64_t sum;		/* of the records' numbers, each times its size */
	uint32_t most;		/* in one batch */
} batch;

/* Each record of `size` bytes begins with its number; one of 0 bytes has none. */
static void take_batch(void *data, const struct gputrace_records *records)
{
	const uint8_t *at = records->data;
	uint64_t number;

	ck_assert_ptr_eq(data, &batch);
	ck_assert_int_eq(records->pid, 77);
	for (uint32_t i = 0; i < records->count; i++) {
		memcpy(&number, at, sizeof(number));
		if (records->sizes[i])
			batch.sum += number * records->sizes[i];
		at += (records->sizes[i] + 7) / 8 * 8;
	}
	ck_assert_uint_eq(records->data_size, (uint64_t)(at - (const uint8_t *)records->data));
	batch.most = records->count > batch.most ? records->count : batch.most;
	batch.records += records->count;
	batch.batches++;
}

static unsigned drain(struct gt_ring *ring, int *ret_error)
{
	const struct gt_handler handler = { .fn = take_batch, .data = &batch };
	struct gputrace_records records = { .pid = 77 };

	memset(&batch, 0, sizeof(batch));
	return gt_handlers_drain(&handlers, &handler, ring, &records, ret_error);
}

START_TEST(batch_of_all_that_is_there)
{
	struct gt_ring ring = fresh_ring(200);
	uint64_t position = 200;
	int r;

	/* 11, 0, 24 and 8 bytes, over the end of the ring; the last one is not finished. */
	for (uint64_t i = 0; i < 5; i++) {
		static const uint32_t sizes[] = { 11, 0, 24, 8, 8 };
		uint64_t words[3] = { i + 1, 0, 0 };

		produce(position, words, sizes[i], i == 4);
		position += 16 + (sizes[i] + 7) / 8 * 8;
	}
	ck_assert_uint_eq(drain(&ring, &r), 4);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(batch.batches, 1);
	ck_assert_uint_eq(batch.records, 4);
	ck_assert_uint_eq(batch.sum, 1 * 11 + 3 * 24 + 4 * 8);
	ck_assert_uint_eq(published, position - 24);
	ck_assert_uint_eq(drain(&ring, &r), 0);
	ck_assert_uint_eq(batch.batches, 0);
}
END_TEST

START_TEST(batch_before_nonsense)
{
	struct gt_ring ring = fresh_ring(0);
	uint64_t number = 6;
	int r;

	produce(0, &number, 8, 0);
	produce(24, &number, 8, 0);
	memory[3] |= (uint64_t)0xffffff << 32;	/* longer than the ring */
	ck_assert_uint_eq(drain(&ring, &r), 1);
	ck_assert_int_eq(r, -EPROTO);
	ck_assert_uint_eq(batch.sum, 6 * 8);
}
END_TEST

#define BIG (1u << 20)
static uint64_t big_memory[BIG / 8];
static uint64_t big_mark;

static struct gt_ring big_ring(uint64_t tail)
{
	memset(big_memory, 0, sizeof(big_memory));
	return (struct gt_ring){ (uint8_t *)big_memory, BIG, tail, &big_mark };
}

static uint64_t first_word(uint64_t position, uint64_t len)
{
	return (uint32_t)((position >> 3) + 1) | len << 32;
}

static void put(uint64_t position, uint64_t word)
{
	big_memory[position / 8 % (BIG / 8)] = word;
}

static uint64_t count_records_of_the_next_lap(struct gt_ring ring)
{
	uint64_t end = ring.tail + BIG, found = 0;
	struct gt_record record;

	for (uint64_t position = ring.tail; position < end; position += 8) {
		ring.tail = position;
		found += gt_ring_take(&ring, &record, payload) != 0;
	}
	return found;
}

/* One word of seven is one, so that most are alone in their record, in each place of it; the others fall short by a bit. */
static uint64_t lookalike(uint64_t position)
{
	return first_word(position + BIG, 24) ^ (position / 8 % 7 != 4);
}

/*
 * Records of 32, 40 or 72 bytes all around (the last goes on at the start), with words that look like the first of a
 * record of 24 bytes once around.  One record's second word does without our doing: its type 1 and its
 * source 3 are the sequence number of position 3 << 19, once around from its own.
 */
START_TEST(what_was_read_is_no_record)
{
	static const uint64_t lens[] = { 32, 40, 72 };
	uint64_t len = lens[_i / 2], second = (3u << 19) - BIG, begin = (second - 8) % len, end = begin;
	struct gt_ring ring = big_ring(begin);
	struct gt_record record;
	unsigned count = 0;
	int r;

	for (; end + len <= begin + BIG; end += len) {
		put(end, first_word(end, len));
		put(end + 8, (len - 16) << 32 | 3 << 16 | GT_REC_DATA);
		for (uint64_t at = end + 16; at < end + len; at += 8)
			put(at, lookalike(at));
	}
	ck_assert_uint_eq((uint32_t)big_memory[second / 8], (3u << 19) / 8 + 1);
	if (_i & 1)
		count = drain(&ring, &r);
	else
		for (; gt_ring_take(&ring, &record, payload) == 1; count++)
			ck_assert_uint_eq(*(uint64_t *)(void *)payload, lookalike(ring.tail - len + 16));
	ck_assert_uint_eq(count, BIG / len);
	ck_assert_uint_eq(big_mark, end);
	ck_assert_uint_eq(count_records_of_the_next_lap(ring), 0);
}
END_TEST

static uint64_t random_state;

static uint64_t below(uint64_t n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % n;
}

#define SIZES (BIG / 16 * 256)	/* of all payloads that the ring can hold */
static struct {
	uint64_t number;	/* of the next record */
	uint32_t sizes[SIZES];
} written;

/* Each 8 bytes of a record hold its number. */
static void expect_batch(void *data, const struct gputrace_records *records)
{
	const uint64_t *at = records->data;
	unsigned wrong = 0;

	(void)data;
	for (uint32_t i = 0; i < records->count; i++, written.number++) {
		wrong += records->sizes[i] != written.sizes[written.number % SIZES];
		for (uint32_t j = 0; j < records->sizes[i]; j += 8)
			wrong += *at++ != written.number;
	}
	ck_assert_uint_eq(wrong, 0);
	ck_assert_ptr_eq(at, (const uint8_t *)records->data + records->data_size);
}

/* Runs of records alike, of any length, as far as the ring has room; the one behind them is not finished. */
static uint64_t write_runs(struct gt_ring *ring, uint64_t *position, uint64_t number)
{
	uint64_t size = 0, more = 0, run = 0, padded, len;

	for (;; run--, *position += len) {
		if (!run) {
			size = below(4) ? below(100) : below(20000);
			more = below(3) ? 0 : below(size < 100 ? 256 : 3);
			run = 1 + below(size < 100 ? 5000 : 10);
		}
		padded = (size + 7) / 8 * 8;
		len = 16 + padded * (more + 1);
		if (*position + len + 16 > ring->tail + BIG)
			break;
		for (uint64_t n = 0, at = *position + 16; n <= more; n++, number++) {
			written.sizes[number % SIZES] = (uint32_t)size;
			for (uint64_t end = at + padded; at < end; at += 8)
				put(at, number);
		}
		put(*position + 8, size << 32 | more << 8 | GT_REC_DATA);
		put(*position, first_word(*position, len));
	}
	put(*position + 8, 8ull << 32 | GT_REC_DATA);
	return number;
}

START_TEST(batches_are_what_was_written)
{
	const struct gt_handler handler = { .fn = expect_batch };
	struct gputrace_records records = { .pid = 77 };
	struct gt_ring ring = big_ring(0);
	uint64_t position = 0, number = 0;
	int r;

	written.number = 0;
	random_state = 1;
	for (unsigned lap = 0; lap < 50; lap++) {
		uint64_t before = number;

		number = write_runs(&ring, &position, number);
		ck_assert_uint_eq(gt_handlers_drain(&handlers, &handler, &ring, &records, &r), number - before);
		ck_assert_int_eq(r, 0);
		ck_assert_uint_eq(written.number, number);
		ck_assert_uint_eq(ring.tail, position);
		ck_assert_uint_eq(big_mark, position);
	}
}
END_TEST

/* The sixth of ten alike says that it has a byte more than fits into it. */
START_TEST(nonsense_among_alike)
{
	struct gt_ring ring = big_ring(0);
	int r;

	for (uint64_t i = 0; i < 10; i++) {
		put(24 * i, first_word(24 * i, 24));
		put(24 * i + 8, (i == 5 ? 9ull : 8ull) << 32 | GT_REC_DATA);
		put(24 * i + 16, 1);
	}
	ck_assert_uint_eq(drain(&ring, &r), 5);
	ck_assert_int_eq(r, -EPROTO);
	ck_assert_uint_eq(batch.sum, 5 * 8);
	ck_assert_uint_eq(big_mark, 5 * 24);
}
END_TEST

/* Writes headers over each other's, some of which make sense, until it is told to stop. */
static void *scribble(void *stop)
{
	static const uint64_t seconds[] = {
		8ull << 32 | GT_REC_DATA, 24ull << 32 | GT_REC_DATA, 8ull << 32 | 2 << 8 | GT_REC_DATA, 8ull << 32 | GT_REC_PRINTK,
		UINT64_MAX, 0, 65537ull << 32 | GT_REC_DATA, 8ull << 32 | 255 << 8 | GT_REC_DATA,
	};
	static const uint64_t lens[] = { 24, 40, 24, 24, 40, 16, 65560, BIG + 8 };

	for (uint64_t i = 0; !__atomic_load_n((bool *)stop, __ATOMIC_RELAXED); i++) {
		uint64_t position = i * 24 % BIG, which = i * 2654435761u >> 20;

		__atomic_store_n(&big_memory[position / 8], first_word(position, lens[which % 8]), __ATOMIC_RELAXED);
		__atomic_store_n(&big_memory[(position / 8 + 1) % (BIG / 8)], seconds[which / 8 % 8], __ATOMIC_RELAXED);
	}
	return NULL;
}

static void weigh_batch(void *data, const struct gputrace_records *records)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < records->count; i++)
		bytes += (records->sizes[i] + 7ull) / 8 * 8;
	ck_assert_uint_eq(bytes, records->data_size);
	ck_assert_uint_ge(records->count, 1);
	ck_assert_uint_le(records->count, 4096);
	*(uint64_t *)data += records->count;
}

/* Whatever is there, and however it changes while it is read, batches are what they say. */
START_TEST(ring_that_changes)
{
	uint64_t found = 0;
	const struct gt_handler handler = { .fn = weigh_batch, .data = &found };
	struct gputrace_records records = { .pid = 77 };
	struct gt_ring ring = big_ring(0);
	bool stop = false;
	pthread_t thread;
	int r = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, scribble, &stop), 0);
	/* Where one is nonsense, from the next place on. */
	while (found < 100000) {
		gt_handlers_drain(&handlers, &handler, &ring, &records, &r);
		ring.tail = (ring.tail + 24) % BIG / 24 * 24;
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}
END_TEST

/* What a context left in a ring, unread behind a record that was never finished, is none of the next one's. */
START_TEST(next_context_finds_nothing)
{
	static struct {
		struct gt_host_arena arena;
		uint64_t data[BIG / 8];
	} shared;
	static struct gputrace_target target;
	static struct gt_process process;
	struct gt_target_context context = { 0 }, *contexts[] = { &context };
	struct gt_ring ring;

	target.layout.ring_count = 1;
	target.layout.rings[0] = (struct gt_layout_ring){ .data = sizeof(shared.arena), .size = BIG };
	target.layout.shm.contexts = 1;
	process = (struct gt_process){ .target = &target, .base = (uint8_t *)&shared, .contexts = contexts, .context_count = 1 };
	process.areas[0] = (struct gt_area){ .context = &context, .tail = { 48 } };
	for (unsigned i = 0; i < BIG / 8; i++) {
		/* A word for each of the laps that the next context's ring may begin with. */
		uint64_t position = 8ull * i + (i % 3) * BIG;

		shared.data[i] = first_word(position + (position < 48 ? BIG : 0), 24);
	}
	gt_area_release(&process, 0);
	ck_assert_uint_eq(shared.arena.ring_tail[0], process.areas[0].tail[0]);
	ring = (struct gt_ring){ (uint8_t *)shared.data, BIG, process.areas[0].tail[0], &big_mark };
	ck_assert_uint_eq(count_records_of_the_next_lap(ring), 0);
}
END_TEST

/* A kernel failed within a record: when the process or the context has ended, what others had finished behind it comes. */
START_TEST(failed_kernel)
{
	static struct {
		struct gt_host_arena arena;
		uint64_t data[RING / 8];
	} shared;
	static struct gputrace_reader reader;
	static struct gputrace_target target;
	static struct gt_process process;
	struct gt_target_context context = { 0 }, *contexts[] = { &context };
	struct gt_queued *queued;

	target.layout.ring_count = 1;
	target.layout.rings[0] = (struct gt_layout_ring){ .data = sizeof(shared.arena), .size = RING };
	target.layout.shm.contexts = 1;
	process = (struct gt_process){ .target = &target, .base = (uint8_t *)&shared, .contexts = contexts, .context_count = 1 };
	process.areas[0].context = &context;
	reader.target = &target;
	fresh_ring(0);
	produce(0, "a", 1, 1);
	produce(24, "b", 1, 0);
	memcpy(shared.data, memory, RING);
	ck_assert_uint_eq(gt_reader_drain_gpu(&reader, &process), 0);
	if (_i)
		process.socket = -1;
	else
		shared.arena.state = GT_CONTEXT_GONE;
	ck_assert_uint_eq(gt_reader_drain_gpu(&reader, &process), 1);
	queued = gt_queue_pop(&reader.queue);
	ck_assert_int_eq(queued->event.type, GPUTRACE_EVENT_LOST);
	ck_assert_uint_eq(queued->event.count, 1);
	free(queued);
	ck_assert_uint_eq(gt_reader_drain_gpu(&reader, &process), 1);
	ck_assert_uint_eq(process.areas[0].tail[0], 48);
	ck_assert_uint_eq(gt_reader_drain_gpu(&reader, &process), 0);
	ck_assert_ptr_null(gt_queue_pop(&reader.queue));
	gt_queue_free(&reader.queue);
}
END_TEST

/*
 * More than one batch holds, in number and in bytes: it ends when a largest record does not fit into
 * what is left of 4,096, which may be 256 payloads, or of 262,144, which may be 65,536 bytes.
 */
START_TEST(batches_are_bounded)
{
	static const struct {
		uint32_t size, count, most;
	} cases[] = { { 8, 10000, 3841 }, { GT_RECORD_MAX_PAYLOAD, 15, 4 }, { 1000, 1000, 197 } };
	uint32_t size = cases[_i].size, count = cases[_i].count;
	uint64_t bytes = 1 << 21, *big = calloc(1, bytes), mark;
	struct gt_ring ring = { (uint8_t *)big, bytes, 0, &mark };
	int r;

	ck_assert_ptr_nonnull(big);
	for (uint64_t i = 0, position = 0; i < count; i++, position += 16 + size) {
		big[position / 8] = (uint64_t)(16 + size) << 32 | (uint32_t)((position >> 3) + 1);
		big[position / 8 + 1] = (uint64_t)size << 32 | GT_REC_DATA;
		big[position / 8 + 2] = i;
	}
	ck_assert_uint_eq(drain(&ring, &r), count);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(batch.records, count);
	ck_assert_uint_eq(batch.sum, (uint64_t)size * count * (count - 1) / 2);
	ck_assert_uint_eq(batch.most, cases[_i].most);
	ck_assert_uint_eq(batch.batches, (count + batch.most - 1) / batch.most);
	free(big);
}
END_TEST

START_TEST(queue_orders_by_end_then_arrival)
{
	static const uint64_t ends[] = { 50, 10, 30, 10, 90, 20, 10, 40 };
	static const struct {
		uint64_t end, tag;
	} expected[] = { { 10, 1 }, { 10, 3 }, { 10, 6 }, { 20, 5 }, { 30, 2 }, { 40, 7 }, { 50, 0 },
			 { 90, 4 } };
	struct gt_queue queue = { 0 };

	for (uint64_t i = 0; i < 8; i++) {
		struct gt_queued *queued = gt_queued_new(1, NULL, 0);

		queued->event.end = ends[i];
		queued->event.count = i;
		ck_assert_int_eq(gt_queue_push(&queue, queued), 0);
	}
	for (int i = 0; i < 8; i++) {
		struct gt_queued *queued = gt_queue_pop(&queue);

		ck_assert_uint_eq(queued->event.end, expected[i].end);
		ck_assert_uint_eq(queued->event.count, expected[i].tag);
		free(queued);
	}
	ck_assert_ptr_null(gt_queue_pop(&queue));
	gt_queue_free(&queue);
}
END_TEST

/* ---- launches ---- */

static void add(struct gt_launches *launches, uint64_t id, uint32_t tid, uint64_t enter, uint32_t flags)
{
	struct gt_rec_launch record = {
		.launch = id, .tid = tid, .enter = enter, .leave = enter + 5, .flags = flags,
		.kernel = (uint32_t)id * 10,
	};

	gt_launches_add(launches, &record);
}

static void push_ending(struct gputrace_reader *reader, uint64_t end)
{
	struct gt_queued *queued = gt_queued_new(GPUTRACE_EVENT_MARK, NULL, 0);

	ck_assert_ptr_nonnull(queued);
	queued->event.time = queued->event.end = end;
	gt_reader_push(reader, queued);
}

static void check_next(struct gputrace_reader *reader, uint64_t end, uint64_t lateness)
{
	const struct gputrace_event *event = gputrace_reader_next(reader);

	ck_assert_ptr_nonnull(event);
	ck_assert_uint_eq(gputrace_event_get_end(event), end);
	ck_assert_uint_eq(gputrace_event_get_lateness(event), lateness);
}

/* What comes behind the window is out of order, and says by how much. */
START_TEST(late_events_say_so)
{
	static struct gputrace_reader reader = { .window_ns = 20 };

	push_ending(&reader, 110);
	push_ending(&reader, 100);
	reader.collected = 119;
	ck_assert_ptr_null(gputrace_reader_next(&reader));
	reader.collected = 130;
	check_next(&reader, 100, 0);
	check_next(&reader, 110, 0);
	/* Two that come after the one at 110 was given, and one more that ended with it. */
	push_ending(&reader, 110);
	push_ending(&reader, 50);
	push_ending(&reader, 70);
	check_next(&reader, 50, 60);
	check_next(&reader, 70, 40);
	check_next(&reader, 110, 0);
	push_ending(&reader, 200);
	reader.collected = 219;
	push_ending(&reader, 150);
	check_next(&reader, 150, 0);
	ck_assert_ptr_null(gputrace_reader_next(&reader));
	reader.ended = true;
	check_next(&reader, 200, 0);
	gt_queue_free(&reader.queue);
}
END_TEST

START_TEST(launches_by_id)
{
	struct gt_launches *launches = gt_launches_new();

	add(launches, 7, 1, 100, 0);
	add(launches, 8, 1, 200, GT_LAUNCH_CAPTURED);
	ck_assert_uint_eq(gt_launches_find(launches, 7)->kernel, 70);
	ck_assert_uint_eq(gt_launches_find(launches, 8)->kernel, 80);
	ck_assert_ptr_null(gt_launches_find(launches, 9));
	ck_assert_ptr_null(gt_launches_find(launches, 0));
	/* 200,000 later launches: the single one is forgotten, the graph node stays. */
	for (uint64_t id = 1000; id < 201000; id++)
		add(launches, id << GT_SLOT_BITS, 2, 1000 + id * 10, 0);
	ck_assert_ptr_null(gt_launches_find(launches, 7));
	ck_assert_uint_eq(gt_launches_find(launches, 8)->kernel, 80);
	for (uint64_t id = 300000; id < 310000; id++)
		add(launches, id, 3, id, GT_LAUNCH_CAPTURED);
	ck_assert_uint_eq(gt_launches_find(launches, 305000)->kernel, 3050000);
	gt_launches_free(launches);
}
END_TEST

START_TEST(launches_within_a_call)
{
	struct gt_launches *launches = gt_launches_new();

	add(launches, 1, 42, 100, 0);	/* 100 to 105 */
	add(launches, 2, 42, 200, 0);
	add(launches, 3, 43, 150, 0);
	ck_assert_uint_eq(gt_launches_within(launches, 42, 99, 106), 1);
	ck_assert_uint_eq(gt_launches_within(launches, 42, 100, 105), 1);
	ck_assert_uint_eq(gt_launches_within(launches, 42, 101, 106), 0);
	ck_assert_uint_eq(gt_launches_within(launches, 42, 195, 210), 2);
	ck_assert_uint_eq(gt_launches_within(launches, 43, 140, 160), 3);
	ck_assert_uint_eq(gt_launches_within(launches, 44, 0, 1000), 0);
	gt_launches_free(launches);
}
END_TEST

/* A kernel waits for its launch and for the clock's first sample, a second at most; nothing else does. */
START_TEST(kernels_wait_for_their_launch)
{
	struct gt_process process = { .launches = gt_launches_new() };
	struct gt_queued *queued = gt_queued_new(GPUTRACE_EVENT_KERNEL, &process, 0);

	add(process.launches, 7, 1, 100, 0);
	queued->event.end = 5000;
	ck_assert_uint_eq(gt_reader_due(queued, 20000), 25000);
	queued->event.launch_id = 8;
	ck_assert_uint_eq(gt_reader_due(queued, 20000), 1000005000);
	ck_assert_uint_eq(gt_reader_due(queued, 3000000000), 3000005000);
	queued->event.launch_id = 7;
	ck_assert_uint_eq(gt_reader_due(queued, 20000), 25000);
	/* Without a time it stands where it can have ended at the earliest, and is waited for from when it was told. */
	queued->event.time_error = UINT64_MAX;
	queued->told = 7000;
	ck_assert_uint_eq(gt_reader_due(queued, 20000), 1000007000);
	queued->event.time_error = 100;
	queued->event.launch_id = 8;
	queued->event.type = GPUTRACE_EVENT_PRINT;
	ck_assert_uint_eq(gt_reader_due(queued, 20000), 25000);
	free(queued);
	gt_launches_free(process.launches);
}
END_TEST

/* ---- ranges ---- */

static struct gputrace_reader reader;

/* A record as an agent, or a program that pretends to be one, writes it. */
static void tell(struct gt_process *process, uint32_t kind, uint64_t id, uint64_t time, const char *texts,
		 uint32_t name_size, uint32_t domain_size)
{
	struct gt_rec_range record = { .time = time, .id = id, .tid = 5, .kind = kind, .name_size = name_size,
				       .domain_size = domain_size };
	uint8_t bytes[sizeof(record) + 16] = { 0 };

	memcpy(bytes, &record, sizeof(record));
	memcpy(bytes + sizeof(record), texts, 6);
	gt_reader_take_range(&reader, process, bytes, (uint32_t)sizeof(record) + 6);
}

static void expect_range(uint64_t id, uint64_t begin, uint64_t end)
{
	struct gt_queued *queued = gt_queue_pop(&reader.queue);

	ck_assert_ptr_nonnull(queued);
	ck_assert_int_eq(queued->event.type, GPUTRACE_EVENT_RANGE);
	ck_assert_uint_eq(queued->event.range_id, id);
	ck_assert_uint_eq(queued->event.time, begin);
	ck_assert_uint_eq(queued->event.end, end);
	ck_assert_str_eq(queued->event.name, "abc");
	ck_assert_str_eq(queued->event.domain, "d");
	free(queued);
}

START_TEST(ranges_whichever_end_comes_first)
{
	struct gt_process process = { .pid = 1 };

	tell(&process, GT_RANGE_PUSH, 1, 100, "abc\0d", 4, 2);
	ck_assert_ptr_null(gt_queue_first(&reader.queue));
	tell(&process, GT_RANGE_END, 1, 300, "\0\0\0\0\0", 1, 5);
	expect_range(1, 100, 300);
	/* The ring of the thread that ended it was read first. */
	tell(&process, GT_RANGE_END, 2, 500, "\0\0\0\0\0", 1, 5);
	tell(&process, GT_RANGE_START, 2, 400, "abc\0d", 4, 2);
	expect_range(2, 400, 500);
	/* An end before the beginning is none. */
	tell(&process, GT_RANGE_PUSH, 3, 800, "abc\0d", 4, 2);
	tell(&process, GT_RANGE_END, 3, 700, "\0\0\0\0\0", 1, 5);
	expect_range(3, 800, 800);
	ck_assert_ptr_null(gt_queue_first(&reader.queue));
	gt_reader_close_ranges(&reader, &process);
	ck_assert_uint_eq(reader.lost, 0);
}
END_TEST

START_TEST(ranges_that_make_no_sense)
{
	struct gt_process process = { .pid = 1 };

	tell(&process, GT_RANGE_PUSH, 1, 100, "abcdef", 4, 2);		/* no NULs */
	tell(&process, GT_RANGE_PUSH, 1, 100, "abc\0d", 6, 0);
	tell(&process, GT_RANGE_PUSH, 1, 100, "abc\0d", 0, 6);
	tell(&process, GT_RANGE_PUSH, 1, 100, "abc\0d", 4, UINT32_MAX - 2);
	tell(&process, GT_RANGE_PUSH, 1, 100, "abc\0d", UINT32_MAX, 7);
	tell(&process, GT_RANGE_PUSH, 1, 0, "abc\0d", 4, 2);
	tell(&process, 77, 1, 100, "abc\0d", 4, 2);
	ck_assert_ptr_null(process.ranges);
	/* One id again and again, and an end for the latest alone. */
	for (unsigned i = 0; i < 100000; i++)
		tell(&process, GT_RANGE_PUSH, 9, 100 + i, "abc\0d", 4, 2);
	ck_assert_uint_eq(reader.lost, 100000 - 65536);
	gt_ranges_free(process.ranges);
	process.ranges = NULL;
	/* Ids that collide: neither time nor memory without bound. */
	reader.lost = 0;
	for (uint64_t i = 1; i <= 60000; i++)
		tell(&process, GT_RANGE_PUSH, i << 44, 100, "abc\0d", 4, 2);
	ck_assert_uint_eq(reader.lost, 60000 - 256);
	gt_ranges_free(process.ranges);
	gt_queue_free(&reader.queue);
}
END_TEST

/* ---- printing ---- */

static const struct {
	const char *format, *expected;
} prints[] = {
	{ "plain", "plain" },
	{ "a %d b", "a -1 b" },
	{ "%u", "4294967295" },
	{ "%llu", "18446744073709551615" },
	{ "%lld", "-1" },
	{ "%x %lx", "ffffffff 1234" },
	{ "%#x|%08llx", "0xffffffff|00001234" },
	{ "%5d|%i", "   -1|4660" },
	{ "100%%", "100%" },
	{ "%s", "%s" },			/* not among the conversions */
	{ "%", "%" },
	{ "%l", "%l" },
	{ "%d %d %d %d", "-1 4660 65 %d" },	/* three arguments only */
	{ "%d%d%c", "-14660A" },
	{ "%p", "0xffffffffffffffff" },
	{ "%999999999d", "%999999999d" },
};

START_TEST(print_conversions)
{
	static const uint64_t args[] = { UINT64_MAX, 0x1234, 'A' };
	char out[64];

	gt_print(out, sizeof(out), prints[_i].format, strlen(prints[_i].format), args, 3);
	ck_assert_str_eq(out, prints[_i].expected);
}
END_TEST

START_TEST(print_stays_inside)
{
	static const uint64_t args[] = { 0, 0, 0 };
	char out[9];

	memset(out, 'z', sizeof(out));
	gt_print(out, 8, "0123456789", 10, args, 3);
	ck_assert_str_eq(out, "0123456");
	ck_assert_int_eq(out[8], 'z');
	/* A format need not end in a NUL. */
	gt_print(out, 8, "abcdef", 3, args, 3);
	ck_assert_str_eq(out, "abc");
}
END_TEST

/* The widest that is understood is 999, ours or the printing program's buffer being as it may. */
START_TEST(print_pads)
{
	static const uint64_t args[] = { 7 };
	char out[1001] = "";

	memset(out, 'z', sizeof(out));
	gt_print(out, 8, "%0999d", 6, args, 1);
	ck_assert_str_eq(out, "0000000");
	ck_assert_int_eq(out[8], 'z');
	gt_print(out, 1000, "%999d", 5, args, 1);
	ck_assert_uint_eq(strspn(out, " "), 998);
	ck_assert_str_eq(out + 998, "7");
	ck_assert_int_eq(out[1000], 'z');
}
END_TEST

/* ---- times ---- */

/* GPU 5000 to 5100.  Start 1000 +- 50, end 1300 +- 200, so 1100 to 1500: start from 1000 to 1050. */
START_TEST(length_is_the_gpus)
{
	struct gputrace_event event = {
		.time = 1000, .end = 1300, .time_error = 200, .gpu_start = 5000, .gpu_end = 5100,
	};

	gt_reader_keep_length(&event, 50, 200);
	ck_assert_uint_eq(event.time, 1025);
	ck_assert_uint_eq(event.end, 1125);
	/* All of the bounds are inside: 1025 - 75 = 950, 1125 + 375 = 1500. */
	ck_assert_uint_eq(event.time_error, 375);
}
END_TEST

/* The GPU's clock gained 20 in 1000, and the bounds are narrower than that. */
START_TEST(bounds_outweigh_the_length)
{
	struct gputrace_event event = {
		.time = 1000, .end = 2000, .time_error = 5, .gpu_start = 5000, .gpu_end = 6020,
	};

	gt_reader_keep_length(&event, 5, 5);
	ck_assert_uint_eq(event.time, 1000);
	ck_assert_uint_eq(event.end, 2000);
	ck_assert_uint_eq(event.time_error, 5);
}
END_TEST

/* Ids chosen so that all have one hash: most are not kept, and none takes long. */
START_TEST(colliding_launches)
{
	struct gt_launches *launches = gt_launches_new();
	struct gt_rec_launch record = { .kernel = 1, .flags = GT_LAUNCH_CAPTURED };
	unsigned found = 0;

	for (uint64_t i = 1; i <= 300000; i++) {
		record.launch = i * 0xf1de83e19937733dull;	/* the multiplier's inverse */
		gt_launches_add(launches, &record);
	}
	for (uint64_t i = 1; i <= 300000; i++)
		found += gt_launches_find(launches, i * 0xf1de83e19937733dull) != NULL;
	ck_assert_uint_eq(found, 128);
	gt_launches_free(launches);
}
END_TEST

/* A metric of another process's stream has all that the pages promise of one, or is none. */
START_TEST(metrics_of_a_stream)
{
	struct gputrace_gpu gpu = { .index = 1 };
	struct gputrace_gpu *gpus[GT_GPUS_MAX] = { NULL, &gpu };
	const struct gputrace_event good = { .type = GPUTRACE_EVENT_METRIC, .gpu = &gpu, .name = "power.draw", .unit = "W",
					     .metric_value = 71.5, .time = 5, .end = 7 };
	struct gputrace_event without[3] = { good, good, good };
	_Alignas(uint64_t) char message[1024];
	struct gt_queued *queued;

	gt_message_write_event(&good, message);
	ck_assert_int_eq(gt_message_read_event((void *)message, gpus, &queued), 0);
	ck_assert_str_eq(queued->event.name, "power.draw");
	ck_assert_str_eq(queued->event.unit, "W");
	ck_assert(queued->event.metric_value == 71.5);
	ck_assert_ptr_eq(queued->event.gpu, &gpu);
	free(queued);
	/* Its last words are "power.draw", NUL, "W", NUL and zeros to the next multiple of eight. */
	message[((struct gt_message_head *)message)->size - 4] = 'h';
	ck_assert_int_eq(gt_message_read_event((void *)message, gpus, &queued), -EPROTO);
	without[0].name = NULL;
	without[1].unit = NULL;
	without[2].gpu = NULL;
	for (int i = 0; i < 3; i++) {
		gt_message_write_event(&without[i], message);
		ck_assert_int_eq(gt_message_read_event((void *)message, gpus, &queued), -EPROTO);
	}
	/* Of a GPU that it has not told of. */
	gt_message_write_event(&good, message);
	gpus[1] = NULL;
	ck_assert_int_eq(gt_message_read_event((void *)message, gpus, &queued), -EPROTO);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("reader");

	tcase_add_test(tcase, ring_record_wraps);
	tcase_add_test(tcase, kernels_wait_for_their_launch);
	tcase_add_test(tcase, colliding_launches);
	tcase_add_test(tcase, ring_waits_for_the_first_word);
	tcase_add_test(tcase, ring_passes_over);
	tcase_add_test(tcase, ring_passes_over_to_records_alone);
	tcase_add_test(tcase, ring_record_of_several);
	tcase_add_test(tcase, ring_refuses_nonsense);
	tcase_add_test(tcase, batch_of_all_that_is_there);
	tcase_add_test(tcase, batch_before_nonsense);
	tcase_add_loop_test(tcase, what_was_read_is_no_record, 0, 6);
	tcase_add_test(tcase, batches_are_what_was_written);
	tcase_add_test(tcase, nonsense_among_alike);
	tcase_add_test(tcase, ring_that_changes);
	tcase_add_test(tcase, next_context_finds_nothing);
	tcase_add_loop_test(tcase, failed_kernel, 0, 2);
	tcase_add_loop_test(tcase, batches_are_bounded, 0, 3);
	tcase_add_test(tcase, queue_orders_by_end_then_arrival);
	tcase_add_test(tcase, late_events_say_so);
	tcase_add_test(tcase, launches_by_id);
	tcase_add_test(tcase, launches_within_a_call);
	tcase_add_test(tcase, ranges_whichever_end_comes_first);
	tcase_add_test(tcase, ranges_that_make_no_sense);
	tcase_add_test(tcase, length_is_the_gpus);
	tcase_add_test(tcase, bounds_outweigh_the_length);
	tcase_add_loop_test(tcase, print_conversions, 0, (int)(sizeof(prints) / sizeof(prints[0])));
	tcase_add_test(tcase, print_stays_inside);
	tcase_add_test(tcase, print_pads);
	tcase_add_test(tcase, metrics_of_a_stream);
	return run_case("reader", tcase);
}
