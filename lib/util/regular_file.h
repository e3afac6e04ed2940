/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_REGULAR_FILE_H
#define GT_UTIL_REGULAR_FILE_H

#include <stdint.h>

/*
 * Open a file for reading whose name somebody chose whom we do not trust.  What is no
 * regular file is not opened to find that out: to open a device may do something, and to
 * open a pipe lets a writer go on.  folder, flags, resolve: as for openat2(); 0: nothing
 * asked for.  Never waits.  -ENODEV: no regular file; the errors of opening.
 */
int gt_open_regular(int folder, const char *path, uint64_t flags, uint64_t resolve);

#endif
