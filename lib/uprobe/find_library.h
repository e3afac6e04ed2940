/* SPDX-License-Identifier: Apache-2.0 */
/* Where a library is that programs load by its name. */
#ifndef GT_UPROBE_FIND_LIBRARY_H
#define GT_UPROBE_FIND_LIBRARY_H

#include <sys/types.h>

#define GT_LIBCUDA "libcuda.so.1"

/*
 * Where the dynamic loader would find it for a program started from here whose
 * LD_LIBRARY_PATH is `library_path` (NULL: it has none); malloc'd.  -ENOENT, with
 * gt_error() text.
 */
int gt_find_library_in(const char *name, const char *library_path, char **ret_path);

/*
 * The same for a process: a name with a slash is a path already; else the file
 * that the process has mapped (-1: that any process has; 0: none is asked), by a
 * path that also works across mount namespaces and for deleted files; else as
 * above, with the LD_LIBRARY_PATH of this process.
 */
int gt_find_library(const char *name, pid_t pid, char **ret_path);

#endif
