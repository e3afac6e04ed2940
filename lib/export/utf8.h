/* SPDX-License-Identifier: Apache-2.0 */
/* Names come from traced programs and may be any bytes; JSON must be UTF-8. */
#ifndef GT_EXPORT_UTF8_H
#define GT_EXPORT_UTF8_H

#include <stddef.h>

/* How many bytes of `text`, from its start, are well-formed UTF-8. */
size_t gt_utf8_valid_prefix(const char *text, size_t size);

/*
 * A copy in which every byte that is no part of a well-formed sequence became
 * U+FFFD; NULL when out of memory.  *ret_size does not count the final NUL.
 */
char *gt_utf8_clean(const char *text, size_t size, size_t *ret_size);

#endif
