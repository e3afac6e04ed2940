/* SPDX-License-Identifier: Apache-2.0 */
/* Which thread of a process may be borrowed, and where it stands then. */
#ifndef GT_TARGET_HIJACK_PLACE_H
#define GT_TARGET_HIJACK_PLACE_H

struct gt_hijack;

/* Stop one at such a place before the deadline, and read its registers.  The errors of gt_hijack_begin(), with gt_error() text. */
int gt_hijack_find(struct gt_hijack *hijack);

#endif
