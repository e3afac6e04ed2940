/* SPDX-License-Identifier: Apache-2.0 */
/* Where the functions of a shared library lie in its file. */
#ifndef GT_UPROBE_SYMBOLS_H
#define GT_UPROBE_SYMBOLS_H

#include <stdint.h>

/*
 * For each of the `count` names that name_of() gives (NULL is skipped), the file
 * offset of the exported function, 0 when the library has none of that name.
 * -ENOENT, -EACCES and the like: the file; -ENOEXEC: not a shared library.
 * With gt_error() text.
 */
int gt_library_symbols(const char *path, const char *(*name_of)(uint32_t index, void *data), void *data,
		    uint32_t count, uint64_t *offsets);

#endif
