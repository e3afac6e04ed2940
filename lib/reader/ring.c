/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/ring.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define HEADER_WORDS (sizeof(struct gt_record) / 8)
#define AHEAD 2048u	/* bytes: what is about to be read is fetched from memory, also beyond the page */

static uint64_t *word_at(const struct gt_ring *ring, uint64_t position)
{
	return (uint64_t *)(void *)(ring->data + (position & (ring->size - 1)));
}

/* What the first word of a record at that position carries. */
static uint32_t sequence(uint64_t position)
{
	return (uint32_t)(position >> 3) + 1;
}

static int check(const struct gt_ring *ring, const struct gt_record *record)
{
	uint64_t payload = gt_record_payload(record->size, record->more);

	if (payload > GT_RECORD_MAX_PAYLOAD || record->len > ring->size || record->len != sizeof(*record) + payload)
		return -EPROTO;
	return 0;
}

/*
 * What has been read stays where it is until producers come around and write over it.  Should
 * it, being anything, look like the first word of the record that may begin there then, whose
 * sequence number is `next`, it must not be taken for one.  All else of it can stay: to clear
 * memory takes as long as to read it.
 */
static inline void disarm(uint64_t *at, uint64_t word, uint32_t next)
{
	if (__builtin_expect((uint32_t)word == next, 0))
		__atomic_store_n(at, 0, __ATOMIC_RELAXED);
}

typedef uint32_t pair __attribute__((vector_size(16)));	/* two words, low half first */

static __attribute__((noinline, cold)) void disarm_all(uint64_t *from, uint64_t count, uint32_t next)
{
	for (uint64_t i = 0; i < count; i++)
		disarm(from + i, __atomic_load_n(from + i, __ATOMIC_RELAXED), next + (uint32_t)i);
}

/* Words that lie in one piece; next: the sequence number where the first of them is, once around. */
static inline void copy(uint64_t *from, uint64_t count, uint32_t next, uint8_t *to)
{
	pair numbers = { next, 0, next + 1, 0 }, alike = { 0 };

	for (uint64_t i = 0; i < count / 2; i++, numbers += (pair){ 2, 0, 2, 0 }) {
		pair words;

		memcpy(&words, from + 2 * i, sizeof(words));
		memcpy(to + 16 * i, &words, sizeof(words));
		alike |= (pair)(words == numbers);
	}
	if (count & 1) {
		uint64_t word = __atomic_load_n(from + count - 1, __ATOMIC_RELAXED);

		memcpy(to + 8 * (count - 1), &word, sizeof(word));
		disarm(from + count - 1, word, next + (uint32_t)count - 1);
	}
	if (__builtin_expect(alike[0] | alike[2], 0))
		disarm_all(from, count, next);
}

/* What is at that position, which may go on at the ring's start. */
static void copy_around(const struct gt_ring *ring, uint64_t position, uint64_t count, void *to)
{
	uint64_t piece = (ring->size - (position & (ring->size - 1))) / 8;
	uint32_t next = sequence(position + ring->size);

	if (piece > count)
		piece = count;
	copy(word_at(ring, position), piece, next, to);
	copy(word_at(ring, position + 8 * piece), count - piece, next + (uint32_t)piece, (uint8_t *)to + 8 * piece);
}

/* As gt_ring_take(), but the producers are not told. */
static int take(struct gt_ring *ring, struct gt_record *ret_record, void *payload)
{
	struct gt_record record;
	uint64_t words[HEADER_WORDS];
	int r;

	/* Pairs with the producer's release of the first word. */
	words[0] = __atomic_load_n(word_at(ring, ring->tail), __ATOMIC_ACQUIRE);
	if ((uint32_t)words[0] != sequence(ring->tail) || !(words[0] >> 32))
		return 0;
	copy_around(ring, ring->tail + 8, 1, &words[1]);
	memcpy(&record, words, sizeof(record));
	r = check(ring, &record);
	if (r)
		return r;
	copy_around(ring, ring->tail + sizeof(record), record.len / 8 - HEADER_WORDS, payload);
	ring->tail += record.len;
	*ret_record = record;
	return 1;
}

static void publish(const struct gt_ring *ring)
{
	/* Pairs with the producers' acquire: what they will overwrite has been read. */
	__atomic_store_n(ring->published, ring->tail, __ATOMIC_RELEASE);
}

