/* SPDX-License-Identifier: Apache-2.0 */
/* Records from the agent's threads to the controller, through the agent ring. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "lib/agent/agent.h"

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

static void put_word(uint64_t position, uint64_t word)
{
	uint8_t *data = gt_session.base + gt_session.agent_ring;

	__atomic_store_n((uint64_t *)(void *)(data + (position & (gt_session.agent_ring_size - 1))),
			 word, __ATOMIC_RELAXED);
}

bool gt_emit(enum gt_record_type type, const void *payload, size_t size)
{
	struct gt_shm *shm = gt_session.shm;
	struct gt_record record = {
		.len = (uint32_t)(sizeof(record) + ((size + 7) & ~(size_t)7)),
		.type = (uint16_t)type,
		.size = (uint32_t)size,
	};
	uint64_t position, words[2];

	if (!atomic_load_explicit(&gt_active, memory_order_relaxed) || size > GT_RECORD_MAX_PAYLOAD)
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
	memcpy(words, &record, sizeof(words));
	put_word(position + 8, words[1]);
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, (const uint8_t *)payload + i, size - i < 8 ? size - i : 8);
		put_word(position + 16 + i, word);
	}
	/* Pairs with the reader's acquire load of the first word. */
	__atomic_store_n((uint64_t *)(void *)(gt_session.base + gt_session.agent_ring +
			 (position & (gt_session.agent_ring_size - 1))), words[0], __ATOMIC_RELEASE);
	return true;
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
