/* SPDX-License-Identifier: Apache-2.0 */
/* Where the functions of a program or library lie in its file. */
#ifndef GT_UPROBE_SYMBOLS_H
#define GT_UPROBE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Call fn for each function that the file defines, with its name (which is the
 * file's memory) and where its code begins in the file; `all`: not only those
 * that it exports.  A function may come more than once.  fn returns 0, or what
 * ends the walk.
 * -ENOENT, -EACCES and the like: the file; -ENOEXEC: it has no such table; what fn
 * returned.  With gt_error() text, but for what comes from fn.
 */
int gt_file_functions(const char *path, bool all,
		      int (*fn)(void *data, const char *name, uint64_t offset), void *data);

#endif
