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

_Static_assert(offsetof(struct gt_record, seq) == 0 && offsetof(struct gt_record, len) == 4 &&
	       offsetof(struct gt_record, type) == 8 && offsetof(struct gt_record, source) == 10 &&
	       offsetof(struct gt_record, size) == 12, "what publish() puts together");

uint32_t gt_thread_id(void)
{
	static _Thread_local uint32_t tid __attribute__((tls_model("initial-exec")));

	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

static pthread_key_t at_end;
static bool has_key;
static uint32_t session;	/* counts sessions */

static void release(void *data)
{
	struct gt_thread *thread = data;

	gt_thread_known = NULL;
	gt_leave_at_end();
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

void gt_thread_missing(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	__atomic_fetch_add(&gt_session.shm->agent_ctl.lost, 1, __ATOMIC_RELAXED);
	if (!atomic_flag_test_and_set(&said))
		gt_note(4, "there is no memory for what is to be known of a thread, or the program has created all the keys for data of threads that a process may have: ranges and driver calls are lost");
}

/* Is there a ring of its own that the thread may write to now? */
static bool has_ring(struct gt_thread *thread)
{
	if (!atomic_load_explicit(&gt_active, memory_order_relaxed))
		return false;
	if (thread->session != session)
		claim_ring(thread);
	return thread->ring && !thread->writing;
}

static void set_writing(struct gt_thread *thread, bool writing)
{
	atomic_signal_fence(memory_order_seq_cst);
	thread->writing = writing;
	atomic_signal_fence(memory_order_seq_cst);
}

/* Where the next record goes: whatever stands there, words lie inside the ring. */
static uint64_t head_of(const struct gt_thread *thread)
{
	return thread->ring->head & ~7ull;
}

/* Is there room for `len` bytes at `head`?  A tail that makes no sense is a full ring. */
static bool has_room(struct gt_thread *thread, uint64_t head, uint64_t len)
{
	if (head + len - thread->tail <= gt_session.thread_ring_size)
		return true;
	/* Pairs with the reader's release: what is overwritten has been read. */
	thread->tail = __atomic_load_n(&thread->ring->tail, __ATOMIC_ACQUIRE);
	return head + len - thread->tail <= gt_session.thread_ring_size;
}

/* The payload is there: the record's own words, of which the first makes it one. */
static void publish(struct gt_thread *thread, uint64_t head, enum gt_record_type type, uint64_t size, uint64_t len)
{
	uint64_t mask = gt_session.thread_ring_size - 1;
	uint64_t *first = (void *)(thread->data + (head & mask)), *second = (void *)(thread->data + ((head + 8) & mask));

	/* Each made as a whole: what is stored in pieces and read at once waits for the pieces. */
	__atomic_store_n(second, size << 32 | type, __ATOMIC_RELAXED);
	thread->ring->head = head + len;
	/* Pairs with the reader's acquire load. */
	__atomic_store_n(first, len << 32 | ((uint32_t)(head >> 3) + 1), __ATOMIC_RELEASE);
}

static void write_record(struct gt_thread *thread, enum gt_record_type type, const void *payload, size_t size,
			 const void *more, size_t more_size)
{
	uint64_t head = head_of(thread), mask = gt_session.thread_ring_size - 1;
	uint64_t len = sizeof(struct gt_record) + size + ((more_size + 7) & ~(size_t)7);

	if (!has_room(thread, head, len)) {
		__atomic_store_n(&thread->ring->lost, thread->ring->lost + 1, __ATOMIC_RELAXED);
		return;
	}
	gt_put(thread->data, mask, head + sizeof(struct gt_record), payload, size);
	gt_put(thread->data, mask, head + sizeof(struct gt_record) + size, more, more_size);
	publish(thread, head, type, size + more_size, len);
}

void gt_thread_emit(struct gt_thread *thread, enum gt_record_type type, const void *payload, size_t size,
		    const void *more, size_t more_size)
{
	if (!has_ring(thread)) {
		gt_emit_pieces(type, payload, size, more, more_size);
		return;
	}
	set_writing(thread, true);
	write_record(thread, type, payload, size, more, more_size);
	set_writing(thread, false);
}

void *gt_thread_open(struct gt_thread *thread, size_t max)
{
	uint64_t head, at;

	if (!has_ring(thread))
		return NULL;
	head = head_of(thread);
	at = (head & (gt_session.thread_ring_size - 1)) + sizeof(struct gt_record);
	if (at + max > gt_session.thread_ring_size || !has_room(thread, head, sizeof(struct gt_record) + max))
		return NULL;
	set_writing(thread, true);
	return thread->data + at;
}

void gt_thread_close(struct gt_thread *thread, enum gt_record_type type, size_t size)
{
	publish(thread, head_of(thread), type, size, sizeof(struct gt_record) + size);
	set_writing(thread, false);
}
