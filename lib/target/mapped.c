/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/mapped.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/uprobe/symbols.h"

struct line {
	uint64_t start, end, offset;
	unsigned long inode;
	char rights[5];
	char path[4096];	/* in the process's own view, " (deleted)" included */
};

/* Call fn for each line until it returns other than 0, and return that. */
static int for_each_line(pid_t pid, int (*fn)(void *data, const struct line *line), void *data)
{
	char name[64], *text = NULL;
	struct line line;
	size_t size = 0;
	FILE *file;
	int r = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	file = fopen(name, "re");
	if (!file)
		return -errno;
	while (!r && getline(&text, &size, file) > 0) {
		line.path[0] = 0;
		if (sscanf(text, "%lx-%lx %4s %lx %*x:%*x %lu %4095[^\n]", &line.start, &line.end, line.rights,
			   &line.offset, &line.inode, line.path) >= 5)
			r = fn(data, &line);
	}
	free(text);
	fclose(file);
	return r;
}

/* libc.so.6 also as libc-2.31.so, libdl.so.2 as libdl-2.31.so. */
static bool is_named(const char *path, const char *soname)
{
	const char *base = strrchr(path, '/'), *suffix = strstr(soname, ".so");
	size_t stem = suffix ? (size_t)(suffix - soname) : strlen(soname), length;

	if (!base)
		return false;
	base++;
	length = strcspn(base, " ");
	if (strncmp(base, soname, stem))
		return false;
	return (base[stem] == '-' && length > stem + 4 && !strncmp(base + length - 3, ".so", 3)) ||
	       !strncmp(base, soname, strlen(soname));
}

struct search {
	pid_t pid;
	const char *name;
	struct gt_mapped *found;
};

/* The file itself, even if another has its name by now; else the name in the process's view. */
static bool find_path(const struct search *search, const struct line *line)
{
	struct gt_mapped *found = search->found;
	struct stat status;

	snprintf(found->path, sizeof(found->path), "/proc/%d/map_files/%lx-%lx", (int)search->pid,
		 line->start, line->end);
	if (stat(found->path, &status)) {
		snprintf(found->path, sizeof(found->path), "/proc/%d/root%.4000s", (int)search->pid, line->path);
		if (stat(found->path, &status) || status.st_ino != line->inode)
			return false;
	}
	found->device = status.st_dev;
	found->inode = status.st_ino;
	return true;
}

static int match_library(void *data, const struct line *line)
{
	const struct search *search = data;

	return line->inode && is_named(line->path, search->name) && find_path(search, line);
}

int gt_mapped_find(pid_t pid, const char *soname, struct gt_mapped *ret_mapped)
{
	struct search search = { pid, soname, ret_mapped };
	int r = for_each_line(pid, match_library, &search);

	return r < 0 ? r : r ? 0 : -ENOENT;
}

struct owner {
	const char *name;
	uint64_t address;
	bool behind;	/* the line before was the library's, so that memory without a name is its .bss */
};

static int match_owner(void *data, const struct line *line)
{
	struct owner *owner = data;
	const char *base = strrchr(line->path, '/');
	bool own = base && !strncmp(base + 1, owner->name, strlen(owner->name));

	own |= owner->behind && !line->path[0];
	owner->behind = own;
	return own && owner->address >= line->start && owner->address < line->end;
}

bool gt_mapped_owns(pid_t pid, const char *name, uint64_t address)
{
	struct owner owner = { .name = name, .address = address };

	return for_each_line(pid, match_owner, &owner) == 1;
}

/* ---- functions ---- */

struct function {
	const char *name;
	uint64_t offset;	/* in the file, then in the process */
	const struct gt_mapped *library;
};

static int match_function(void *data, const char *name, uint64_t offset)
{
	struct function *function = data;

	if (strcmp(name, function->name))
		return 0;
	function->offset = offset;
	return 1;
}

/* The mapping that holds this piece of the file. */
static int match_piece(void *data, const struct line *line)
{
	struct function *function = data;

	if (line->inode != function->library->inode || line->rights[2] != 'x' ||
	    function->offset < line->offset || function->offset - line->offset >= line->end - line->start)
		return 0;
	function->offset = function->offset - line->offset + line->start;
	return 1;
}

uint64_t gt_mapped_place(pid_t pid, const struct gt_mapped *library, uint64_t offset)
{
	struct function piece = { .library = library, .offset = offset };

	return for_each_line(pid, match_piece, &piece) == 1 ? piece.offset : 0;
}

uint64_t gt_mapped_function(pid_t pid, const char *const *sonames, const char *name)
{
	struct gt_mapped library;

	for (; *sonames; sonames++) {
		struct function function = { .name = name, .library = &library };

		if (!gt_mapped_find(pid, *sonames, &library) &&
		    gt_file_functions(library.path, false, match_function, &function) == 1)
			return gt_mapped_place(pid, &library, function.offset);
	}
	return 0;
}
