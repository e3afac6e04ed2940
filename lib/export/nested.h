/* SPDX-License-Identifier: Apache-2.0 */
/* A call's own time: without that of recorded calls that were made within it. */
#ifndef GT_EXPORT_NESTED_H
#define GT_EXPORT_NESTED_H

#include <stdint.h>

struct gt_nested;

struct gt_nested *gt_nested_new(void);
void gt_nested_free(struct gt_nested *nested);

/* Calls of a thread come in the order of their ends, so those within one come before it.  ns. */
uint64_t gt_nested_own_time(struct gt_nested *nested, int pid, int tid, uint64_t time, uint64_t end);

#endif
