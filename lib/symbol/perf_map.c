/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/symbol/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 65536
#define BYTES_MAX (256 << 20)	/* of a file */
#define LINE_MAX_BYTES 4096	/* of which a longer line's rest is cut off */

void gt_perf_map_free(struct gt_perf_map *map)
{
	for (unsigned i = 0; i < map->count; i++)
		free(map->list[i].name);
	free(map->list);
	*map = (struct gt_perf_map){ 0 };
}

static int add(struct gt_perf_map *map, const struct gt_perf_entry *entry)
{
	if (map->count == map->room) {
		unsigned room = map->room ? 2 * map->room : 256;
		struct gt_perf_entry *list = reallocarray(map->list, room, sizeof(*list));

		if (!list)
			return -ENOMEM;
		map->list = list;
		map->room = room;
	}
	map->list[map->count] = *entry;
	map->list[map->count].order = map->count;
	map->count++;
	map->full = map->count == GT_PERF_ENTRIES_MAX;
	return 0;
}

/* "START SIZE name", both hexadecimal; 0 also for a line that is none. */
static int take_line(struct gt_perf_map *map, const char *line, size_t length)
{
	char text[LINE_MAX_BYTES];
	struct gt_perf_entry entry;
	char *end;
	int r;

	if (length > sizeof(text) - 1)
		length = sizeof(text) - 1;
	memcpy(text, line, length);
	text[length] = '\0';
	entry.start = strtoull(text, &end, 16);
	if (end == text || *end != ' ')
		return 0;
	line = end + 1;
	entry.size = strtoull(line, &end, 16);
	if (end == line || *end != ' ' || !end[1] || !entry.size)
		return 0;
	entry.name = strdup(end + 1);
	r = entry.name ? add(map, &entry) : -ENOMEM;
	if (r)
		free(entry.name);
	return r;
}

/* Nobody removes what an ended process has left; the next one of its number writes over it, maybe after we have looked. */
static void forget_if_replaced(struct gt_perf_map *map, int fd)
{
	char head[sizeof(map->head)];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return;
	if ((size_t)n < map->head_size || memcmp(head, map->head, map->head_size))
		gt_perf_map_free(map);
	memcpy(map->head, head, (size_t)n);
	map->head_size = (size_t)n;
}

int gt_perf_map_read(struct gt_perf_map *map, int fd)
{
	char *buffer = malloc(CHUNK);
	int r = buffer ? 0 : -ENOMEM;

	forget_if_replaced(map, fd);
	while (r == 0 && !map->full) {
		ssize_t n = pread(fd, buffer, CHUNK, map->taken);
		char *line = buffer, *end;

		if (n <= 0) {
			r = n < 0 ? -errno : 0;
			break;
		}
		while (r == 0 && !map->full && (end = memchr(line, '\n', (size_t)(buffer + n - line)))) {
			r = take_line(map, line, (size_t)(end - line));
			line = end + 1;
		}
		/* What has no end yet is read again when it has, unless nothing has that fits. */
		if (line == buffer && n < CHUNK)
			break;
		map->taken += line == buffer ? n : line - buffer;
		map->full |= map->taken >= BYTES_MAX;
	}
	free(buffer);
	return r;
}

static int compare(const void *a, const void *b)
{
	const struct gt_perf_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* Lines may come one by one between two questions, and to order all of them for each would take for ever. */
static void order(struct gt_perf_map *map)
{
	if (map->count - map->sorted <= map->sorted / 16)
		return;
	qsort(map->list, map->count, sizeof(*map->list), compare);
	map->sorted = map->count;
}

/* Of those in order, the last that begins at or before the address. */
static const struct gt_perf_entry *find_sorted(const struct gt_perf_map *map, uint64_t address)
{
	unsigned low = 0, high = map->sorted;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (map->list[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &map->list[low - 1] : NULL;
}

const struct gt_perf_entry *gt_perf_map_find(struct gt_perf_map *map, uint64_t address)
{
	const struct gt_perf_entry *found, *entry;

	order(map);
	found = find_sorted(map, address);
	for (unsigned i = map->sorted; i < map->count; i++) {
		entry = &map->list[i];
		if (entry->start <= address && (!found || entry->start >= found->start))
			found = entry;
	}
	return found && address - found->start < found->size ? found : NULL;
}
