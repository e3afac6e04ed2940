/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a file compressed, as gzip(1) does it (RFC 1952). */
#ifndef GT_EXPORT_GZIP_H
#define GT_EXPORT_GZIP_H

#include <stdbool.h>
#include <stddef.h>

struct gt_gzip;

/* NULL: out of memory. */
struct gt_gzip *gt_gzip_new(void);
/* NULL is fine. */
void gt_gzip_free(struct gt_gzip *gzip);

/* Some of it may be held back until `last`, behind which nothing follows.  0, or as gt_write_all(), after which it is of no use. */
int gt_gzip_write(struct gt_gzip *gzip, int fd, const void *bytes, size_t size, bool last);

#endif
