/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as instructions, translated to PTX: unverified, since a verified program is no stranger's. */
#include <gputrace/gputrace.h>
#include <linux/bpf.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add_map(struct gputrace_object *object, const char *name, uint32_t type, uint32_t key, uint32_t entries)
{
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = type, .key_size = key, .value_size = key ? 16 : 0,
		.max_entries = entries,
	};
	struct gputrace_map *map;

	return gputrace_object_add_map(object, name, &opts, &map);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gputrace_compile_opts opts = {
		.size = sizeof(opts), .optimize = GPUTRACE_OPTIMIZE_NONE, .flags = GPUTRACE_COMPILE_UNVERIFIED,
	};
	struct gputrace_program *program;
	struct gputrace_object *object;
	struct gputrace_image *image;

	if (size < 9 || gputrace_object_new(NULL, "fuzz", &object) < 0)
		return 0;
	if (!add_map(object, "array", BPF_MAP_TYPE_ARRAY, 4, 4) &&
	    !add_map(object, "table", BPF_MAP_TYPE_HASH, 8, 4) &&
	    !add_map(object, "ring", BPF_MAP_TYPE_RINGBUF, 0, 4096) &&
	    !gputrace_object_add_program(object, "program", data[0] & 1 ? NULL : "cuda/load:*", data + 1,
					 (size - 1) / 8, &program) &&
	    !gputrace_compile_ptx(program, &opts, &image))
		gputrace_image_unref(image);
	gputrace_object_unref(object);
	return 0;
}
