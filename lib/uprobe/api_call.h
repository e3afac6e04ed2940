/* SPDX-License-Identifier: Apache-2.0 */
/* The calls that records of the kernel's ring speak of. */
#ifndef GT_UPROBE_API_CALL_H
#define GT_UPROBE_API_CALL_H

#include <stddef.h>

#include "lib/uprobe/api_trace.h"

struct gt_api_files;

/* The call points into the record, and to the names that the files have.  -EBADMSG: it makes no sense. */
int gt_api_call_read(const struct gt_api_files *files, const void *bytes, size_t size, struct gt_api_call *ret_call);

#endif
