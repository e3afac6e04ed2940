/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's locks.  Who holds them are the program's threads, and one may end where it
 * is: by pthread_exit() in a signal's handler or in what the driver calls back.  The
 * next one has the lock then, and finds what is under it as that thread left it.
 *
 * Signals are not kept off instead: a program whose threads stop each other by signals
 * could wait for one that waits for a thread that has been stopped with the C library's
 * or the driver's locks.
 */
#ifndef GT_AGENT_LOCK_H
#define GT_AGENT_LOCK_H

#include <pthread.h>

struct gt_lock {
	pthread_mutex_t mutex;
	struct gt_lock *next;	/* of all */
};

/* Before anything else runs. */
void gt_lock_make(struct gt_lock *lock);

void gt_lock(struct gt_lock *lock);

static inline void gt_unlock(struct gt_lock *lock)
{
	pthread_mutex_unlock(&lock->mutex);
}

/* The calling thread holds none from now on, whatever it was at. */
void gt_locks_let_go(void);

/* In a forked child, where nobody holds any. */
void gt_locks_in_child(void);

/* A lock of this name. */
#define GT_LOCK(name) \
	struct gt_lock name; \
	\
	__attribute__((constructor)) static void make_##name(void) \
	{ \
		gt_lock_make(&name); \
	} \
	_Static_assert(1, "")

#endif
