/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GT_UTIL_WRITE_ALL_H
#define GT_UTIL_WRITE_ALL_H

#include <stddef.h>

/*
 * All of it, in as many parts as the system takes it.  0 or a negative errno of write(2), with which a part may have
 * been written; -EIO where the system takes nothing and does not say why.  A limit of the file's size is -EFBIG and no
 * SIGXFSZ (lib/util/file_limit.h).
 */
int gt_write_all(int fd, const void *bytes, size_t size);

#endif
