/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of a file are watched, and where they are. */
#ifndef GT_UPROBE_SITES_H
#define GT_UPROBE_SITES_H

#include <stdbool.h>

#include "lib/uprobe/attach.h"

struct gt_sites {
	struct gt_uprobe_site *list;	/* cookies are GT_API_COOKIE() */
	unsigned count, room;
	char **names;			/* by the cookie's function; NULL: gt_api_name() has them */
	uint16_t library;		/* for the cookies; to be set before */
};

#define GT_SITES_MAX 16384u
#define GT_SITES_ARGS 6u		/* of a function of which only the name is known */

/*
 * The driver API's functions in the order of the table; queries: also those that
 * only ask.  The errors of gt_file_functions(); -ENOENT: it has none of them;
 * -ENOMEM.  With gt_error() text.  On failure too, gt_sites_free() has to be called.
 */
int gt_sites_of_driver(struct gt_sites *sites, const char *path, bool queries);

/* All functions, exported or not, whose name as the linker knows it matches.  Further error: -E2BIG. */
int gt_sites_matching(struct gt_sites *sites, const char *path, const char *pattern);

void gt_sites_free(struct gt_sites *sites);

#endif
