/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/uprobe/translated.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/util/mappings.h"

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

static bool has_mapped(struct gt_mappings *mappings, int pid, dev_t device, ino_t inode)
{
	char path[PATH_MAX];
	struct stat status;

	gt_mappings_of_process(mappings, pid);
	for (unsigned i = 0; i < mappings->count; i++) {
		const struct gt_mapping *mapping = &mappings->list[i];

		/* The device in there may be another than stat() tells (overlay file systems). */
		if (mapping->executable && mapping->inode == inode &&
		    gt_mapping_find_file(pid, mapping, path, sizeof(path)) && !stat(path, &status) &&
		    status.st_dev == device && status.st_ino == inode)
			return true;
	}
	return false;
}

int gt_translated_user(dev_t device, ino_t inode)
{
	struct gt_mappings mappings = { 0 };
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		int pid = atoi(entry->d_name);

		if (pid > 0 && is_translated(pid) && has_mapped(&mappings, pid, device, inode))
			found = pid;
	}
	gt_mappings_free(&mappings);
	if (dir)
		closedir(dir);
	return found;
}
