/* SPDX-License-Identifier: Apache-2.0 */
/* A sentence that says why not. */
#ifndef GT_GRAFT_WHY_H
#define GT_GRAFT_WHY_H

/* Into GT_GRAFT_WHY bytes; always -EINVAL. */
int gt_graft_fail(char *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
