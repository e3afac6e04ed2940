/* SPDX-License-Identifier: Apache-2.0 */
/* Files that processes map as code, as it happens, on the whole machine. */
#ifndef GT_UPROBE_MMAP_EVENTS_H
#define GT_UPROBE_MMAP_EVENTS_H

#include <stdbool.h>

struct gt_mapping;
struct gt_mmap_events;

/* The errors of perf_event_open(2) and mmap(2); -ENOMEM.  Without gt_error() text. */
int gt_mmap_events_open(struct gt_mmap_events **ret_events);

/*
 * Call fn for each file mapped since the last time, by the processes' ids in our pid
 * namespace.  false: some were missed, so look at what processes have mapped now.
 */
bool gt_mmap_events_read(struct gt_mmap_events *events,
			 void (*fn)(void *data, int pid, const struct gt_mapping *mapping), void *data);

void gt_mmap_events_close(struct gt_mmap_events *events);

#endif
