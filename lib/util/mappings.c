/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"

void gt_mappings_free(struct gt_mappings *mappings)
{
	for (unsigned i = 0; i < mappings->count; i++)
		free(mappings->list[i].path);
	free(mappings->list);
	*mappings = (struct gt_mappings){ 0 };
}

/* The path of a deleted file is that without the kernel's remark. */
static char *copy_path(const char *text)
{
	size_t length = strcspn(text, "\n"), remark = strlen(DELETED);

	if (text[0] == '/' && length > remark && !strncmp(text + length - remark, DELETED, remark))
		length -= remark;
	return strndup(text, length);
}

/* false: no executable mapping. */
static bool parse(const char *line, struct gt_mapping *mapping, int *ret_path)
{
	unsigned major, minor;
	char permissions[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start,
		   &mapping->end, permissions, &mapping->offset, &major, &minor, &mapping->inode,
		   ret_path) != 7)
		return false;
	mapping->device = (uint64_t)major << 32 | minor;
	return permissions[2] == 'x' && mapping->start < mapping->end;
}

static int add(struct gt_mappings *mappings, const struct gt_mapping *mapping)
{
	if (mappings->count == mappings->room) {
		unsigned room = mappings->room ? 2 * mappings->room : 64;
		struct gt_mapping *list = reallocarray(mappings->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		mappings->list = list;
		mappings->room = room;
	}
	mappings->list[mappings->count++] = *mapping;
	return 0;
}

int gt_mappings_read(struct gt_mappings *mappings, FILE *file)
{
	char *line = NULL;
	size_t room = 0;
	int r = 0;

	gt_mappings_free(mappings);
	while (r == 0 && getline(&line, &room, file) > 0) {
		struct gt_mapping mapping;
		int path = 0;

		if (!parse(line, &mapping, &path))
			continue;
		mapping.path = copy_path(line + path);
		r = mapping.path ? add(mappings, &mapping) : -ENOMEM;
		if (r)
			free(mapping.path);
	}
	if (r == 0 && ferror(file))
		r = -EIO;
	free(line);
	return r;
}

const struct gt_mapping *gt_mappings_find(const struct gt_mappings *mappings, uint64_t address)
{
	unsigned low = 0, high = mappings->count;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (mappings->list[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == mappings->count || mappings->list[low].start > address)
		return NULL;
	return &mappings->list[low];
}
