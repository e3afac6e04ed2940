/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"

_Thread_local struct gt_thread *gt_thread_known;

static pthread_key_t at_end;
static bool has_key;
static uint32_t session;	/* counts sessions */

static void release(void *data)
{
	struct gt_thread *thread = data;

	gt_thread_known = NULL;
	/* Pairs with the acquire of the next owner: it goes on behind our records. */
	if (gt_enter() && atomic_load(&gt_active) && thread->ring && thread->session == session)
		__atomic_store_n(&thread->ring->owner, 0, __ATOMIC_RELEASE);
	gt_leave();
	free(thread->ranges);
	free(thread->externals);
	free(thread);
}

static void make_key(void)
{
	has_key = !pthread_key_create(&at_end, release);
}

void gt_threads_begin(void)
{
	session++;
}

void gt_thread_in_child(void)
{
	if (gt_thread_known)
		gt_thread_known->tid = (uint32_t)syscall(SYS_gettid);
}

static void claim_ring(struct gt_thread *thread)
{
	thread->session = session;
	thread->ring = NULL;
	thread->tail = 0;
	if (!gt_session.thread_ring_size)
		return;
	for (uint32_t i = 0; i < GT_THREAD_RINGS; i++) {
		uint32_t which = (thread->tid + i) % GT_THREAD_RINGS, nobody = 0;
		struct gt_thread_ring *ring = &gt_session.thread_rings[which];

		if (!__atomic_compare_exchange_n(&ring->owner, &nobody, thread->tid, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		thread->ring = ring;
		thread->data = gt_session.thread_data + which * gt_session.thread_ring_size;
		return;
	}
}

struct gt_thread *gt_thread_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;
	struct gt_thread *thread;

	pthread_once(&once, make_key);
	thread = has_key ? calloc(1, sizeof(*thread)) : NULL;

	if (thread && pthread_setspecific(at_end, thread)) {
		free(thread);
		thread = NULL;
	}
	if (thread) {
		thread->tid = (uint32_t)syscall(SYS_gettid);
		gt_thread_known = thread;
	}
	errno = saved;
	return thread;
}

/* Is there room for `len` bytes at `head`?  A tail that makes no sense is a full ring. */
static bool has_room(struct gt_thread *thread, uint64_t head, uint64_t len)
{
	if (head + len - thread->tail <= gt_session.thread_ring_size)
		return true;
	/* Pairs with the reader's release: what is overwritten has been read and cleared. */
	thread->tail = __atomic_load_n(&thread->ring->tail, __ATOMIC_ACQUIRE);
	return head + len - thread->tail <= gt_session.thread_ring_size;
}

static void write_record(struct gt_thread *thread, enum gt_record_type type, const void *payload, size_t size,
			 const void *more, size_t more_size)
{
	struct gt_thread_ring *ring = thread->ring;
	uint64_t head = ring->head & ~7ull, first;	/* whatever stands there, words lie inside the ring */
	uint64_t mask = gt_session.thread_ring_size - 1;
	struct gt_record record = {
		.seq = (uint32_t)(head >> 3) + 1,
		.len = (uint32_t)(sizeof(record) + size + ((more_size + 7) & ~(size_t)7)),
		.type = (uint16_t)type,
		.size = (uint32_t)(size + more_size),
	};

	if (!has_room(thread, head, record.len)) {
		__atomic_store_n(&ring->lost, ring->lost + 1, __ATOMIC_RELAXED);
		return;
	}
	gt_put(thread->data, mask, head + 8, (const uint8_t *)&record + 8, 8);
	gt_put(thread->data, mask, head + sizeof(record), payload, size);
	gt_put(thread->data, mask, head + sizeof(record) + size, more, more_size);
	ring->head = head + record.len;
	memcpy(&first, &record, sizeof(first));
	/* Pairs with the reader's acquire load of the first word. */
	__atomic_store_n((uint64_t *)(void *)(thread->data + (head & mask)), first, __ATOMIC_RELEASE);
}

void gt_thread_emit(struct gt_thread *thread, enum gt_record_type type, const void *payload, size_t size,
		    const void *more, size_t more_size)
{
	if (!atomic_load_explicit(&gt_active, memory_order_relaxed))
		return;
	if (thread->session != session)
		claim_ring(thread);
	if (!thread->ring || thread->writing) {
		gt_emit_pieces(type, payload, size, more, more_size);
		return;
	}
	thread->writing = true;
	atomic_signal_fence(memory_order_seq_cst);
	write_record(thread, type, payload, size, more, more_size);
	atomic_signal_fence(memory_order_seq_cst);
	thread->writing = false;
}
