/* SPDX-License-Identifier: Apache-2.0 */
/* The file of a mapping. */
#ifndef GT_UTIL_MAPPING_FILE_H
#define GT_UTIL_MAPPING_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/util/mappings.h"

/*
 * Is the file of this name the one that is mapped?  By device and inode number: those of
 * stat(), or, since a mapping of a file on overlayfs or btrfs shows another device, those
 * that the kernel shows when we map the file.  Two files of one number in two subvolumes
 * of btrfs are not told apart then: the kernel shows the same for both.
 */
bool gt_mapping_is_file(const struct gt_mapping *mapping, const char *path);

/*
 * A name by which we can open the file: the file itself, even if another has its name
 * by now; else its name in the process's view.  false: there is none.
 */
bool gt_mapping_find_file(int pid, const struct gt_mapping *mapping, char *ret_path, size_t size);

#endif
