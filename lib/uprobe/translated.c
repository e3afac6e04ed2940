/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/translated.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/util/mapping_file.h"
#include "lib/util/proc_stat.h"

bool gt_is_translator(const char *command)
{
	const char *slash = strrchr(command, '/');

	return !strcmp(slash ? slash + 1 : command, "valgrind");
}

/* valgrind itself leads to one of its tools, as /usr/libexec/valgrind/memcheck-amd64-linux. */
static bool is_translated(int pid)
{
	char link[64], path[PATH_MAX];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return false;
	path[length] = '\0';
	return strstr(path, "/valgrind/");
}

struct file {
	dev_t device;
	ino_t inode;
};

static bool is_of(int pid, const struct gt_mapping *mapping, const struct file *file)
{
	char path[PATH_MAX];
	struct stat status;

	/* The device in there may be another than stat() tells (overlay file systems). */
	return mapping->executable && mapping->inode == file->inode &&
	       gt_mapping_find_file(pid, mapping, path, sizeof(path)) && !stat(path, &status) &&
	       status.st_dev == file->device && status.st_ino == file->inode;
}

static int if_user(void *data, int pid)
{
	struct gt_mappings mappings = { 0 };
	bool found = false;

	if (!is_translated(pid))
		return 0;
	gt_mappings_of_process(&mappings, pid);
	for (unsigned i = 0; i < mappings.count && !found; i++)
		found = is_of(pid, &mappings.list[i], data);
	gt_mappings_free(&mappings);
	return found ? pid : 0;
}

int gt_translated_user(dev_t device, ino_t inode)
{
	struct file file = { device, inode };
	int found = gt_proc_each(if_user, &file);

	return found > 0 ? found : 0;
}
