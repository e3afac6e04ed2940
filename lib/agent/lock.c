/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/agent/lock.h"

#include <errno.h>

#include "lib/agent/agent.h"

void gt_lock_make(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
}

void gt_lock(pthread_mutex_t *lock)
{
	if (pthread_mutex_lock(lock) != EOWNERDEAD)
		return;
	pthread_mutex_consistent(lock);
	gt_note(4, "a thread of the program ended inside a call of the driver: what was being done there for the trace was not finished");
}
