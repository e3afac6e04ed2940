/* SPDX-License-Identifier: Apache-2.0 */
/* All files of a library that watched processes have or load later, each of which gets attached to once. */
#ifndef GT_UPROBE_LIBRARY_FILES_H
#define GT_UPROBE_LIBRARY_FILES_H

#include <stdbool.h>

struct gt_library_files;
struct gt_notes;

#define GT_LIBRARY_FILES_MAX 256u	/* of one library, watched at a time */

struct gt_library_files_ops {
	/* Is the process one of those that are watched? */
	bool (*is_wanted)(void *data, int pid);
	/* Attach to a file, to which the path leads until this returns.  -errno with gt_error() text: it is not tried again. */
	int (*attach)(void *data, const char *path);
};

/*
 * Attach to all files of the library of that soname but `first` (may be NULL), which is attached to.
 * What cannot be seen is noted, now and later.  -ENOMEM, with gt_error() text.
 */
int gt_library_files_open(const char *soname, const char *first, const struct gt_library_files_ops *ops, void *data,
			  struct gt_notes *notes, struct gt_library_files **ret_files);

/* Attach to those loaded since. */
void gt_library_files_look(struct gt_library_files *files);

/* NULL is fine. */
void gt_library_files_close(struct gt_library_files *files);

#endif
