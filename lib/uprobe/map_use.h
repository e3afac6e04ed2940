/* SPDX-License-Identifier: Apache-2.0 */
/* Which maps of a BPF object the code in a section refers to. */
#ifndef GT_UPROBE_MAP_USE_H
#define GT_UPROBE_MAP_USE_H

#include <stddef.h>

/*
 * Call fn(data, section, map) for every reference from a code section to a map,
 * once or more for each pair.  -ENOEXEC: damaged.  Without gt_error() text.
 */
int gt_map_use_walk(const void *elf, size_t size,
		    void (*fn)(void *data, const char *section, const char *map), void *data);

#endif
