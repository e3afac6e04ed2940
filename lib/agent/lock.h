/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's locks.  Who holds them are the program's threads, and one may end where it
 * is: by pthread_exit() in a signal's handler or in what the driver calls back.  The
 * next one has the lock then, and finds what is under it as that thread left it.
 *
 * Signals are not kept off instead: a program whose threads stop each other by signals
 * could wait for one that waits for a thread that has been stopped with the C library's
 * or the driver's locks.  Nothing helps where a handler leaves by longjmp() and its
 * thread lives on, as with the driver's own locks.
 */
#ifndef GT_AGENT_LOCK_H
#define GT_AGENT_LOCK_H

#include <pthread.h>

/* Also anew, in a forked child, where nobody holds it. */
void gt_lock_make(pthread_mutex_t *lock);

void gt_lock(pthread_mutex_t *lock);

static inline void gt_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
}

/* Makes a lock of this name before anything else runs. */
#define GT_LOCK(name) \
	pthread_mutex_t name; \
	\
	__attribute__((constructor)) static void make_##name(void) \
	{ \
		gt_lock_make(&name); \
	} \
	_Static_assert(1, "")

#endif
