/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_FILE_LIMIT_H
#define GT_UTIL_FILE_LIMIT_H

#include <signal.h>

/*
 * What would make a file, or memory that is one, longer than the process may (RLIMIT_FSIZE) fails
 * with EFBIG.  In between it does not raise SIGXFSZ in this thread as well, which would end a process
 * that only uses this library.  errno stays.
 */
void gt_file_limit_hold(sigset_t *ret_before);
void gt_file_limit_release(const sigset_t *before);

#endif
