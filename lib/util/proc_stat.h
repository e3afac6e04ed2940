/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_PROC_STAT_H
#define GT_UTIL_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

/* Of a process, or of one of its threads. */
struct gt_proc_stat {
	char state;		/* as ps shows it */
	int parent;
	uint64_t start_ticks;	/* since boot */
	uint64_t code, stack;	/* addresses; 1 and 0 where we may not see them; both 0: it has no memory, or none any more */
};

/* -errno: there is none; -ESRCH: it makes no sense. */
int gt_proc_stat_read(int pid, struct gt_proc_stat *stat);

/*
 * Calls fn for each process, or each thread of one, until it returns something else than
 * 0, which is returned.  -errno: that part of /proc does not open.
 */
int gt_proc_each(int (*fn)(void *data, int pid), void *data);
int gt_proc_each_thread(int pid, int (*fn)(void *data, int tid), void *data);

/* Of any of its threads; false, too, for what is no process or is hidden from us. */
bool gt_proc_has_memory(int pid);

/*
 * A thread by whose number /proc leads into the process: the main one, or another
 * when that has ended and has no memory any more.  pid: none has.
 */
int gt_proc_thread(int pid);

#endif
