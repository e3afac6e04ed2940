/* SPDX-License-Identifier: Apache-2.0 */
/* What maps hold: their elements and instances, whatever is in the memory. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/object/gpu-abi.h"
#include "lib/object/object.h"
#include "tests/suite.h"

static struct gputrace_map *add_map(struct gputrace_object *object, const char *name, uint32_t type,
				    uint32_t key, uint32_t value, uint32_t entries, uint32_t slots)
{
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = type, .key_size = key, .value_size = value,
		.max_entries = entries, .slots = slots,
	};
	struct gputrace_map *map = NULL;

	ck_assert_msg(gputrace_object_add_map(object, name, &opts, &map) == 0, "%s", gputrace_last_error());
	return map;
}

/* As somebody hands them on who did not look at what gputrace_object_find_map() and _program() returned. */
START_TEST(none_found)
{
	struct gputrace_instance_info info = { .size = sizeof(info) };
	struct gputrace_object *object;
	struct gputrace_program *program;
	struct gputrace_image *image;
	struct gputrace_link *link;
	struct gputrace_map *map;
	const void *values;
	uint64_t value = 0;
	uint32_t key = 0, count;
	size_t stride;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = gputrace_object_find_map(object, "m");
	program = gputrace_object_find_program(object, "p");
	ck_assert_ptr_null(map);
	ck_assert_ptr_null(program);
	ck_assert_int_eq(gputrace_map_lookup(map, -1, &key, 4, &value, 8), -EINVAL);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "gputrace_object_find_map()"));
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 8, 0), -EINVAL);
	ck_assert_int_eq(gputrace_map_delete(map, -1, &key, 4), -EINVAL);
	ck_assert_int_eq(gputrace_map_next_key(map, -1, NULL, &key, 4), -EINVAL);
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &key, 4, &value), -EINVAL);
	ck_assert_int_eq(gputrace_map_read_all(map, -1, &key, &value, 1, &count), -EINVAL);
	ck_assert_int_eq(gputrace_map_borrow_values(map, -1, &values, &stride), -EINVAL);
	ck_assert_int_eq(gputrace_map_count_instances(map), -EINVAL);
	ck_assert_int_eq(gputrace_map_get_instance_info(map, 0, &info), -EINVAL);
	ck_assert_int_eq(gputrace_program_get_point(program), -EINVAL);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "gputrace_object_find_program()"));
	ck_assert_int_eq(gputrace_program_get_granularity(program), -EINVAL);
	ck_assert_int_eq(gputrace_compile_ptx(program, NULL, &image), -EINVAL);
	ck_assert_int_eq(gputrace_compile_host(program, NULL, &image), -EINVAL);
	ck_assert_int_eq(gputrace_attach_program(NULL, program, &link), -EINVAL);
	gputrace_object_unref(object);
}
END_TEST

