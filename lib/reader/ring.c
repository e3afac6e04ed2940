/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/reader/ring.h"

#include <errno.h>
#include <string.h>

static uint64_t *word_at(const struct gt_ring *ring, uint64_t position)
{
	return (uint64_t *)(void *)(ring->data + (position & (ring->size - 1)));
}

static int check(const struct gt_ring *ring, const struct gt_record *record)
{
	uint64_t payload = gt_record_payload(record->size, record->more);

	if (record->len < sizeof(*record) || record->len & 7 || record->len > ring->size ||
	    payload > record->len - sizeof(*record) || payload > GT_RECORD_MAX_PAYLOAD)
		return -EPROTO;
	return 0;
}

/* Words of zero carry no sequence number, so a producer's old bytes are never taken for a record. */
static void clear(const struct gt_ring *ring, uint32_t len)
{
	for (uint32_t i = 0; i < len; i += 8)
		__atomic_store_n(word_at(ring, ring->tail + i), 0, __ATOMIC_RELAXED);
}

int gt_ring_take(struct gt_ring *ring, struct gt_record *ret_record, void *payload)
{
	struct gt_record record;
	uint64_t words[2];
	int r;

	/* Pairs with the producer's release of the first word. */
	words[0] = __atomic_load_n(word_at(ring, ring->tail), __ATOMIC_ACQUIRE);
	if ((uint32_t)words[0] != (uint32_t)(ring->tail >> 3) + 1 || !(words[0] >> 32))
		return 0;
	words[1] = __atomic_load_n(word_at(ring, ring->tail + 8), __ATOMIC_RELAXED);
	memcpy(&record, words, sizeof(record));
	r = check(ring, &record);
	if (r)
		return r;
	for (uint64_t i = 0; i < gt_record_payload(record.size, record.more); i += 8) {
		uint64_t word = __atomic_load_n(word_at(ring, ring->tail + sizeof(record) + i),
						__ATOMIC_RELAXED);

		memcpy((uint8_t *)payload + i, &word, sizeof(word));
	}
	clear(ring, record.len);
	ring->tail += record.len;
	/* Pairs with the producers' acquire: what they will overwrite has been read and cleared. */
	__atomic_store_n(ring->published, ring->tail, __ATOMIC_RELEASE);
	*ret_record = record;
	return 1;
}
