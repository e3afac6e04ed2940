/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dynamic loader's search, done by reading: nothing is loaded, since the
 * driver's constructors are not for a process that only watches.
 */
#include "lib/uprobe/find_library.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/uprobe/ld_cache.h"
#include "lib/util/error.h"
#include "lib/util/mapping_file.h"
#include "lib/util/proc_stat.h"

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
	/* Without waiting, should it be a pipe. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return 0;
	n = read(fd, &header, sizeof(header));
	close(fd);
	return n == sizeof(header) && !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
	       header.e_machine == MACHINE;
}

static char *try_directory(const char *name, const char *dir, size_t size)
{
	char *path;

	/* An empty element is the working directory. */
	if (asprintf(&path, "%.*s/%s", size ? (int)size : 1, size ? dir : ".", name) < 0)
		return NULL;
	if (is_library(path))
		return path;
	free(path);
	return NULL;
}

static char *search_list(const char *name, const char *list)
{
	char *path = NULL;

	while (list && !path) {
		size_t size = strcspn(list, ":;");

		path = try_directory(name, list, size);
		list = list[size] ? list + size + 1 : NULL;
	}
	return path;
}

static char *search_cache(const char *name, const char *file)
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
			value = gt_ld_cache_find(map, st.st_size, name, is_library);
			found = value ? strdup(value) : NULL;
			munmap(map, st.st_size);
		}
	}
	close(fd);
	return found;
}

int gt_find_library_in(const char *name, const char *library_path, char **ret_path)
{
	char *path = search_list(name, library_path && *library_path ? library_path : NULL);

	if (!path)
		path = search_cache(name, "/etc/ld.so.cache");
	if (!path)
		path = search_list(name, "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH
				   ":/lib64:/usr/lib64:/lib:/usr/lib");
	if (!path)
		return gt_error(-ENOENT, "no %s in LD_LIBRARY_PATH (%s), in the loader's cache or in the "
				"system's library directories: is %s installed?", name,
				library_path && *library_path ? library_path : "not set",
				strcmp(name, GT_LIBCUDA) ? "it" : "the driver");
	*ret_path = path;
	return 0;
}

/* ---- in running processes ---- */

static char *search_process(const char *name, pid_t pid)
{
	struct gt_mappings mappings = { 0 };
	char path[PATH_MAX], *found = NULL;

	gt_mappings_of_process(&mappings, pid);
	for (unsigned i = 0; !found && i < mappings.count; i++) {
		const struct gt_mapping *mapping = &mappings.list[i];

		if (mapping->executable && gt_mapping_is_library(mapping, name) &&
		    gt_mapping_find_file(pid, mapping, path, sizeof(path)) && is_library(path))
			found = strdup(path);
	}
	gt_mappings_free(&mappings);
	return found;
}

struct search {
	const char *name;
	char *found;
};

static int search_next(void *data, int pid)
{
	struct search *search = data;

	search->found = search_process(search->name, pid);
	return search->found != NULL;
}

static char *search_processes(const char *name)
{
	struct search search = { .name = name };

	gt_proc_each(search_next, &search);
	return search.found;
}

int gt_find_library(const char *name, pid_t pid, char **ret_path)
{
	char *path = strchr(name, '/') ? strdup(name) : pid > 0 ? search_process(name, pid) :
		     pid == -1 ? search_processes(name) : NULL;

	if (!path)
		return gt_find_library_in(name, getenv("LD_LIBRARY_PATH"), ret_path);
	*ret_path = path;
	return 0;
}