/* A size that was not set is no reason to read what lies behind. */
START_TEST(options_that_make_no_sense)
{
	struct gputrace_map_opts opts = { .size = sizeof(opts), .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
					  .max_entries = 1 };
	struct gputrace_object *object;
	struct gputrace_map *map = NULL;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	ck_assert_int_eq(gputrace_object_add_map(object, "m", NULL, &map), -ENOTSUP);	/* of type 0 */
	opts.size = 7;
	ck_assert_int_eq(gputrace_object_add_map(object, "m", &opts, &map), -EINVAL);
	opts.size = 1ull << 40;
	ck_assert_int_eq(gputrace_object_add_map(object, "m", &opts, &map), -EINVAL);
	ck_assert_ptr_null(map);
	ck_assert_uint_eq(object->map_count, 0);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(array_elements)
{
	struct gputrace_object *object;
	struct gputrace_map *map;
	uint32_t key = 2, next;
	uint64_t value = 17;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 8, BPF_ANY), 0);
	value = 0;
	ck_assert_int_eq(gputrace_map_lookup(map, -1, &key, 4, &value, 8), 0);
	ck_assert_uint_eq(value, 17);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 8, BPF_EXIST), 0);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 8, BPF_NOEXIST), -EEXIST);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 8, 9), -EINVAL);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 4, 0), -EINVAL);
	ck_assert_int_eq(gputrace_map_lookup(map, -1, &key, 8, &value, 8), -EINVAL);
	ck_assert_int_eq(gputrace_map_lookup(map, 0, &key, 4, &value, 8), -ERANGE);
	key = 3;
	ck_assert_int_eq(gputrace_map_lookup(map, -1, &key, 4, &value, 8), -ENOENT);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, &value, 8, 0), -E2BIG);
	/* keys are 0, 1, 2 */
	ck_assert_int_eq(gputrace_map_next_key(map, -1, NULL, &next, 4), 0);
	ck_assert_uint_eq(next, 0);
	ck_assert_int_eq(gputrace_map_next_key(map, -1, &next, &next, 4), 0);
	ck_assert_uint_eq(next, 1);
	ck_assert_int_eq(gputrace_map_next_key(map, -1, &next, &next, 4), 0);
	ck_assert_uint_eq(next, 2);
	ck_assert_int_eq(gputrace_map_next_key(map, -1, &next, &next, 4), -ENOENT);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(slots)
{
	uint32_t values[4] = { 10, 11, 12, 13 }, got[4] = {}, key = 1;
	struct gputrace_object *object;
	struct gputrace_map *map;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", GPUTRACE_MAP_TYPE_BLOCK_ARRAY, 4, 4, 2, 3);
	ck_assert_uint_eq(gputrace_map_get_slots(map), 4);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, values, sizeof(values), 0), 0);
	ck_assert_int_eq(gputrace_map_lookup(map, -1, &key, 4, got, sizeof(got)), 0);
	ck_assert_mem_eq(values, got, sizeof(got));
	/* the second element, slots 8 bytes apart */
	ck_assert_uint_eq(*(uint32_t *)(map->initial + 4 * 8 + 2 * 8), 12);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(table_elements)
{
	struct gputrace_object *object;
	struct gputrace_map *map;
	uint64_t seen = 0, value;
	uint8_t key[5] = {}, *previous = NULL;
	unsigned i;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_HASH, 5, 8, 40, 0);
	ck_assert_int_eq(gputrace_map_lookup(map, -1, key, 5, &value, 8), -ENOENT);
	ck_assert_int_eq(gputrace_map_update(map, -1, key, 5, &value, 8, BPF_EXIST), -ENOENT);
	ck_assert_int_eq(gputrace_map_next_key(map, -1, NULL, key, 5), -ENOENT);
	for (i = 0; i < 40; i++) {
		key[0] = (uint8_t)i;
		key[4] = (uint8_t)(i * 3);
		value = 1000 + i;
		ck_assert_int_eq(gputrace_map_update(map, -1, key, 5, &value, 8, BPF_NOEXIST), 0);
	}
	ck_assert_int_eq(gputrace_map_update(map, -1, key, 5, &value, 8, BPF_NOEXIST), -EEXIST);
	value = 5;
	ck_assert_int_eq(gputrace_map_update(map, -1, key, 5, &value, 8, BPF_EXIST), 0);
	key[0] = 77;
	ck_assert_int_eq(gputrace_map_update(map, -1, key, 5, &value, 8, BPF_ANY), -E2BIG);
	/* every key once; the last one's value is 5 now */
	for (i = 0; gputrace_map_next_key(map, -1, previous, key, 5) == 0; i++) {
		ck_assert_int_eq(gputrace_map_lookup(map, -1, key, 5, &value, 8), 0);
		ck_assert_uint_eq(value, key[0] == 39 ? 5 : 1000 + key[0]);
		ck_assert(!(seen & 1ull << key[0]));
		seen |= 1ull << key[0];
		previous = key;
	}
	ck_assert_uint_eq(i, 40);
	ck_assert_uint_eq(seen, (1ull << 40) - 1);
	gputrace_object_unref(object);
}
END_TEST

