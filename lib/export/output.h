/* SPDX-License-Identifier: Apache-2.0 */
/* A file being written, which remembers its first error. */
#ifndef GT_EXPORT_OUTPUT_H
#define GT_EXPORT_OUTPUT_H

#include <stddef.h>

struct gt_output;

/*
 * Create or empty the file, of a name that ends in .gz a compressed one.  The errors of open(2); -EINVAL: the name ends
 * as those of files that are compressed otherwise; -ENOMEM.
 */
int gt_output_open(const char *path, struct gt_output **ret_output);

/* 0, or the first error that this file met; nothing is written after it. */
int gt_output_write(struct gt_output *output, const char *text, size_t size);

/* Flush, close and free, also on failure; 0 or the first error. */
int gt_output_close(struct gt_output *output);

#endif
