/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/library_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "lib/uprobe/library_watch.h"
#include "lib/util/error.h"
#include "lib/util/mapping_file.h"
#include "lib/util/notes.h"

struct gt_library_files {
	char *soname;
	const struct gt_library_files_ops *ops;
	void *data;
	struct gt_notes *notes;
	struct gt_library_watch *watch;
	/* Those that are attached to, and those that could not be. */
	struct {
		dev_t device;
		ino_t inode;
	} known[GT_LIBRARY_FILES_MAX];
	unsigned count;
	bool said_too_many;
};

static bool is_known(const struct gt_library_files *files, dev_t device, ino_t inode)
{
	for (unsigned i = 0; i < files->count; i++) {
		if (files->known[i].device == device && files->known[i].inode == inode)
			return true;
	}
	return false;
}

static void remember(struct gt_library_files *files, const struct stat *status)
{
	if (files->count == GT_LIBRARY_FILES_MAX)
		return;
	files->known[files->count].device = status->st_dev;
	files->known[files->count++].inode = status->st_ino;
}

static int open_file(const char *path)
{
	int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat status;

	if (fd < 0 || (!fstat(fd, &status) && S_ISREG(status.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* The process may have ended; then by its name, if that leads to the same file here.  -1: there is none. */
static int find_file(int pid, const struct gt_mapping *mapping)
{
	char path[PATH_MAX];
	int fd = gt_mapping_find_file(pid, mapping, path, sizeof(path)) ? open_file(path) : -1;

	if (fd < 0 && gt_mapping_is_file(mapping, mapping->path))
		fd = open_file(mapping->path);
	return fd;
}

/* fd is what leads to it, whoever has ended meanwhile. */
static void add_file(struct gt_library_files *files, int pid, const char *name, int fd, bool later)
{
	char path[32];

	if (files->count == GT_LIBRARY_FILES_MAX) {
		if (!files->said_too_many)
			gt_notes_add(files->notes, "more than %u files of %s: calls of the others, such as %s of process %d, are not seen",
				     GT_LIBRARY_FILES_MAX, files->soname, name, pid);
		files->said_too_many = true;
		return;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (files->ops->attach(files->data, path))
		gt_notes_add(files->notes, "calls of %s, which process %d has loaded, are not seen: %s", name, pid,
			     gt_error_text());
	else if (later)
		gt_notes_add(files->notes, "%s, which process %d has loaded, was not watched before: calls of it are seen from now on",
			     name, pid);
}

static bool is_wanted(void *data, int pid)
{
	const struct gt_library_files *files = data;

	return files->ops->is_wanted(files->data, pid);
}

static void found(void *data, int pid, const struct gt_mapping *mapping, bool later)
{
	struct gt_library_files *files = data;
	struct stat status;
	int fd;

	if (is_known(files, makedev(mapping->device >> 32, (uint32_t)mapping->device), mapping->inode))
		return;
	fd = find_file(pid, mapping);
	if (fd < 0) {
		if (later)
			gt_notes_add(files->notes, "process %d ended before calls of its %s could be watched", pid, mapping->path);
		return;
	}
	if (!fstat(fd, &status) && !is_known(files, status.st_dev, status.st_ino)) {
		add_file(files, pid, mapping->path, fd, later);
		remember(files, &status);
	}
	close(fd);
}

static void missed(void *data)
{
	const struct gt_library_files *files = data;

	gt_notes_add(files->notes, "programs began faster than they could be looked at: calls of some that have ended, and that had loaded a %s which was not watched, may not have been seen",
		     files->soname);
}

static int begin(struct gt_library_files *files)
{
	static const struct gt_library_watch_ops ops = { .is_wanted = is_wanted, .found = found, .missed = missed };

	if (gt_library_watch_open(files->soname, &ops, files, &files->watch))
		return -ENOMEM;
	if (gt_library_watch_error(files->watch))
		gt_notes_add(files->notes, "programs that load a %s other than those loaded by now are not seen: perf_event_open: %s",
			     files->soname, strerror(-gt_library_watch_error(files->watch)));
	if (!files->count)
		gt_notes_add(files->notes, "no program has loaded %s so far: waiting for one that does", files->soname);
	return 0;
}

int gt_library_files_open(const char *soname, const char *first, const struct gt_library_files_ops *ops, void *data,
			  struct gt_notes *notes, struct gt_library_files **ret_files)
{
	struct gt_library_files *files = calloc(1, sizeof(*files));
	struct stat status;

	if (files) {
		files->soname = strdup(soname);
		files->ops = ops;
		files->data = data;
		files->notes = notes;
		if (first && !stat(first, &status))
			remember(files, &status);
	}
	if (!files || !files->soname || begin(files)) {
		gt_library_files_close(files);
		return gt_error(-ENOMEM, "no memory to look for %s", soname);
	}
	*ret_files = files;
	return 0;
}

void gt_library_files_look(struct gt_library_files *files)
{
	gt_library_watch_look(files->watch);
}

void gt_library_files_close(struct gt_library_files *files)
{
	if (!files)
		return;
	gt_library_watch_close(files->watch);
	free(files->soname);
	free(files);
}
