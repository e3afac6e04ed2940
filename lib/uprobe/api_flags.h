/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UPROBE_API_FLAGS_H
#define GT_UPROBE_API_FLAGS_H

/* The call never returned: its thread ended in it or jumped out of it.  `leave` says when that was seen, result is -1. */
#define GT_API_CALL_UNFINISHED 1u

#endif
