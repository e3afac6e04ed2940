/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic loader's search, done by reading: nothing is loaded, since the
 * driver's constructors are not for a process that only watches.
 */
#include "lib/uprobe/api_trace.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/uprobe/ld_cache.h"
#include "lib/util/error.h"

#define SONAME "libcuda.so.1"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define MULTIARCH "aarch64-linux-gnu"
#else
#error "which machine's libraries to look for?"
#endif

/* Does the loader take the file: a shared object for this machine? */
static int is_library(const char *path)
{
	Elf64_Ehdr header;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, &header, sizeof(header));
	close(fd);
	return n == sizeof(header) && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
	       header.e_machine == MACHINE;
}

static char *try_directory(const char *dir, size_t size)
{
	char *path;

	/* An empty element is the working directory. */
	if (asprintf(&path, "%.*s/" SONAME, size ? (int)size : 1, size ? dir : ".") < 0)
		return NULL;
	if (is_library(path))
		return path;
	free(path);
	return NULL;
}

static char *search_list(const char *list)
{
	char *path = NULL;

	while (list && !path) {
		size_t size = strcspn(list, ":;");

		path = try_directory(list, size);
		list = list[size] ? list + size + 1 : NULL;
	}
	return path;
}

static char *search_cache(const char *file)
{
	struct stat st;
	const char *value;
	char *found = NULL;
	void *map;
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			value = gt_ld_cache_find(map, st.st_size, SONAME, is_library);
			found = value ? strdup(value) : NULL;
			munmap(map, st.st_size);
		}
	}
	close(fd);
	return found;
}

int gt_api_find_libcuda_in(const char *library_path, char **ret_path)
{
	char *path = search_list(library_path && *library_path ? library_path : NULL);

	if (!path)
		path = search_cache("/etc/ld.so.cache");
	if (!path)
		path = search_list("/lib/" MULTIARCH ":/usr/lib/" MULTIARCH
				   ":/lib64:/usr/lib64:/lib:/usr/lib");
	if (!path)
		return gt_error(-ENOENT, "no " SONAME " in LD_LIBRARY_PATH (%s), in the loader's "
				"cache or in the system's library directories: is the driver installed?",
				library_path && *library_path ? library_path : "not set");
	*ret_path = path;
	return 0;
}

int gt_api_find_libcuda(char **ret_path)
{
	return gt_api_find_libcuda_in(getenv("LD_LIBRARY_PATH"), ret_path);
}
