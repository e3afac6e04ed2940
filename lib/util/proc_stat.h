/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_PROC_STAT_H
#define GT_UTIL_PROC_STAT_H

#include <stddef.h>

/*
 * Read /proc/PID/stat into line.  *ret_rest: what follows the command's closing
 * bracket, from which fields are counted, since the command may hold anything; the
 * state comes first.  -errno: there is no such process; -ESRCH: it makes no sense.
 */
int gt_proc_stat_read(int pid, char *line, size_t size, const char **ret_rest);

#endif
