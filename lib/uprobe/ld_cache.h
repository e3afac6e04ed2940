/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic loader's list of libraries, /etc/ld.so.cache. */
#ifndef GT_UPROBE_LD_CACHE_H
#define GT_UPROBE_LD_CACHE_H

#include <stddef.h>

/*
 * The path of the first library of that name for this machine that accept()
 * takes; points into the cache's bytes.  NULL: none, or not a cache.
 */
const char *gt_ld_cache_find(const char *cache, size_t size, const char *name,
			     int (*accept)(const char *path));

#endif
