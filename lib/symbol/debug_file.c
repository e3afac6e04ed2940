/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of such files, and the folders next to a program's own, are the program's
 * to choose, who may have put a pipe there that nobody ever writes to.  libdwfl would
 * wait for it, so it looks itself only where programs do not write.  And it maps what it
 * is given, so it gets a copy: to touch what was cut off meanwhile would be our end.
 */
#include "lib/symbol/debug_file.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/symbol/bounds.h"
#include "lib/util/regular_file.h"

#define BYTES_MAX (1l << 30)

char *gt_debug_file_folders = "/usr/lib/debug";

static bool is_of(Dwfl_Module *module, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const unsigned char *id;
	GElf_Addr address;
	const void *its_id;
	int size = dwfl_module_build_id(module, &id, &address);
	bool same = elf && size > 0 && dwelf_elf_gnu_build_id(elf, &its_id) == size &&
		    !memcmp(its_id, id, (size_t)size);

	elf_end(elf);
	return same;
}

/* -1: it is too large, or cannot be read. */
static int copy_of(int fd, off_t size)
{
	int copy = size <= BYTES_MAX ? memfd_create("gputrace-debug", MFD_CLOEXEC) : -1;
	off_t from = 0;

	while (copy >= 0 && from < size && sendfile(copy, fd, &from, (size_t)(size - from)) > 0)
		;
	if (copy >= 0 && from < size) {
		close(copy);
		copy = -1;
	}
	return copy;
}

/* link: as the module has it.  apart: what the DWARF of many modules has in common, which has an id of its own. */
static int open_link(Dwfl_Module *module, const char *folder, const char *link, bool apart, char **ret_path)
{
	int length = link[0] == '/' ? 0 : (int)strlen(folder), fd;
	struct stat status;
	int copy = -1;
	char *path;

	if (asprintf(&path, "%.*s%s", length, folder, link) < 0)
		return -1;
	fd = gt_open_regular(AT_FDCWD, path, 0, 0);
	if (fd >= 0 && !fstat(fd, &status) && status.st_size)
		copy = copy_of(fd, status.st_size);
	if (fd >= 0)
		close(fd);
	if (copy >= 0 && (gt_bounds_excess(copy) || (!apart && !is_of(module, copy)))) {
		close(copy);
		copy = -1;
	}
	if (copy >= 0)
		*ret_path = path;
	else
		free(path);
	return copy;
}

/* Next to the module, or in the folder .debug there. */
static int find_link(Dwfl_Module *module, const char *path, const char *link, bool apart, char **ret_path)
{
	const char *end = strrchr(path, '/');
	char *folder;
	int fd;

	if (!end || asprintf(&folder, "%.*s/.debug/", (int)(end - path), path) < 0)
		return -1;
	fd = open_link(module, folder, link, apart, ret_path);
	folder[end + 1 - path] = '\0';
	if (fd < 0)
		fd = open_link(module, folder, link, apart, ret_path);
	free(folder);
	return fd;
}

int gt_debug_file_find(Dwfl_Module *module, void **data, const char *module_name, GElf_Addr base,
		       const char *path, const char *link, GElf_Word checksum, char **ret_path)
{
	int fd = path && link ? find_link(module, path, link, !checksum, ret_path) : -1;

	return fd >= 0 ? fd : dwfl_standard_find_debuginfo(module, data, module_name, base, path, NULL, 0, ret_path);
}
