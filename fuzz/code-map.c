/* SPDX-License-Identifier: Apache-2.0 */
/* What a process says of its code: its mappings, and /tmp/perf-PID.map, which it writes itself. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/symbol/perf_map.h"
#include "lib/util/mappings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_mappings(FILE *file)
{
	struct gt_mappings mappings = { 0 };

	if (gt_mappings_read(&mappings, file))
		abort();
	for (unsigned i = 0; i < mappings.count; i++)
		gt_mappings_find(&mappings, mappings.list[i].start);
	gt_mappings_free(&mappings);
}

static void read_perf_map(FILE *file)
{
	struct gt_perf_map map = { 0 };

	if (gt_perf_map_read(&map, fileno(file)))
		abort();
	for (unsigned i = 0; i < map.count; i++) {
		uint64_t address = map.list[i].start + map.list[i].size / 2;
		const struct gt_perf_entry *entry = gt_perf_map_find(&map, address);

		if (entry && (address < entry->start || address - entry->start >= entry->size))
			abort();
	}
	gt_perf_map_free(&map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	FILE *file = tmpfile();

	if (!file || fwrite(data, 1, size, file) != size || fflush(file))
		abort();
	rewind(file);
	read_mappings(file);
	read_perf_map(file);
	fclose(file);
	return 0;
}
