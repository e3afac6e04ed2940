/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a library that processes have mapped: each container may have one of its own. */
#ifndef GT_UPROBE_LIBRARY_WATCH_H
#define GT_UPROBE_LIBRARY_WATCH_H

#include <stdbool.h>

struct gt_mapping;
struct gt_library_watch;

struct gt_library_watch_ops {
	/* Is the process one of those that matter? */
	bool (*is_wanted)(void *data, int pid);
	/* It has mapped one, as /proc/PID/maps says.  later: that was not so when the watch began. */
	void (*found)(void *data, int pid, const struct gt_mapping *mapping, bool later);
	/* There were too many: of processes that have ended meanwhile, some may have had one. */
	void (*missed)(void *data);
};

/* Tell of all files of the library of that soname; of one file once or more.  -ENOMEM, without gt_error() text. */
int gt_library_watch_open(const char *soname, const struct gt_library_watch_ops *ops, void *data,
			  struct gt_library_watch **ret_watch);

/* Tell of those mapped since. */
void gt_library_watch_look(struct gt_library_watch *watch);

/* What keeps those that are mapped later from being noticed: the errors of gt_mmap_events_open(); 0: nothing. */
int gt_library_watch_error(const struct gt_library_watch *watch);

/* NULL is fine. */
void gt_library_watch_close(struct gt_library_watch *watch);

#endif
