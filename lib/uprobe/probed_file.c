/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/probed_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/util/error.h"
#include "lib/util/notes.h"

int gt_probed_file_new(const char *path, unsigned number, struct gt_probed_file **ret_file)
{
	struct gt_probed_file *file;
	struct stat status;

	if (stat(path, &status))
		return gt_error(-errno, "%s: %s", path, strerror(errno));
	file = calloc(1, sizeof(*file));
	if (file)
		file->path = strdup(path);
	if (!file || !file->path) {
		free(file);
		return gt_error(-ENOMEM, "no memory to watch %s", path);
	}
	file->device = status.st_dev;
	file->inode = status.st_ino;
	file->sites.library = (uint16_t)number;
	*ret_file = file;
	return 0;
}

int gt_probed_file_find(struct gt_probed_file *file, const char *pattern, bool queries)
{
	return pattern ? gt_sites_matching(&file->sites, file->path, pattern) :
			 gt_sites_of_driver(&file->sites, file->path, queries);
}

/*
 * Returns first: a function whose entry is seen then has its return watched,
 * while a return without an entry is ignored.  Detaching goes the other way.
 */
int gt_probed_file_attach(struct gt_probed_file *file, int enter_fd, int leave_fd, bool multi, struct gt_notes *notes)
{
	int (*attach)(int, const char *, bool, const struct gt_uprobe_site *, unsigned, struct gt_uprobe_links *) =
		multi ? gt_uprobe_attach_multi : gt_uprobe_attach_each;
	unsigned limit = gt_uprobe_each_limit(enter_fd) / 2, count = file->sites.count;
	int r;

	if (!multi && count > limit)
		count = limit;
	if (!count)
		return -EMFILE;
	r = attach(leave_fd, file->path, true, file->sites.list, count, &file->leave);
	if (!r)
		r = attach(enter_fd, file->path, false, file->sites.list, count, &file->enter);
	/* The same ones at entry and at return. */
	if (!r && file->enter.refused == count)
		r = -ENOEXEC;
	if (r) {
		gt_probed_file_detach(file);
		return r;
	}
	file->watched = count - file->enter.refused;
	if (count < file->sites.count)
		gt_notes_add(notes, "%s: the limit on open files (ulimit -n) is too low for all functions: the less important ones are not watched",
			     file->path);
	if (file->enter.refused)
		gt_notes_add(notes, "%s: %u of the functions begin with an instruction that the kernel cannot replace by a breakpoint: calls of them are not seen",
			     file->path, file->enter.refused);
	return 0;
}

void gt_probed_file_detach(struct gt_probed_file *file)
{
	gt_uprobe_detach(&file->enter);
	gt_uprobe_detach(&file->leave);
}

void gt_probed_file_free(struct gt_probed_file *file)
{
	gt_probed_file_detach(file);
	gt_sites_free(&file->sites);
	free(file->path);
	free(file);
}
