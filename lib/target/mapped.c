/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/target/mapped.h"

#include <errno.h>
#include <string.h>

#include "lib/uprobe/symbols.h"
#include "lib/util/mapping_file.h"

int gt_mapped_find(pid_t pid, const char *soname, struct gt_mapped *ret_mapped)
{
	struct gt_mappings mappings = { 0 };
	int r = gt_mappings_of_process(&mappings, pid), found = -ENOENT;

	for (unsigned i = 0; i < mappings.count && found; i++) {
		const struct gt_mapping *mapping = &mappings.list[i];

		if (!gt_mapping_is_library(mapping, soname) ||
		    !gt_mapping_find_file(pid, mapping, ret_mapped->path, sizeof(ret_mapped->path)))
			continue;
		ret_mapped->device = mapping->device;
		ret_mapped->inode = mapping->inode;
		found = 0;
	}
	gt_mappings_free(&mappings);
	return r ? r : found;
}

bool gt_mapped_owns(pid_t pid, const char *name, uint64_t address)
{
	struct gt_mappings mappings = { 0 };
	bool found = false, behind = false;	/* the one before was the library's: memory without a name is its .bss */

	gt_mappings_of_process(&mappings, pid);
	for (unsigned i = 0; i < mappings.count && !found; i++) {
		const struct gt_mapping *mapping = &mappings.list[i];
		const char *base = strrchr(mapping->path, '/');

		behind = (base && !strncmp(base + 1, name, strlen(name))) || (behind && !mapping->path[0]);
		found = behind && address >= mapping->start && address < mapping->end;
	}
	gt_mappings_free(&mappings);
	return found;
}

/* ---- functions ---- */

struct function {
	const char *name;
	uint64_t offset;	/* in the file */
};

static int match_function(void *data, const char *name, uint64_t offset)
{
	struct function *function = data;

	if (strcmp(name, function->name))
		return 0;
	function->offset = offset;
	return 1;
}

uint64_t gt_mapped_place(pid_t pid, const struct gt_mapped *library, uint64_t offset)
{
	struct gt_mappings mappings = { 0 };
	uint64_t place = 0;

	gt_mappings_of_process(&mappings, pid);
	for (unsigned i = 0; i < mappings.count && !place; i++) {
		const struct gt_mapping *mapping = &mappings.list[i];

		if (mapping->device == library->device && mapping->inode == library->inode && mapping->executable &&
		    offset >= mapping->offset && offset - mapping->offset < mapping->end - mapping->start)
			place = offset - mapping->offset + mapping->start;
	}
	gt_mappings_free(&mappings);
	return place;
}

uint64_t gt_mapped_function(pid_t pid, const char *const *sonames, const char *name)
{
	struct gt_mapped library;

	for (; *sonames; sonames++) {
		struct function function = { .name = name };

		if (!gt_mapped_find(pid, *sonames, &library) &&
		    gt_file_functions(library.path, false, match_function, &function) == 1)
			return gt_mapped_place(pid, &library, function.offset);
	}
	return 0;
}