int gt_ring_take(struct gt_ring *ring, struct gt_record *ret_record, void *payload)
{
	int r = take(ring, ret_record, payload);

	if (r > 0)
		publish(ring);
	return r;
}

/* Whoever reads it later checks it again. */
static bool is_record(const struct gt_ring *ring, uint64_t position)
{
	/* Pairs with the producer's release of the first word. */
	uint64_t words[HEADER_WORDS] = { __atomic_load_n(word_at(ring, position), __ATOMIC_ACQUIRE) };
	struct gt_record record;

	if ((uint32_t)words[0] != sequence(position))
		return false;
	words[1] = __atomic_load_n(word_at(ring, position + 8), __ATOMIC_RELAXED);
	memcpy(&record, words, sizeof(record));
	return !check(ring, &record);
}

bool gt_ring_pass(struct gt_ring *ring, uint64_t end)
{
	uint64_t count = (end - ring->tail) / 8, lap = ring->size / 8;

	if (count > lap)
		count = lap;
	for (uint64_t i = 1; i < count; i++) {
		if (!is_record(ring, ring->tail + 8 * i))
			continue;
		for (uint64_t j = 0; j < i; j++) {
			uint64_t *at = word_at(ring, ring->tail + 8 * j);

			disarm(at, __atomic_load_n(at, __ATOMIC_RELAXED), sequence(ring->tail + 8 * j + ring->size));
		}
		ring->tail += 8 * i;
		publish(ring);
		return true;
	}
	return false;
}

/* For another record of the ring, whatever it is. */
static bool has_room(uint32_t count, uint32_t bytes)
{
	return count <= GT_BATCH_RECORDS - GT_RECORD_MAX_COUNT && bytes <= GT_BATCH_BYTES - GT_RECORD_MAX_PAYLOAD;
}

/* Sizes of a record's payloads behind `count` others; how many there are then. */
static inline uint32_t add(struct gt_batch *batch, const struct gt_record *record, uint32_t count)
{
	uint32_t end = count + 1 + record->more;

	while (count < end)
		batch->sizes[count++] = record->size;
	return count;
}

/*
 * Records whose headers are as that of the one before, which has been checked: where the next
 * one is need not be read first.  No further than the ring's end, nor more than a part of it,
 * so that producers get room in time.
 */
static void take_alike(struct gt_ring *ring, const struct gt_record *before, struct gt_batch *batch)
{
	const uint64_t words = before->len / 8, payload = words - HEADER_WORDS, lap = ring->size / 8;
	uint64_t place = (ring->tail & (ring->size - 1)) / 8, most = (lap - place) / words, second;
	uint64_t *begin = word_at(ring, ring->tail), *at = begin;
	uint32_t seq = sequence(ring->tail), count = batch->count, bytes = batch->bytes;

	memcpy(&second, &before->type, sizeof(second));
	if (most > lap / 16 / words)
		most = lap / 16 / words;
	for (; most && has_room(count, bytes); most--, at += words, seq += (uint32_t)words) {
		uint32_t next = seq + (uint32_t)lap;

		/* Pairs with the producer's release of the first word. */
		if (__atomic_load_n(at, __ATOMIC_ACQUIRE) != (seq | (uint64_t)before->len << 32) ||
		    __atomic_load_n(at + 1, __ATOMIC_RELAXED) != second)
			break;
		__builtin_prefetch((uint8_t *)at + AHEAD);
		disarm(at + 1, second, next + 1);
		copy(at + HEADER_WORDS, payload, next + HEADER_WORDS, batch->data + bytes);
		count = add(batch, before, count);
		bytes += 8 * (uint32_t)payload;
	}
	ring->tail += 8 * (uint64_t)(at - begin);
	batch->count = count;
	batch->bytes = bytes;
}

unsigned gt_ring_take_batch(struct gt_ring *ring, struct gt_batch *batch, int *ret_error)
{
	uint64_t begin = ring->tail;
	struct gt_record record;
	unsigned others = 0;

	batch->count = batch->bytes = 0;
	while (has_room(batch->count, batch->bytes) && ring->tail - begin < ring->size &&
	       (*ret_error = take(ring, &record, batch->data + batch->bytes)) > 0) {
		if (record.type == GT_REC_DATA) {
			batch->count = add(batch, &record, batch->count);
			batch->bytes += record.len - (uint32_t)sizeof(record);
			take_alike(ring, &record, batch);
		} else {
			others += 1u + record.more;
		}
		publish(ring);
	}
	return batch->count + others;
}
