/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/util/mappings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/util/proc_stat.h"

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

static bool parse(const char *line, struct gt_mapping *mapping, int *ret_path)
{
	unsigned major, minor;
	char permissions[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &mapping->start,
		   &mapping->end, permissions, &mapping->offset, &major, &minor, &mapping->inode,
		   ret_path) != 7)
		return false;
	mapping->device = (uint64_t)major << 32 | minor;
	mapping->executable = permissions[2] == 'x';
	return mapping->start < mapping->end;
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
		struct gt_mapping mapping = { 0 };
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

static int read_of(struct gt_mappings *mappings, int thread)
{
	char path[64];
	FILE *file;
	int r;

	snprintf(path, sizeof(path), "/proc/%d/maps", thread);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	r = gt_mappings_read(mappings, file);
	fclose(file);
	return r;
}

int gt_mappings_of_process(struct gt_mappings *mappings, int pid)
{
	int r, thread;

	gt_mappings_free(mappings);
	r = read_of(mappings, pid);
	/* Nothing is there, or the file does not open, once the main thread has ended. */
	if (r != -ESRCH && (r || mappings->count))
		return r;
	thread = gt_proc_thread(pid);
	return thread != pid ? read_of(mappings, thread) : r;
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
	if (low == mappings->count || mappings->list[low].start > address || !mappings->list[low].executable)
		return NULL;
	return &mappings->list[low];
}

/* ---- its name ---- */

static bool is_number(const char *text, size_t length)
{
	return length && strspn(text, "0123456789.") >= length;
}

bool gt_mapping_is_library(const struct gt_mapping *mapping, const char *soname)
{
	const char *base = strrchr(mapping->path, '/'), *suffix = strstr(soname, ".so"), *end;
	size_t stem = suffix ? (size_t)(suffix - soname) : strlen(soname);

	if (mapping->path[0] != '/' || !base || strncmp(base + 1, soname, stem))
		return false;
	base += 1 + stem;
	if (!suffix)
		return !*base;
	end = strstr(base, ".so");
	return end && (end == base || (*base == '-' && is_number(base + 1, (size_t)(end - base - 1)))) &&
	       (!end[3] || end[3] == '.');
}
