/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/library_watch.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/uprobe/mmap_events.h"
#include "lib/util/mappings.h"

struct gt_library_watch {
	char *soname;
	const struct gt_library_watch_ops *ops;
	void *data;
	struct gt_mmap_events *events;	/* NULL: what comes later is not noticed */
	int error;			/* why not */
	bool later;
};

static void look_at(void *data, int pid, const struct gt_mapping *mapping)
{
	struct gt_library_watch *watch = data;

	if (pid > 0 && mapping->executable && gt_mapping_is_library(mapping, watch->soname) &&
	    watch->ops->is_wanted(watch->data, pid))
		watch->ops->found(watch->data, pid, mapping, watch->later);
}

static void look_at_all(struct gt_library_watch *watch)
{
	struct gt_mappings mappings = { 0 };
	DIR *dir = opendir("/proc");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid <= 0 || !watch->ops->is_wanted(watch->data, pid))
			continue;
		gt_mappings_of_process(&mappings, pid);
		for (unsigned i = 0; i < mappings.count; i++)
			look_at(watch, pid, &mappings.list[i]);
	}
	gt_mappings_free(&mappings);
	if (dir)
		closedir(dir);
}

int gt_library_watch_open(const char *soname, const struct gt_library_watch_ops *ops, void *data,
			  struct gt_library_watch **ret_watch)
{
	struct gt_library_watch *watch = calloc(1, sizeof(*watch));

	if (watch)
		watch->soname = strdup(soname);
	if (!watch || !watch->soname) {
		free(watch);
		return -ENOMEM;
	}
	watch->ops = ops;
	watch->data = data;
	/* In this order, so that none comes in between unseen. */
	watch->error = gt_mmap_events_open(&watch->events);
	look_at_all(watch);
	watch->later = true;
	*ret_watch = watch;
	return 0;
}

int gt_library_watch_error(const struct gt_library_watch *watch)
{
	return watch->error;
}

void gt_library_watch_look(struct gt_library_watch *watch)
{
	if (!watch->events || gt_mmap_events_read(watch->events, look_at, watch))
		return;
	look_at_all(watch);
	watch->ops->missed(watch->data);
}

void gt_library_watch_close(struct gt_library_watch *watch)
{
	if (!watch)
		return;
	gt_mmap_events_close(watch->events);
	free(watch->soname);
	free(watch);
}
