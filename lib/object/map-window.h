/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second, read-only mapping of the memory of a map's instance, at an address that
 * stays when that memory goes: then a copy takes its place, in one step, because
 * somebody may be reading.
 */
#ifndef GT_OBJECT_MAP_WINDOW_H
#define GT_OBJECT_MAP_WINDOW_H

#include <stddef.h>

struct gt_map_window {
	unsigned char *pages;	/* NULL: nobody has asked for it */
	size_t bytes, skip;	/* whole pages, and where in the first one the map begins */
};

/* The memory is about to go: put a copy of it behind the window, to which we may write.  Where it is now; NULL: no memory. */
void *gt_map_window_keep(const struct gt_map_window *window, const void *memory, size_t size);

void gt_map_window_close(struct gt_map_window *window);

#endif
