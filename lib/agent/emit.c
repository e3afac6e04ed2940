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

/* Turn what the reader has consumed into credits. */
static void collect_credits(struct gt_shm *shm)
{
	/* Pairs with the reader's release store of agent_tail. */
	uint64_t tail = __atomic_load_n(&shm->agent_tail, __ATOMIC_ACQUIRE);
	uint64_t seen = __atomic_load_n(&shm->agent_ctl.tail_seen, __ATOMIC_RELAXED);

	while (tail > seen) {
		if (__atomic_compare_exchange_n(&shm->agent_ctl.tail_seen, &seen, tail, 0,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			__atomic_fetch_add(&shm->agent_ctl.credits, (int64_t)(tail - seen),
					   __ATOMIC_RELAXED);
			return;
		}
	}
}

static bool take_credits(struct gt_shm *shm, uint64_t len)
{
	for (int attempt = 0; attempt < 2; attempt++) {
		if (__atomic_sub_fetch(&shm->agent_ctl.credits, (int64_t)len, __ATOMIC_ACQUIRE) >= 0)
			return true;
		__atomic_fetch_add(&shm->agent_ctl.credits, (int64_t)len, __ATOMIC_RELAXED);
		if (!attempt)
			collect_credits(shm);
	}
	return false;
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
	if (!take_credits(shm, record.len)) {
		/* A reading of the clock is no event, and the next one does as well. */
		if (type != GT_REC_CLOCK)
			__atomic_fetch_add(&shm->agent_ctl.lost, 1, __ATOMIC_RELAXED);
		return false;
	}
	/* Whatever stands there, words are aligned and so inside the ring. */
	position = __atomic_fetch_add(&shm->agent_ctl.head, record.len, __ATOMIC_RELAXED) & ~7ull;
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