/* A full one drops elements, but not the one that is looked up all the time. */
START_TEST(least_recently_used)
{
	struct gputrace_object *object;
	struct gputrace_map *map;
	uint32_t key, first = 0, count = 0, *previous = NULL;
	uint64_t value;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_LRU_HASH, 4, 8, 10, 0);
	for (uint32_t i = 0; i < 200; i++) {
		value = 1000 + i;
		ck_assert_int_eq(gputrace_map_update(map, -1, &i, 4, &value, 8, BPF_NOEXIST), 0);
		value = 1000;
		ck_assert_int_eq(gputrace_map_update(map, -1, &first, 4, &value, 8, BPF_EXIST), 0);
	}
	while (gputrace_map_next_key(map, -1, previous, &key, 4) == 0) {
		ck_assert_int_eq(gputrace_map_lookup(map, -1, &key, 4, &value, 8), 0);
		ck_assert_uint_eq(value, 1000 + key);
		previous = &key;
		count++;
	}
	ck_assert_uint_eq(count, 10);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(aggregates)
{
	uint32_t values[4] = { 10, 11, 12, 13 }, key = 1, behind = 2, keys[4], got[8], count = 9;
	struct gputrace_object *object;
	struct gputrace_map *map, *table;
	uint64_t sum = 0, value;
	unsigned index, i;
	char *memory;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", GPUTRACE_MAP_TYPE_BLOCK_ARRAY, 4, 4, 2, 4);
	ck_assert_int_eq(gputrace_map_update(map, -1, &key, 4, values, sizeof(values), 0), 0);
	ck_assert_int_eq(gputrace_map_sum(map, -1, &key, 4, &sum), 0);
	ck_assert_uint_eq(sum, 46);
	/* there is no instance yet; then there are two */
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &key, 4, &sum), 0);
	ck_assert_uint_eq(sum, 0);
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &behind, 4, &sum), -ENOENT);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "no such key"));
	memory = malloc(2 * gt_map_bytes(map));
	for (i = 0; i < 2; i++) {
		gt_map_write_initial(map, memory + i * gt_map_bytes(map));
		ck_assert_int_eq(gt_map_add_instance(map, memory + i * gt_map_bytes(map), NULL, NULL, NULL, &index), 0);
	}
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &key, 4, &sum), 0);
	ck_assert_uint_eq(sum, 92);
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &behind, 4, &sum), -ENOENT);
	ck_assert_int_eq(gputrace_map_read_all(map, 1, keys, got, 2, &count), 0);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(keys[0], 0);
	ck_assert_uint_eq(keys[1], 1);
	ck_assert_mem_eq(got + 4, values, sizeof(values));

	table = add_map(object, "t", BPF_MAP_TYPE_HASH, 4, 8, 5, 0);
	for (key = 0; key < 3; key++) {
		value = key + 100;
		ck_assert_int_eq(gputrace_map_update(table, -1, &key, 4, &value, 8, 0), 0);
	}
	ck_assert_int_eq(gputrace_map_read_all(table, -1, keys, got, 4, &count), 0);
	ck_assert_uint_eq(count, 3);
	for (i = 0; i < 3; i++)
		ck_assert_uint_eq(got[2 * i], keys[i] + 100);
	ck_assert_int_eq(gputrace_map_read_all(table, -1, keys, got, 2, &count), -ENOSPC);
	ck_assert_uint_eq(count, 2);
	key = 1;
	ck_assert_int_eq(gputrace_map_delete(table, -1, &key, 4), 0);
	ck_assert_int_eq(gputrace_map_delete(table, -1, &key, 4), -ENOENT);
	ck_assert_int_eq(gputrace_map_delete(map, -1, &key, 4), -EINVAL);
	ck_assert_int_eq(gputrace_map_sum(table, -1, &key, 4, &sum), -ENOENT);
	ck_assert_int_eq(gputrace_map_sum(table, GPUTRACE_INSTANCE_ALL, &key, 4, &sum), -ENOENT);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "in no CUDA context"));
	free(memory);
	gputrace_object_unref(object);
}
END_TEST

