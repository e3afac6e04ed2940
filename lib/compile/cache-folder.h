/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of the compile cache: where it is, files that appear whole, its size. */
#ifndef GT_COMPILE_CACHE_FOLDER_H
#define GT_COMPILE_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#define GT_CACHE_BYTES (64u << 20)	/* what the folder may hold */

/* A descriptor of the folder; -1 when there is none that is the user's alone. */
int gt_cache_folder_open(bool create);

/* Write a file under another name, then give it its own: nobody sees it half written. */
void gt_cache_folder_write(int folder, const char *name, const void *data, size_t size);

/* Remove what has been of no use for longest until the folder is three quarters full or less. */
void gt_cache_folder_trim(int folder);

#endif
