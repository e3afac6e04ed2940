/* SPDX-License-Identifier: Apache-2.0 */
/* Records from the agent's threads to the controller, through the agent ring. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/agent/agent.h"

_Thread_local bool gt_closing;

uint64_t gt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Is there room for `len` bytes at `head`?  A tail that makes no sense is a full ring. */
static bool has_room(struct gt_shm *shm, uint64_t head, uint64_t len)
{
	uint64_t size = gt_session.agent_ring_size, tail;

	if (head + len - __atomic_load_n(&shm->agent_ctl.tail_seen, __ATOMIC_ACQUIRE) <= size)
		return true;
	/* Pairs with the reader's release: what is overwritten has been read. */
	tail = __atomic_load_n(&shm->agent_tail, __ATOMIC_ACQUIRE);
	__atomic_store_n(&shm->agent_ctl.tail_seen, tail, __ATOMIC_RELEASE);
	return head + len - tail <= size;
}

/*
 * Take `len` bytes of the ring, by one operation: of a thread that is led away nothing remains but
 * the record that it had begun.
 */
static bool reserve(struct gt_shm *shm, uint64_t len, uint64_t *ret_position)
{
	uint64_t head = __atomic_load_n(&shm->agent_ctl.head, __ATOMIC_RELAXED);

	do {
		if (!has_room(shm, head, len))
			return false;
	} while (!__atomic_compare_exchange_n(&shm->agent_ctl.head, &head, head + len, 1, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	/* Whatever stands there, words are aligned and so inside the ring. */
	*ret_position = head & ~7ull;
	return true;
}

typedef uint64_t __attribute__((may_alias, aligned(1))) any_word;

/*
 * No memcpy(): in a program that was built with AddressSanitizer it is that one's, and
 * what is copied may be a stack with forbidden zones between its variables.
 */
__attribute__((no_sanitize("address"))) void gt_put(uint8_t *data, uint64_t mask, uint64_t position,
						    const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		if (size - i >= 8) {
			word = *(const any_word *)(const void *)(from + i);
		} else {
			for (size_t j = 0; i + j < size; j++)
				word |= (uint64_t)from[i + j] << 8 * j;
		}
		__atomic_store_n((uint64_t *)(void *)(data + ((position + i) & mask)), word, __ATOMIC_RELAXED);
	}
}

bool gt_emit_pieces(enum gt_record_type type, const void *payload, size_t size, const void *more, size_t more_size)
{
	struct gt_shm *shm = gt_session.shm;
	uint8_t *data = gt_session.base + gt_session.agent_ring;
	uint64_t mask = gt_session.agent_ring_size - 1, position, first;
	struct gt_record record = {
		.len = (uint32_t)(sizeof(record) + size + ((more_size + 7) & ~(size_t)7)),
		.type = (uint16_t)type,
		.size = (uint32_t)(size + more_size),
	};

	if (!(atomic_load_explicit(&gt_active, memory_order_relaxed) || gt_closing) ||
	    size + more_size > GT_RECORD_MAX_PAYLOAD)
		return false;
	if (!reserve(shm, record.len, &position)) {
		/* A reading of the clock is no event, and the next one does as well. */
		if (type != GT_REC_CLOCK)
			__atomic_fetch_add(&shm->agent_ctl.lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	record.seq = (uint32_t)(position >> 3) + 1;
	gt_put(data, mask, position + 8, (const uint8_t *)&record + 8, 8);
	gt_put(data, mask, position + sizeof(record), payload, size);
	gt_put(data, mask, position + sizeof(record) + size, more, more_size);
	memcpy(&first, &record, sizeof(first));
	/* Pairs with the reader's acquire load of the first word. */
	__atomic_store_n((uint64_t *)(void *)(data + (position & mask)), first, __ATOMIC_RELEASE);
	return true;
}

bool gt_emit(enum gt_record_type type, const void *payload, size_t size)
{
	return gt_emit_pieces(type, NULL, 0, payload, size);
}

void gt_note(int level, const char *format, ...)
{
	struct {
		struct gt_rec_note note;
		char text[512];
	} record;
	va_list args;

	va_start(args, format);
	vsnprintf(record.text, sizeof(record.text), format, args);
	va_end(args);
	record.note.level = (uint32_t)level;
	record.note.text_size = (uint32_t)strlen(record.text) + 1;
	gt_emit(GT_REC_NOTE, &record, sizeof(record.note) + record.note.text_size);
}
