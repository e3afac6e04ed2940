/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/library_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/uprobe/mmap_events.h"
#include "lib/util/mappings.h"
#include "lib/util/proc_stat.h"

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

static int look_at_process(void *data, int pid)
{
	struct gt_library_watch *watch = data;
	struct gt_mappings mappings = { 0 };

	if (!watch->ops->is_wanted(watch->data, pid))
		return 0;
	gt_mappings_of_process(&mappings, pid);
	for (unsigned i = 0; i < mappings.count; i++)
		look_at(watch, pid, &mappings.list[i]);
	gt_mappings_free(&mappings);
	return 0;
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
	gt_proc_each(look_at_process, watch);
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
	gt_proc_each(look_at_process, watch);
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