/* What is borrowed is the memory itself, and stays where it is when that memory goes. */
START_TEST(values_in_place)
{
	const size_t shift = 256, page = (size_t)sysconf(_SC_PAGESIZE);
	struct gputrace_object *object;
	struct gputrace_map *map, *table;
	const uint32_t *values, *again;
	uint32_t key = 2, value = 5;
	unsigned index;
	size_t stride;
	char *memory;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_ARRAY, 4, 4, 3, 0);
	ck_assert_int_eq(gputrace_map_borrow_values(map, 0, (const void **)&values, &stride), -ERANGE);
	ck_assert_int_eq(gputrace_map_borrow_values(map, GPUTRACE_INSTANCE_INITIAL, (const void **)&values, &stride), 0);
	ck_assert_uint_eq(stride, 8);
	ck_assert_int_eq(gputrace_map_update(map, GPUTRACE_INSTANCE_INITIAL, &key, 4, &value, 4, 0), 0);
	ck_assert_uint_eq(values[4], 5);

	/* Not at the start of a page, as maps in shared memory are. */
	memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	gt_map_write_initial(map, memory + shift);
	ck_assert_int_eq(gt_map_add_instance(map, memory + shift, NULL, NULL, NULL, &index), 0);
	ck_assert_int_eq(gputrace_map_borrow_values(map, (int)index, (const void **)&values, &stride), 0);
	ck_assert_uint_eq(values[4], 5);
	memory[shift + 16] = 6;
	ck_assert_uint_eq(values[4], 6);
	ck_assert_int_eq(gt_map_keep_instance(map, index), 0);
	memory[shift + 16] = 7;
	munmap(memory, page);
	ck_assert_uint_eq(values[4], 6);
	ck_assert_int_eq(gputrace_map_lookup(map, (int)index, &key, 4, &value, 4), 0);
	ck_assert_uint_eq(value, 6);
	ck_assert_int_eq(gputrace_map_borrow_values(map, (int)index, (const void **)&again, &stride), 0);
	ck_assert_ptr_eq(again, values);

	table = add_map(object, "t", BPF_MAP_TYPE_HASH, 4, 8, 5, 0);
	ck_assert_int_eq(gputrace_map_borrow_values(table, -1, (const void **)&values, &stride), -EOPNOTSUPP);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(whose_instances)
{
	const struct gputrace_instance_info owner = { .pid = 77, .context = 5, .gpu = 3, .uuid = { 1, [15] = 9 } };
	struct gputrace_instance_info info = { .size = sizeof(info) };
	struct gputrace_object *object;
	struct gputrace_map *map;
	unsigned index;
	void *memory;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_ARRAY, 4, 8, 2, 0);
	ck_assert_int_eq(gputrace_map_get_instance_info(map, 0, &info), -ERANGE);
	ck_assert_int_eq(gputrace_map_get_instance_info(map, GPUTRACE_INSTANCE_INITIAL, &info), -ERANGE);
	memory = calloc(1, gt_map_bytes(map));
	ck_assert_int_eq(gt_map_add_instance(map, memory, NULL, NULL, &owner, &index), 0);
	ck_assert_int_eq(gputrace_map_get_instance_info(map, (int)index, &info), 0);
	ck_assert_uint_eq(info.size, sizeof(info));
	ck_assert_int_eq(info.pid, 77);
	ck_assert_uint_eq(info.context, 5);
	ck_assert_uint_eq(info.gpu, 3);
	ck_assert_mem_eq(info.uuid, owner.uuid, sizeof(info.uuid));
	/* What a caller of an older version has no room for stays untouched. */
	info = (struct gputrace_instance_info){ .size = 12, .context = 42 };
	ck_assert_int_eq(gputrace_map_get_instance_info(map, (int)index, &info), 0);
	ck_assert_int_eq(info.pid, 77);
	ck_assert_uint_eq(info.context, 42);
	info.size = 7;
	ck_assert_int_eq(gputrace_map_get_instance_info(map, (int)index, &info), -EINVAL);
	free(memory);
	gputrace_object_unref(object);
}
END_TEST

