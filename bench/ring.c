/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a record costs the reader that takes a GPU's ring in batches: ring [ROUNDS [PAYLOAD [TOGETHER]]]
 *
 * Another thread, on another core, writes a ring of 256 MiB full of records of PAYLOAD bytes
 * (32), TOGETHER of them (1) behind one header, and then the reader takes them: once around is
 * a round.  Beside it what memcpy() takes to fetch the same bytes just as they were written,
 * and, last, both threads at once.  What is printed is the best round and the median, ns.
 */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/reader/records.h"

#define RING ((uint64_t)1 << 28)
#define PIECE (128u << 10)	/* fetched at once; stays in the cache, as a batch does */
#define ROUNDS_MAX 1000u
#define LINE 128		/* what two cores write lies further apart than this */

static struct {
	struct gt_ring ring;		/* the reader's */
	uint64_t taken, sum;
	uint32_t payload, together;
	uint64_t to_write;		/* the producer's next task, in records; 0: end */
	pthread_barrier_t turn;
	uint64_t published __attribute__((aligned(LINE)));
	/* The producer's: how far it has written, and where it saw the tail. */
	uint64_t head __attribute__((aligned(LINE))), seen;
} bench;
static struct gt_handlers handlers;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the producer ---- */

static uint64_t length(void)
{
	return sizeof(struct gt_record) + gt_record_payload(bench.payload, bench.together - 1);
}

static void put_word(uint64_t position, uint64_t word)
{
	*(uint64_t *)(void *)(bench.ring.data + (position & (RING - 1))) = word;
}

static void put_record(void)
{
	uint64_t position = bench.head, len = length();

	while (position + len - bench.seen > RING)
		bench.seen = __atomic_load_n(&bench.published, __ATOMIC_ACQUIRE);
	put_word(position + 8, GT_REC_DATA | (bench.together - 1) << 8 | (uint64_t)bench.payload << 32);
	for (uint64_t i = 16; i < len; i += 8)
		put_word(position + i, position + i);
	__atomic_store_n((uint64_t *)(void *)(bench.ring.data + (position & (RING - 1))),
			 (uint32_t)((uint32_t)(position >> 3) + 1) | len << 32, __ATOMIC_RELEASE);
	bench.head += len;
}

static void *produce(void *unused)
{
	(void)unused;
	for (;;) {
		pthread_barrier_wait(&bench.turn);
		if (!bench.to_write)
			return NULL;
		for (uint64_t i = 0; i < bench.to_write; i++)
			put_record();
		pthread_barrier_wait(&bench.turn);
	}
}

/* Let it write so many records of the ring; it is at it when this returns. */
static void begin_writing(uint64_t records)
{
	bench.to_write = records;
	pthread_barrier_wait(&bench.turn);
}

static void end_writing(void)
{
	pthread_barrier_wait(&bench.turn);
}

/* ---- the reader ---- */

static void take(void *data, const struct gputrace_records *records)
{
	(void)data;
	bench.taken += records->count;
	bench.sum += *(const uint64_t *)records->data;	/* somebody looks at it */
}

static void drain(uint64_t records)
{
	const struct gt_handler handler = { .fn = take };
	struct gputrace_records head = { .pid = 1 };
	uint64_t until = bench.taken + records * bench.together;
	int r = 0;

	while (bench.taken < until && r >= 0)
		gt_handlers_drain(&handlers, &handler, &bench.ring, &head, &r);
	if (r >= 0)
		return;
	fprintf(stderr, "the ring is damaged at %llu\n", (unsigned long long)bench.ring.tail);
	exit(1);
}

/* The same bytes, into memory that stays in the cache. */
static void fetch(uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i += PIECE) {
		memcpy(handlers.batch.data, bench.ring.data + i, PIECE);
		__asm__ volatile("" ::: "memory");
	}
}

/* ---- rounds ---- */

static double time_fetch(uint64_t records)
{
	double begin;

	begin_writing(records);
	end_writing();
	begin = now();
	fetch(records * length());
	begin = now() - begin;
	drain(records);
	return begin;
}

static double time_drain(uint64_t records)
{
	double begin;

	begin_writing(records);
	end_writing();
	begin = now();
	drain(records);
	return now() - begin;
}

static double time_both(uint64_t records)
{
	double begin = now();

	begin_writing(4 * records);
	drain(4 * records);
	begin = now() - begin;
	end_writing();
	return begin / 4;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void run(const char *what, double (*round)(uint64_t records), unsigned rounds)
{
	uint64_t records = RING / length();
	double each[ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		each[i] = round(records) / (double)(records * bench.together);
	qsort(each, rounds, sizeof(each[0]), compare);
	printf("  %-28s best %6.2f ns a record, median %6.2f ns: %6.0f MB/s of payload\n", what, each[0],
	       each[rounds / 2], 1e3 * bench.payload / each[rounds / 2]);
	fflush(stdout);
}

static void make_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, RING))
		exit(1);
	bench.ring = (struct gt_ring){ .size = RING, .published = &bench.published };
	bench.ring.data = mmap(NULL, RING, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (bench.ring.data == MAP_FAILED)
		exit(1);
	close(fd);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t producer;

	bench.payload = argc > 2 ? (uint32_t)atoi(argv[2]) : 32;
	bench.together = argc > 3 ? (uint32_t)atoi(argv[3]) : 1;
	if (rounds < 1 || rounds > (int)ROUNDS_MAX || bench.payload < 8 || !bench.together ||
	    bench.together > GT_RECORD_MAX_COUNT ||
	    gt_record_payload(bench.payload, bench.together - 1) > GT_RECORD_MAX_PAYLOAD) {
		fprintf(stderr, "usage: %s [ROUNDS up to %u [PAYLOAD from 8 on [TOGETHER up to %u]]]: at most %u bytes together\n",
			argv[0], ROUNDS_MAX, GT_RECORD_MAX_COUNT, GT_RECORD_MAX_PAYLOAD);
		return 2;
	}
	make_ring();
	pthread_barrier_init(&bench.turn, NULL, 2);
	if (pthread_create(&producer, NULL, produce, NULL))
		return 1;
	run("memcpy of what was written", time_fetch, (unsigned)rounds);
	run("the reader, of what was written", time_drain, (unsigned)rounds);
	run("the reader, while it is written", time_both, (unsigned)rounds);
	begin_writing(0);
	pthread_join(producer, NULL);
	return 0;
}
