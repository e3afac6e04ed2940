/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads are in our hooks, so that what they use can be taken away when none is. */
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/agent/agent.h"
#include "lib/agent/call/stack.h"
#include "lib/agent/hook/hooks.h"
#include "lib/agent/lock.h"
#include "lib/agent/thread.h"

_Thread_local int gt_depth;
atomic_bool gt_forked;

/*
 * Where threads are counted, each place in a cache line of its own, so that threads do
 * not wait for each other.  A place that one thread has for itself is changed by plain
 * stores, and whoever waits sees to it that they are visible (see gt_wait_until_left());
 * one that threads share is changed by atomic operations.
 */
struct place {
	_Alignas(64) _Atomic uint32_t threads;	/* that are inside */
	_Atomic uint32_t has_owner;		/* own places */
};
#define OWN 256
#define SHARED 64
static struct place places[OWN + SHARED];

static _Thread_local struct place *my_place __attribute__((tls_model("initial-exec")));
static _Thread_local int cancel_before __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t entered_at __attribute__((tls_model("initial-exec")));	/* on its stack; 0: by no gt_enter() */
static _Atomic uint32_t next_shared;
static atomic_bool own_allowed;
static atomic_bool has_key;
static pthread_key_t at_end;	/* value: the thread's place */

static bool is_own(const struct place *place)
{
	return place < places + OWN;
}

static void count_out(struct place *place)
{
	if (is_own(place))
		atomic_store_explicit(&place->threads, 0, memory_order_release);
	else
		atomic_fetch_sub_explicit(&place->threads, 1, memory_order_release);
}

void gt_leave_at_end(void)
{
	if (gt_depth && my_place)
		count_out(my_place);
	gt_depth = 0;
	entered_at = 0;
}

/* The thread's own stack, and not one for signals or of a coroutine, which may lie anywhere. */
static bool are_on_own_stack(uintptr_t a, uintptr_t b)
{
	struct gt_thread *thread = gt_thread();
	stack_t other;

	return thread && !sigaltstack(NULL, &other) && !(other.ss_flags & SS_ONSTACK) &&
	       gt_call_stack_bytes(thread, a, 8) && gt_call_stack_bytes(thread, b, 8);
}

/* Frames of one stack lie below those that called them: the one that entered is gone when the thread is not below it. */
__attribute__((noinline)) static bool has_jumped_to(uintptr_t here)
{
	int saved = errno;
	bool jumped = are_on_own_stack(here, entered_at);

	if (jumped) {
		gt_note(4, "a signal's handler led a thread of the program out of a call of the driver: what was being done there for the trace was not finished");
		gt_locks_let_go();
		pthread_setcancelstate(cancel_before, NULL);
		gt_leave_at_end();
	}
	errno = saved;
	return jumped;
}

static bool is_inside(uintptr_t here)
{
	return gt_depth && (!entered_at || here < entered_at || !has_jumped_to(here));
}

bool gt_is_inside(void)
{
	return is_inside((uintptr_t)__builtin_frame_address(0));
}

/* What runs at a thread's end after this may still enter. */
static void give_back(void *data)
{
	struct place *place = data;

	gt_leave_at_end();
	my_place = NULL;
	if (is_own(place))
		atomic_store_explicit(&place->has_owner, 0, memory_order_release);
}

static void allow_own(void)
{
	if (pthread_key_create(&at_end, give_back))
		return;
	atomic_store(&has_key, true);
	if (!syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0))
		atomic_store(&own_allowed, true);
}

void gt_enter_prepare(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int saved = errno;

	pthread_once(&once, allow_own);
	errno = saved;
}

static struct place *find_own(void)
{
	for (unsigned i = 0; i < OWN; i++) {
		if (!atomic_exchange_explicit(&places[i].has_owner, 1, memory_order_acquire))
			return &places[i];
	}
	return NULL;
}

/* Once in a thread: what it needs of the stack is no cost of every hook. */
__attribute__((noinline)) static struct place *find_place(void)
{
	struct place *place = atomic_load(&own_allowed) ? find_own() : NULL;
	int saved = errno;

	if (place && pthread_setspecific(at_end, place)) {
		atomic_store(&place->has_owner, 0);
		place = NULL;
	}
	if (!place) {
		place = &places[OWN + atomic_fetch_add_explicit(&next_shared, 1, memory_order_relaxed) % SHARED];
		if (atomic_load(&has_key))
			pthread_setspecific(at_end, place);
	}
	errno = saved;
	return place;
}

bool gt_enter(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	struct place *place;

	if (is_inside(here)) {
		gt_depth++;
		return false;
	}
	gt_depth = 1;
	entered_at = here;
	/* A thread that ended here would take our locks with it; it ends when it is the program's again. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_before);
	place = my_place;
	if (!place)
		my_place = place = find_place();
	/* Before gt_active is read; pairs with gt_wait_until_left(). */
	if (is_own(place)) {
		atomic_store_explicit(&place->threads, 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} else {
		atomic_fetch_add(&place->threads, 1);
	}
	return !atomic_load_explicit(&gt_forked, memory_order_relaxed);
}

void gt_leave(void)
{
	struct place *place = my_place;
	int before = cancel_before;

	/* From the next line on a signal's handler may enter for itself. */
	atomic_signal_fence(memory_order_seq_cst);
	if (--gt_depth)
		return;
	entered_at = 0;
	count_out(place);
	pthread_setcancelstate(before, NULL);
}

void gt_enter_in_child(void)
{
	for (struct place *place = places; place < places + OWN + SHARED; place++) {
		atomic_store(&place->threads, 0);
		atomic_store(&place->has_owner, 0);
	}
	if (!my_place)
		return;
	atomic_store(&my_place->has_owner, 1);
	atomic_store(&my_place->threads, gt_depth > 0);
}

/*
 * After this every thread has either been seen to be inside or finds that gt_active is
 * cleared.  False: the system does not do it, as if somebody were inside.
 */
static bool make_visible(void)
{
	return !atomic_load(&own_allowed) || !syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0);
}

bool gt_wait_until_left(unsigned patience_ms)
{
	static const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t deadline = gt_now() + patience_ms * 1000000ull;

	if (!make_visible())
		return false;
	/* Who comes later finds that we are not active, so it is enough that each place is seen empty once. */
	for (struct place *place = places; place < places + OWN + SHARED; place++) {
		while (atomic_load(&place->threads)) {
			if (gt_now() >= deadline)
				return false;
			nanosleep(&pause, NULL);
		}
	}
	return true;
}