/* The memory of an instance is not ours: whatever it holds, lookups end and stay inside. */
START_TEST(hostile_table)
{
	struct gputrace_object *object;
	struct gputrace_map *map;
	uint64_t random = 1, value, *words;
	unsigned index, i, j;
	uint32_t key;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_HASH, 4, 8, 20, 0);
	words = malloc(gt_map_bytes(map));
	ck_assert_int_eq(gt_map_add_instance(map, words, NULL, NULL, NULL, &index), 0);
	for (i = 0; i < 200; i++) {
		for (j = 0; j < gt_map_bytes(map) / 8; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			words[j] = i % 2 ? random >> 20 : random >> 58;
		}
		key = i;
		value = 0;
		gputrace_map_lookup(map, (int)index, &key, 4, &value, 8);
		for (j = 0; j < 100 && !gputrace_map_next_key(map, (int)index, j ? &key : NULL, &key, 4); j++)
			;
	}
	/* updates of what a GPU owns are refused */
	ck_assert_int_eq(gputrace_map_update(map, (int)index, &key, 4, &value, 8, 0), -EOPNOTSUPP);
	/* kept: a copy, so the memory may go */
	ck_assert_int_eq(gt_map_keep_instance(map, index), 0);
	memset(words, 0, gt_map_bytes(map));
	free(words);
	gputrace_map_lookup(map, (int)index, &key, 4, &value, 8);
	gputrace_object_unref(object);
}
END_TEST

/* Every list leads into one circle of deleted nodes: looking ends after as many steps as there are nodes. */
START_TEST(circular_table)
{
	static uint32_t keys[65536];
	static uint64_t values[65536];
	struct gputrace_object *object;
	const struct gt_map_layout *l;
	struct gputrace_map *map;
	unsigned index;
	uint32_t key, count;
	uint8_t *memory;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	map = add_map(object, "m", BPF_MAP_TYPE_HASH, 4, 8, 65536, 0);
	l = &map->layout;
	memory = calloc(1, gt_map_bytes(map));
	ck_assert_int_eq(gt_map_add_instance(map, memory, NULL, NULL, NULL, &index), 0);
	for (uint32_t i = 0; i < l->buckets; i++)
		((uint64_t *)(void *)(memory + sizeof(struct gt_hash_header)))[i] = 1;
	for (uint32_t i = 0; i < l->nodes; i++)
		((struct gt_hash_node *)(void *)(memory + l->nodes_offset + (uint64_t)i * l->node_bytes))->next =
			1ull << 32 | ((i + 1) % l->nodes + 1);
	ck_assert_int_eq(gputrace_map_next_key(map, (int)index, NULL, &key, 4), -ENOENT);
	ck_assert_int_eq(gputrace_map_read_all(map, (int)index, keys, values, 65536, &count), 0);
	ck_assert_uint_eq(count, 0);
	ck_assert_int_eq(gt_map_keep_instance(map, index), 0);
	free(memory);
	gputrace_object_unref(object);
}
END_TEST

static unsigned refreshes;

static int refresh(void *data, int timeout_ms)
{
	ck_assert_int_eq(timeout_ms, 5);
	refreshes++;
	return data ? -ETIMEDOUT : 0;
}

/* Instances that share an owner are refreshed once. */
START_TEST(refreshing)
{
	struct gputrace_object *object;
	struct gputrace_map *one, *two;
	static char memory[256];
	unsigned index;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	one = add_map(object, "one", BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
	two = add_map(object, "two", BPF_MAP_TYPE_ARRAY, 4, 8, 3, 0);
	ck_assert_int_eq(gt_map_add_instance(one, memory, refresh, NULL, NULL, &index), 0);
	ck_assert_int_eq(gt_map_add_instance(two, memory, refresh, NULL, NULL, &index), 0);
	ck_assert_int_eq(gputrace_object_refresh_maps(object, 5), 0);
	ck_assert_uint_eq(refreshes, 1);
	ck_assert_int_eq(gt_map_add_instance(two, memory, refresh, memory, NULL, &index), 0);
	ck_assert_uint_eq(index, 1);
	ck_assert_int_eq(gputrace_object_refresh_maps(object, 5), -ETIMEDOUT);
	ck_assert_uint_eq(refreshes, 3);
	gputrace_object_unref(object);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("map");

	tcase_add_test(tcase, none_found);
	tcase_add_test(tcase, options_that_make_no_sense);
	tcase_add_test(tcase, array_elements);
	tcase_add_test(tcase, slots);
	tcase_add_test(tcase, table_elements);
	tcase_add_test(tcase, least_recently_used);
	tcase_add_test(tcase, aggregates);
	tcase_add_test(tcase, values_in_place);
	tcase_add_test(tcase, whose_instances);
	tcase_add_test(tcase, hostile_table);
	tcase_add_test(tcase, circular_table);
	tcase_add_test(tcase, refreshing);
	return run_case("map", tcase);
}
