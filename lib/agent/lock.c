/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/lock.h"

#include <errno.h>

#include "lib/agent/agent.h"

static struct gt_lock *all;

static void initialize(pthread_mutex_t *mutex)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

void gt_lock_make(struct gt_lock *lock)
{
	initialize(&lock->mutex);
	lock->next = all;
	all = lock;
}

void gt_lock(struct gt_lock *lock)
{
	if (pthread_mutex_lock(&lock->mutex) != EOWNERDEAD)
		return;
	pthread_mutex_consistent(&lock->mutex);
	gt_note(4, "a thread of the program ended inside a call of the driver: what was being done there for the trace was not finished");
}

void gt_locks_let_go(void)
{
	/* Those that it does not hold refuse. */
	for (struct gt_lock *lock = all; lock; lock = lock->next)
		pthread_mutex_unlock(&lock->mutex);
}

void gt_locks_in_child(void)
{
	for (struct gt_lock *lock = all; lock; lock = lock->next)
		initialize(&lock->mutex);
}
