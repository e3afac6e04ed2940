/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/mapping_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lib/util/proc_stat.h"
#include "lib/util/regular_file.h"

static uint64_t device_of(const struct stat *status)
{
	return (uint64_t)major(status->st_dev) << 32 | minor(status->st_dev);
}

/* What the kernel shows of our own mapping there. */
static bool is_shown_at(const struct gt_mapping *mapping, uint64_t address)
{
	struct gt_mappings own = { 0 };
	bool same = false;

	gt_mappings_of_process(&own, getpid());
	for (unsigned i = 0; i < own.count; i++) {
		if (own.list[i].start <= address && address < own.list[i].end)
			same = own.list[i].device == mapping->device && own.list[i].inode == mapping->inode;
	}
	gt_mappings_free(&own);
	return same;
}

static bool is_shown_so(const struct gt_mapping *mapping, int fd)
{
	/* Never touched, so it does not matter how long the file is. */
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	bool same = page != MAP_FAILED && is_shown_at(mapping, (uintptr_t)page);

	if (page != MAP_FAILED)
		munmap(page, 1);
	return same;
}

/* Kernels before 6.18 tell events the device of the file below, which cannot be asked for. */
static bool is_below(const struct gt_mapping *mapping, int fd, ino_t inode)
{
	struct statfs system;

	return mapping->from_event && mapping->inode == inode && !fstatfs(fd, &system) &&
	       (uint32_t)system.f_type == OVERLAYFS_SUPER_MAGIC;
}

bool gt_mapping_is_file(const struct gt_mapping *mapping, const char *path)
{
	struct stat status;
	bool same;
	int fd;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return false;
	if (mapping->inode == status.st_ino && mapping->device == device_of(&status))
		return true;
	fd = gt_open_regular(AT_FDCWD, path, 0, 0);
	if (fd < 0)
		return false;
	same = is_shown_so(mapping, fd) || is_below(mapping, fd, status.st_ino);
	close(fd);
	return same;
}

bool gt_mapping_find_file(int pid, const struct gt_mapping *mapping, char *ret_path, size_t size)
{
	int thread = gt_proc_thread(pid);
	struct stat status;

	snprintf(ret_path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, thread, mapping->start, mapping->end);
	if (!stat(ret_path, &status))
		return true;
	return snprintf(ret_path, size, "/proc/%d/root%s", thread, mapping->path) < (int)size &&
	       gt_mapping_is_file(mapping, ret_path);
}
