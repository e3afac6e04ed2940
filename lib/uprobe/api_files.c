/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/api_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "lib/uprobe/api_kernel.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/bpf_log.h"
#include "lib/uprobe/library_watch.h"
#include "lib/uprobe/permission.h"
#include "lib/uprobe/translated.h"
#include "lib/util/error.h"
#include "lib/util/mappings.h"
#include "lib/util/notes.h"

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
		return gt_error(-EBUSY, "process %d runs under valgrind with that file, and a breakpoint in it would end the process",
				user);
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

	return gt_api_kernel_watches(files->kernel, pid);
}

static bool is_known(const struct gt_api_files *files, dev_t device, ino_t inode)
{
	for (unsigned i = 0; i < files->count; i++) {
		if (files->list[i]->device == device && files->list[i]->inode == inode)
			return true;
	}
	return false;
}

/* The process may have ended; then by its name, if that leads to the same file here. */
static bool find_file(int pid, const struct gt_mapping *mapping, char *path, size_t size, struct stat *ret_status)
{
	if (gt_mapping_find_file(pid, mapping, path, size) && !stat(path, ret_status))
		return true;
	return snprintf(path, size, "%s", mapping->path) < (int)size && !stat(path, ret_status) &&
	       ret_status->st_ino == mapping->inode;
}

static void add_file(struct gt_api_files *files, int pid, const char *name, const char *path, bool later)
{
	struct gt_notes *notes = files->opts->notes;
	struct gt_probed_file *file;

	if (files->count == GT_API_FILES_MAX) {
		if (!files->too_many)
			gt_notes_add(notes, "more than %u files of %s: calls of the others, such as %s of process %d, are not seen",
				     GT_API_FILES_MAX, files->opts->soname, name, pid);
		files->too_many = true;
	} else if (gt_api_files_find(files, path, &file) || gt_api_files_attach(files, file)) {
		gt_notes_add(notes, "calls of %s, which process %d has loaded, are not seen: %s", name, pid,
			     gt_error_text());
	} else if (later) {
		gt_notes_add(notes, "%s, which process %d has loaded, was not watched before: calls of it are seen from now on",
			     name, pid);
	}
}

static void found_library(void *data, int pid, const struct gt_mapping *mapping, bool later)
{
	struct gt_api_files *files = data;
	char path[PATH_MAX];
	struct stat status;

	if (is_known(files, makedev(mapping->device >> 32, (uint32_t)mapping->device), mapping->inode))
		return;
	if (find_file(pid, mapping, path, sizeof(path), &status)) {
		if (!is_known(files, status.st_dev, status.st_ino))
			add_file(files, pid, mapping->path, path, later);
	} else if (later) {
		gt_notes_add(files->opts->notes, "process %d ended before calls of its %s could be watched", pid, mapping->path);
	}
}

static void missed_libraries(void *data)
{
	const struct gt_api_files *files = data;

	gt_notes_add(files->opts->notes, "programs began faster than they could be looked at: calls of some that have ended, and that had loaded a %s which was not watched, may not have been seen",
		     files->opts->soname);
}

int gt_api_files_follow(struct gt_api_files *files)
{
	static const struct gt_library_watch_ops ops = { .is_wanted = is_watched, .found = found_library,
						       .missed = missed_libraries };
	const char *soname = files->opts->soname;
	struct gt_notes *notes = files->opts->notes;

	if (gt_library_watch_open(soname, &ops, files, &files->libraries))
		return gt_error(-ENOMEM, "no memory to look for %s", soname);
	if (gt_library_watch_error(files->libraries))
		gt_notes_add(notes, "programs that load a %s other than those loaded by now are not seen: perf_event_open: %s",
			     soname, strerror(-gt_library_watch_error(files->libraries)));
	if (!files->count)
		gt_notes_add(notes, "no program has loaded %s so far: waiting for one that does", soname);
	return 0;
}

void gt_api_files_look(struct gt_api_files *files)
{
	if (files->libraries)
		gt_library_watch_look(files->libraries);
}

/* ---- ending ---- */

void gt_api_files_detach(struct gt_api_files *files)
{
	gt_library_watch_close(files->libraries);
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
