/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads are in our hooks, so that what they use can be taken away when none is. */
#include <time.h>

#include "lib/agent/agent.h"
#include "lib/agent/hook/hooks.h"

_Thread_local int gt_depth;
atomic_bool gt_forked;

/* Counted in several places, each in a cache line of its own, so that threads do not wait for each other. */
#define PLACES 64
static struct {
	_Atomic uint32_t threads;
	uint32_t pad[15];
} inside[PLACES];

static _Atomic uint32_t *my_count(void)
{
	static _Thread_local uint32_t place __attribute__((tls_model("initial-exec")));
	static _Atomic uint32_t next = 1;

	if (!place)
		place = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % PLACES + 1;
	return &inside[place - 1].threads;
}

bool gt_enter(void)
{
	if (gt_depth++)
		return false;
	/* Before gt_active is read; pairs with gt_wait_until_left(). */
	atomic_fetch_add(my_count(), 1);
	return !atomic_load_explicit(&gt_forked, memory_order_relaxed);
}

void gt_leave(void)
{
	if (!--gt_depth)
		atomic_fetch_sub_explicit(my_count(), 1, memory_order_release);
}

void gt_enter_in_child(void)
{
	for (unsigned i = 0; i < PLACES; i++)
		atomic_store(&inside[i].threads, 0);
	if (gt_depth)
		atomic_store(my_count(), 1);
}

bool gt_wait_until_left(unsigned patience_ms)
{
	static const struct timespec pause = { .tv_nsec = 200000 };
	uint64_t deadline = gt_now() + patience_ms * 1000000ull;

	/* Who comes later finds that we are not active, so it is enough that each place is seen empty once. */
	for (unsigned i = 0; i < PLACES; i++) {
		while (atomic_load(&inside[i].threads)) {
			if (gt_now() >= deadline)
				return false;
			nanosleep(&pause, NULL);
		}
	}
	return true;
}
