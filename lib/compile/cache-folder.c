/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/compile/cache-folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/util/write_all.h"

#define FOLDER "gputrace"
#define TEMPORARY ".new-"
#define STALE_SECONDS 3600	/* a temporary file this old was left behind */

static int cache_home(char *path, size_t size)
{
	const char *home = secure_getenv("XDG_CACHE_HOME");
	int n;

	if (home && *home == '/') {
		n = snprintf(path, size, "%s", home);
	} else {
		home = secure_getenv("HOME");
		if (!home || *home != '/')
			return -1;
		n = snprintf(path, size, "%s/.cache", home);
	}
	return n > 0 && (size_t)n < size ? 0 : -1;
}

int gt_cache_folder_open(bool create)
{
	char path[PATH_MAX];
	struct stat status;
	size_t length;
	int fd;

	if (cache_home(path, sizeof(path) - sizeof(FOLDER) - 1) < 0)
		return -1;
	if (create)
		mkdir(path, 0700);
	length = strlen(path);
	snprintf(path + length, sizeof(path) - length, "/%s", FOLDER);
	if (create)
		mkdir(path, 0700);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (fstat(fd, &status) < 0 || status.st_uid != geteuid() || (status.st_mode & 022)) {
		close(fd);
		return -1;
	}
	return fd;
}

void gt_cache_folder_write(int folder, const char *name, const void *data, size_t size)
{
	static unsigned serial;
	char temporary[64];
	bool ok;
	int fd;

	snprintf(temporary, sizeof(temporary), TEMPORARY "%d-%u", (int)getpid(),
		 __atomic_fetch_add(&serial, 1, __ATOMIC_RELAXED));
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	ok = !gt_write_all(fd, data, size);
	ok &= close(fd) == 0;
	if (!ok || renameat(folder, temporary, folder, name) < 0)
		unlinkat(folder, temporary, 0);
}

struct entry {
	char name[NAME_MAX + 1];
	off_t size;
	struct timespec used;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;

	if (left->used.tv_sec != right->used.tv_sec)
		return left->used.tv_sec < right->used.tv_sec ? -1 : 1;
	return left->used.tv_nsec < right->used.tv_nsec ? -1 : left->used.tv_nsec > right->used.tv_nsec;
}

/* What lies in the folder; temporary files that nobody works on any more go at once. */
static struct entry *list_entries(int folder, size_t *ret_count, uint64_t *ret_bytes)
{
	struct entry *entries = NULL, *more;
	struct dirent *dirent;
	struct stat status;
	size_t count = 0;
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy < 0 ? NULL : fdopendir(copy);

	*ret_bytes = 0;
	while (dir && (dirent = readdir(dir))) {
		if (fstatat(folder, dirent->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(status.st_mode))
			continue;
		if (!strncmp(dirent->d_name, TEMPORARY, strlen(TEMPORARY))) {
			if (status.st_mtim.tv_sec + STALE_SECONDS < time(NULL))
				unlinkat(folder, dirent->d_name, 0);
			continue;
		}
		more = realloc(entries, (count + 1) * sizeof(*entries));
		if (!more)
			break;
		entries = more;
		snprintf(entries[count].name, sizeof(entries[count].name), "%s", dirent->d_name);
		entries[count].size = status.st_size;
		entries[count++].used = status.st_mtim;
		*ret_bytes += (uint64_t)status.st_size;
	}
	if (dir)
		closedir(dir);
	*ret_count = count;
	return entries;
}

void gt_cache_folder_trim(int folder)
{
	struct entry *entries;
	uint64_t bytes;
	size_t count, i;

	entries = list_entries(folder, &count, &bytes);
	if (bytes > GT_CACHE_BYTES) {
		qsort(entries, count, sizeof(*entries), compare_entries);
		for (i = 0; i < count && bytes > GT_CACHE_BYTES / 4 * 3; i++) {
			if (unlinkat(folder, entries[i].name, 0) == 0)
				bytes -= (uint64_t)entries[i].size;
		}
	}
	free(entries);
}
