/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/verify/programs.h"

#include "lib/object/gpu-abi.h"

const struct gt_map_desc *const test_maps[MAPS] = {
	[MAP_ARRAY] = &(const struct gt_map_desc){ .name = "counts", .type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4, .value_size = 16, .max_entries = 8 },
	[MAP_HASH] = &(const struct gt_map_desc){ .name = "table", .type = BPF_MAP_TYPE_HASH,
		.key_size = 8, .value_size = 64, .max_entries = 16 },
	[MAP_LRU] = &(const struct gt_map_desc){ .name = "recent", .type = BPF_MAP_TYPE_LRU_HASH,
		.key_size = 8, .value_size = 8, .max_entries = 16 },
	[MAP_RING] = &(const struct gt_map_desc){ .name = "events", .type = BPF_MAP_TYPE_RINGBUF,
		.max_entries = 65536 },
	[MAP_DATA] = &(const struct gt_map_desc){ .name = ".data", .type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4, .value_size = 32, .max_entries = 1 },
	[MAP_RODATA] = &(const struct gt_map_desc){ .name = ".rodata", .type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4, .value_size = 16, .max_entries = 1, .read_only = 1,
		.contents = "ok\0\0" "%5ld%s\0\0" "%d\0" },
	[MAP_LANES] = &(const struct gt_map_desc){ .name = "lanes",
		.type = GPUTRACE_MAP_TYPE_THREAD_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4 },
	[MAP_BIG] = &(const struct gt_map_desc){ .name = "big", .type = BPF_MAP_TYPE_ARRAY,
		.key_size = 4, .value_size = 4096, .max_entries = 1 },
};
