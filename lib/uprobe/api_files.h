/* SPDX-License-Identifier: Apache-2.0 */
/* The files whose functions a trace of calls watches: one by its path, or all that processes have of a library. */
#ifndef GT_UPROBE_API_FILES_H
#define GT_UPROBE_API_FILES_H

#include <stdbool.h>

#include "lib/uprobe/probed_file.h"

struct gt_api_kernel;
struct gt_api_trace_opts;
struct gt_library_files;

struct gt_api_files {
	const struct gt_api_trace_opts *opts;
	const struct gt_api_kernel *kernel;
	struct gt_probed_file **list;		/* by the number that is in their cookies */
	unsigned count;
	struct gt_library_files *libraries;	/* NULL: files are not looked for */
};

/* Find the functions of one file.  The errors of gt_probed_file_new() and gt_probed_file_find(). */
int gt_api_files_find(struct gt_api_files *files, const char *path, struct gt_probed_file **ret_file);

/* Attach to them; the kernel's side has been started.  The errors of gt_api_trace_open(), with gt_error() text. */
int gt_api_files_attach(const struct gt_api_files *files, struct gt_probed_file *file);

/*
 * Attach to all files that processes have of the library, and from now on at each gt_api_files_look() to those
 * that they have loaded since.  What cannot be seen is noted.  -ENOMEM, with gt_error() text.
 */
int gt_api_files_follow(struct gt_api_files *files);
void gt_api_files_look(struct gt_api_files *files);

/* No more look for files, and none is watched any more; may be called twice. */
void gt_api_files_detach(struct gt_api_files *files);
void gt_api_files_free(struct gt_api_files *files);

#endif
