/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_files.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/uprobe/api_kernel.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/library_files.h"
#include "lib/uprobe/permission.h"
#include "lib/uprobe/translated.h"
#include "lib/util/error.h"

/* ---- one file ---- */

/* One in which there is nothing to watch is kept too, so that it is not looked at again. */
int gt_api_files_find(struct gt_api_files *files, const char *path, struct gt_probed_file **ret_file)
{
	const struct gt_api_trace_opts *opts = files->opts;
	struct gt_probed_file **list = reallocarray(files->list, files->count + 1, sizeof(*list));
	int r;

	if (!list)
		return gt_error(-ENOMEM, "no memory to watch %s", path);
	files->list = list;
	r = gt_probed_file_new(path, files->count, ret_file);
	if (r)
		return r;
	list[files->count++] = *ret_file;
	return gt_probed_file_find(*ret_file, opts->pattern, opts->flags & GT_API_TRACE_QUERIES);
}

int gt_api_files_attach(const struct gt_api_files *files, struct gt_probed_file *file)
{
	const struct gt_api_kernel *kernel = files->kernel;
	/* A breakpoint is there for all who have the file. */
	int user = gt_translated_user(file->device, file->inode);
	int r;

	if (user)
		return gt_error(-EBUSY, "process %d runs under valgrind with that file, and a breakpoint in it would end the process: "
				"wait until it has ended, or do without calls of %s", user, file->path);
	r = gt_probed_file_attach(file, kernel->enter_fd, kernel->leave_fd, kernel->multi, files->opts->notes);
	if (r == -ENOEXEC)
		return gt_error(r, "%s: what is to be watched begins with an instruction that the kernel cannot replace by a breakpoint",
				file->path);
	return r ? gt_uprobe_error(r, "watch calls", "") : 0;
}

/* ---- all files of a library ---- */

static bool is_watched(void *data, int pid)
{
	const struct gt_api_files *files = data;

	return gt_process_filter_has(&files->kernel->processes, pid);
}

static int attach_found(void *data, const char *path)
{
	struct gt_api_files *files = data;
	struct gt_probed_file *file;
	int r = gt_api_files_find(files, path, &file);

	return r ? r : gt_api_files_attach(files, file);
}

int gt_api_files_follow(struct gt_api_files *files)
{
	static const struct gt_library_files_ops ops = { .is_wanted = is_watched, .attach = attach_found };
	const struct gt_api_trace_opts *opts = files->opts;

	return gt_library_files_open(opts->soname, files->count ? files->list[0]->path : NULL, &ops, files, opts->notes,
				     &files->libraries);
}

void gt_api_files_look(struct gt_api_files *files)
{
	if (files->libraries)
		gt_library_files_look(files->libraries);
}

/* ---- ending ---- */

void gt_api_files_detach(struct gt_api_files *files)
{
	gt_library_files_close(files->libraries);
	files->libraries = NULL;
	for (unsigned i = 0; i < files->count; i++)
		gt_probed_file_detach(files->list[i]);
}

void gt_api_files_free(struct gt_api_files *files)
{
	gt_api_files_detach(files);
	for (unsigned i = 0; i < files->count; i++)
		gt_probed_file_free(files->list[i]);
	free(files->list);
}
