/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/compile/common.h"

#include <stdlib.h>
#include <string.h>

#include "lib/object/object.h"
#include "tests/compile/probes.h"

struct gputrace_object *open_probes(void)
{
	struct gputrace_object *object = NULL;

	ck_assert_msg(gputrace_object_open_file(NULL, GT_FIXTURES "/probes.bpf.o", &object) == 0, "%s",
		      gputrace_last_error());
	return object;
}

struct gputrace_image *compile_probe(struct gputrace_object *object, const char *name, bool gpu)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = GPUTRACE_COMPILE_UNCACHED };
	struct gputrace_program *program = gputrace_object_find_program(object, name);
	struct gputrace_image *image = NULL;
	int r;

	ck_assert_ptr_nonnull(program);
	r = gpu ? gputrace_compile_ptx(program, &opts, &image) : gputrace_compile_host(program, &opts, &image);
	ck_assert_msg(r == 0, "%s: %s", name, gputrace_last_error());
	return image;
}

uint64_t run(const struct gputrace_image *image, const struct gputrace_gpu_ctx *context)
{
	uint64_t value = 0;

	ck_assert_msg(gputrace_image_run(image, context, sizeof(*context), &value) == 0, "%s",
		      gputrace_last_error());
	return value;
}

uint64_t element(struct gputrace_object *object, const char *name, int instance, uint32_t key)
{
	struct gputrace_map *map = gputrace_object_find_map(object, name);
	uint64_t value = 0;

	ck_assert_ptr_nonnull(map);
	ck_assert_msg(gputrace_map_lookup(map, instance, &key, 4, &value, 8) == 0, "%s", gputrace_last_error());
	return value;
}

void read_result(struct gputrace_object *object, int instance, struct result *result)
{
	struct gputrace_map *map = gputrace_object_find_map(object, ".bss");
	uint32_t size, key = 0, offset;
	uint8_t *bytes;

	/* .bss holds `total` and `result`, in the order that the compiler chose. */
	size = gputrace_map_get_value_size(map);
	bytes = malloc(size);
	ck_assert_int_eq(gputrace_map_lookup(map, instance, &key, 4, bytes, size), 0);
	offset = size - (uint32_t)sizeof(*result);
	memcpy(result, bytes + (offset < 8 ? offset : 8), sizeof(*result));
	free(bytes);
}

static void copy_out(const struct test_ring *ring, uint64_t position, void *to, uint32_t bytes)
{
	uint8_t *out = to;

	while (bytes--)
		*out++ = ring->data[position++ & (ring->size - 1)];
}

int take_record(struct test_ring *ring, struct gt_record *record, void *payload)
{
	uint64_t tail = *ring->tail, first;
	uint32_t padded;

	first = __atomic_load_n((const uint64_t *)(ring->data + (tail & (ring->size - 1))), __ATOMIC_ACQUIRE);
	if ((uint32_t)first != (uint32_t)(tail >> 3) + 1)
		return 0;
	copy_out(ring, tail, record, sizeof(*record));
	ck_assert_uint_eq(record->len % 8, 0);
	padded = (record->size + 7) / 8 * 8;
	ck_assert_uint_le(record->more, 31);
	ck_assert_uint_eq(record->len, 16 + padded * (record->more + 1u));
	ck_assert_uint_le(record->len, ring->size);
	copy_out(ring, tail + sizeof(*record) + ring->taken * padded, payload, record->size);
	if (ring->taken++ == record->more) {
		ring->taken = 0;
		__atomic_store_n(ring->tail, tail + record->len, __ATOMIC_RELEASE);
	}
	return 1;
}

