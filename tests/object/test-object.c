/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/object/gpu-abi.h"
#include "lib/object/object.h"
#include "tests/suite.h"

#define FIXTURE(name) GT_FIXTURES "/" name ".bpf.o"

static struct gputrace_object *open_fixture(const char *path)
{
	struct gputrace_object *object = NULL;

	ck_assert_msg(gputrace_object_open_file(NULL, path, &object) == 0, "%s", gputrace_last_error());
	return object;
}

static void *read_fixture(const char *path, size_t *ret_size)
{
	FILE *file = fopen(path, "r");
	char *data = malloc(1 << 20);

	ck_assert(file && data);
	*ret_size = fread(data, 1, 1 << 20, file);
	fclose(file);
	return data;
}

static void check_program(struct gputrace_object *object, const char *name, int point, int granularity,
			  const char *pattern, const char *opcode)
{
	struct gputrace_program *program = gputrace_object_find_program(object, name);

	ck_assert_msg(program, "%s", name);
	ck_assert_str_eq(gputrace_program_get_name(program), name);
	ck_assert_int_eq(gputrace_program_get_point(program), point);
	ck_assert_int_eq(gputrace_program_get_granularity(program), granularity);
	ck_assert_pstr_eq(gputrace_program_get_pattern(program), pattern);
	ck_assert_pstr_eq(gputrace_program_get_opcode(program), opcode);
}

START_TEST(programs)
{
	struct gputrace_object *object = open_fixture(FIXTURE("mixed"));
	static const char *const order[] = { "on_entry", "on_exit", "on_inst", "on_malloc", "on_nothing" };
	struct gputrace_program *program = NULL;
	unsigned i;

	for (i = 0; i < 5; i++) {
		program = gputrace_object_next_program(object, program);
		ck_assert_str_eq(gputrace_program_get_name(program), order[i]);
	}
	ck_assert_ptr_null(gputrace_object_next_program(object, program));
	ck_assert_ptr_null(gputrace_object_find_program(object, "add"));
	check_program(object, "on_entry", GPUTRACE_POINT_ENTRY, GPUTRACE_PER_THREAD, "vec*", NULL);
	check_program(object, "on_exit", GPUTRACE_POINT_EXIT, GPUTRACE_PER_WARP, "*", NULL);
	check_program(object, "on_inst", GPUTRACE_POINT_INST, GPUTRACE_PER_BLOCK, "gemm*", "fma.*");
	check_program(object, "on_malloc", GPUTRACE_POINT_KERNEL, GPUTRACE_PER_THREAD, NULL, NULL);
	check_program(object, "on_nothing", GPUTRACE_POINT_KERNEL, GPUTRACE_PER_THREAD, NULL, NULL);
	ck_assert_str_eq(gputrace_program_get_section(gputrace_object_find_program(object, "on_nothing")), "made/up");
	gputrace_object_unref(object);
}
END_TEST

static void check_map(struct gputrace_object *object, const char *name, uint32_t type, uint32_t key,
		      uint32_t value, uint32_t entries, uint32_t slots, enum gt_arena arena)
{
	struct gputrace_map *map = gputrace_object_find_map(object, name);

	ck_assert_msg(map, "%s", name);
	ck_assert_uint_eq(gputrace_map_get_type(map), type);
	ck_assert_uint_eq(gputrace_map_get_key_size(map), key);
	ck_assert_uint_eq(gputrace_map_get_value_size(map), value);
	ck_assert_uint_eq(gputrace_map_get_max_entries(map), entries);
	ck_assert_uint_eq(gputrace_map_get_slots(map), slots);
	ck_assert_int_eq(gt_map_arena(map), arena);
	ck_assert_int_eq(gputrace_map_count_instances(map), 0);
}

START_TEST(maps)
{
	struct gputrace_object *object = open_fixture(FIXTURE("mixed"));
	struct gputrace_map *map;

	check_map(object, "numbers", BPF_MAP_TYPE_ARRAY, 4, 8, 10, 1, GT_ARENA_DEV);
	check_map(object, "table", BPF_MAP_TYPE_HASH, 8, 4, 100, 1, GT_ARENA_HOST);
	/* 1000 warps asked for: the next power of two */
	check_map(object, "warps", GPUTRACE_MAP_TYPE_WARP_ARRAY, 4, 4, 2, 1024, GT_ARENA_DEV);
	check_map(object, "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 65536, 1, GT_ARENA_HOST);
	check_map(object, ".rodata", BPF_MAP_TYPE_ARRAY, 4, 4, 1, 1, GT_ARENA_DEV);
	check_map(object, ".data", BPF_MAP_TYPE_ARRAY, 4, 8, 1, 1, GT_ARENA_DEV);
	check_map(object, ".bss", BPF_MAP_TYPE_ARRAY, 4, 8, 1, 1, GT_ARENA_DEV);
	/* 10 values of 8 bytes; 2 x 1024 values in steps of 8 bytes */
	ck_assert_uint_eq(gt_map_bytes(gputrace_object_find_map(object, "numbers")), 256);
	ck_assert_uint_eq(gt_map_bytes(gputrace_object_find_map(object, "warps")), 16384);
	ck_assert(gputrace_object_find_map(object, ".rodata")->desc.read_only);
	ck_assert(!gputrace_object_find_map(object, ".data")->desc.read_only);
	ck_assert_ptr_nonnull(gputrace_object_find_map(object, ".rodata")->desc.contents);
	ck_assert_ptr_null(gputrace_object_find_map(object, ".data")->desc.contents);
	map = gputrace_object_find_map(object, "kernel_only");
	ck_assert_int_eq(gt_map_check(map), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "kernel_only"));
	gputrace_object_unref(object);
}
END_TEST

static uint64_t lookup(struct gputrace_object *object, const char *name, uint32_t key)
{
	struct gputrace_map *map = gputrace_object_find_map(object, name);
	uint64_t value = 0;

	ck_assert_int_eq(gputrace_map_lookup(map, GPUTRACE_INSTANCE_INITIAL, &key, 4, &value,
					     gputrace_map_get_value_size(map)), 0);
	return value;
}

START_TEST(initial_data)
{
	struct gputrace_object *object = open_fixture(FIXTURE("mixed"));

	ck_assert_uint_eq(lookup(object, ".rodata", 0), 7);
	ck_assert_uint_eq(lookup(object, ".data", 0), 0x1122334455667788);
	ck_assert_uint_eq(lookup(object, ".bss", 0), 0);
	gputrace_object_unref(object);
}
END_TEST

/* The instruction at which a program refers to a map, and how. */
static const struct bpf_insn *find_reference(const struct gputrace_program *program, const char *map)
{
	unsigned i;

	for (i = 0; i < program->prog.insn_count; i++) {
		const struct bpf_insn *insn = &program->prog.insns[i];

		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    (insn->src_reg == BPF_PSEUDO_MAP_FD || insn->src_reg == BPF_PSEUDO_MAP_VALUE) &&
		    !strcmp(program->prog.maps[insn->imm]->name, map))
			return insn;
	}
	return NULL;
}

START_TEST(references)
{
	struct gputrace_object *object = open_fixture(FIXTURE("mixed"));
	struct gputrace_program *program = gputrace_object_find_program(object, "on_entry");
	const struct bpf_insn *insn;

	insn = find_reference(program, "numbers");
	ck_assert(insn && insn->src_reg == BPF_PSEUDO_MAP_FD && insn[1].imm == 0);
	/* total is the only variable of .data; it is named in add(), which follows the program */
	insn = find_reference(program, ".data");
	ck_assert(insn && insn->src_reg == BPF_PSEUDO_MAP_VALUE && insn[1].imm == 0);
	/* second is behind first, or before it */
	insn = find_reference(program, ".bss");
	ck_assert(insn && insn->src_reg == BPF_PSEUDO_MAP_VALUE && (insn[1].imm == 4 || insn[1].imm == 0));
	ck_assert_ptr_null(find_reference(program, "ring"));
	gputrace_object_unref(object);
}
END_TEST

/* Where calls and function addresses lead: each to the instruction after an exit. */
static unsigned check_function_references(const struct gt_prog *prog, uint8_t code, unsigned src)
{
	unsigned i, count = 0;
	int64_t target;

	for (i = 0; i < prog->insn_count; i++) {
		if (prog->insns[i].code != code || prog->insns[i].src_reg != src)
			continue;
		target = (int64_t)i + 1 + prog->insns[i].imm;
		ck_assert_int_gt(target, 0);
		ck_assert_int_lt(target, prog->insn_count);
		ck_assert_uint_eq(prog->insns[target - 1].code, BPF_JMP | BPF_EXIT);
		count++;
	}
	return count;
}

START_TEST(functions)
{
	struct gputrace_object *object = open_fixture(FIXTURE("mixed"));
	struct gputrace_program *entry = gputrace_object_find_program(object, "on_entry");
	struct gputrace_program *leave = gputrace_object_find_program(object, "on_exit");

	ck_assert_uint_eq(check_function_references(&entry->prog, BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL), 1);
	ck_assert_uint_eq(check_function_references(&leave->prog, BPF_JMP | BPF_CALL, BPF_PSEUDO_CALL), 1);
	ck_assert_uint_eq(check_function_references(&leave->prog, BPF_LD | BPF_IMM | BPF_DW, BPF_PSEUDO_FUNC), 1);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(lines)
{
	struct gputrace_object *object = open_fixture(FIXTURE("mixed"));
	const struct gt_prog *prog = &gputrace_object_find_program(object, "on_entry")->prog;
	bool seen_program = false, seen_function = false;
	unsigned i;

	ck_assert_uint_gt(prog->line_count, 3);
	ck_assert_uint_eq(prog->lines[0].insn, 0);
	for (i = 0; i < prog->line_count; i++) {
		ck_assert_uint_lt(prog->lines[i].insn, prog->insn_count);
		if (i)
			ck_assert_uint_le(prog->lines[i - 1].insn, prog->lines[i].insn);
		ck_assert_ptr_nonnull(strstr(prog->lines[i].file, "mixed.bpf.c"));
		seen_program |= strstr(prog->lines[i].text, "second = 3;") != NULL;
		seen_function |= strstr(prog->lines[i].text, "total += by;") != NULL;
	}
	ck_assert(seen_program && seen_function);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(bpftime)
{
	struct gputrace_object *object = open_fixture(FIXTURE("bpftime"));

	check_program(object, "mangled", GPUTRACE_POINT_ENTRY, GPUTRACE_PER_THREAD, "_Z9vectorAddPKfS0_Pf", NULL);
	check_program(object, "prefixed", GPUTRACE_POINT_EXIT, GPUTRACE_PER_THREAD, "_Z9vectorAddPKfS0_Pf", NULL);
	check_program(object, "by_helper", GPUTRACE_POINT_ENTRY, GPUTRACE_PER_THREAD, "by_helper", NULL);
	check_program(object, "by_map", GPUTRACE_POINT_EXIT, GPUTRACE_PER_THREAD, "by_map", NULL);
	check_program(object, "memory", GPUTRACE_POINT_INST, GPUTRACE_PER_THREAD, "*", "[ls][dt].*");
	check_program(object, "kernel", GPUTRACE_POINT_KERNEL, GPUTRACE_PER_THREAD, NULL, NULL);
	check_map(object, "per_thread", GPUTRACE_MAP_TYPE_THREAD_ARRAY, 4, 8, 1, 1 << 20, GT_ARENA_DEV);
	check_map(object, "host_array", BPF_MAP_TYPE_ARRAY, 4, 8, 4, 1, GT_ARENA_HOST);
	check_map(object, "ring", BPF_MAP_TYPE_RINGBUF, 0, 0, 1 << 20, 1, GT_ARENA_HOST);
	gputrace_object_unref(object);
}
END_TEST

static void check_refused(const void *data, size_t size, int error, const char *word)
{
	struct gputrace_object *object = NULL;

	ck_assert_int_eq(gputrace_object_open_mem(NULL, data, size, "some.o", &object), error);
	ck_assert_ptr_null(object);
	ck_assert_msg(strstr(gputrace_last_error(), word), "%s", gputrace_last_error());
}

START_TEST(bad_files)
{
	struct gputrace_object *object = NULL;
	char *data, text[100];
	size_t size;

	ck_assert_int_eq(gputrace_object_open_file(NULL, "/does/not/exist.o", &object), -ENOENT);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "/does/not/exist.o"));
	ck_assert_int_eq(gputrace_object_open_file(NULL, "/", &object), -ENOEXEC);
	memset(text, 'x', sizeof(text));
	check_refused("", 0, -ENOEXEC, "not an ELF file");
	check_refused(text, sizeof(text), -ENOEXEC, "not an ELF file");
	check_refused("\177ELF", 4, -ENOEXEC, "damaged");

	data = read_fixture(FIXTURE("mixed"), &size);
	data[18] = 62;		/* e_machine: x86-64 */
	data[19] = 0;
	check_refused(data, size, -ENOEXEC, "not a BPF object");
	free(data);

	ck_assert_int_eq(gputrace_object_open_file(NULL, FIXTURE("unknown-map"), &object), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "stacks"));
}
END_TEST

/* A file cut short anywhere gives an error and nothing else. */
START_TEST(truncated)
{
	struct gputrace_object *object = NULL;
	size_t size, cut;
	char *data = read_fixture(FIXTURE("mixed"), &size);

	for (cut = 0; cut < size; cut += 61) {
		ck_assert_int_eq(gputrace_object_open_mem(NULL, data, cut, "cut.o", &object), -ENOEXEC);
		ck_assert(*gputrace_last_error());
	}
	free(data);
}
END_TEST

/* So does, or does not, one with a few bytes changed: all that is asked is that nothing breaks. */
START_TEST(scribbled)
{
	struct gputrace_object *object;
	uint64_t random = 0x9e3779b97f4a7c15;
	unsigned i, j, opened = 0;
	size_t size;
	char *data = read_fixture(FIXTURE("mixed"), &size);
	char *copy = malloc(size);

	for (i = 0; i < 3000; i++) {
		memcpy(copy, data, size);
		for (j = 0; j <= i % 4; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			copy[(random >> 33) % size] = (char)(random >> 24);
		}
		if (gputrace_object_open_mem(NULL, copy, size, "scribbled.o", &object) == 0) {
			opened++;
			gputrace_object_unref(object);
		}
	}
	/* Some bytes do not matter, others do. */
	ck_assert_uint_gt(opened, 0);
	ck_assert_uint_lt(opened, 3000);
	free(copy);
	free(data);
}
END_TEST

/* ---- objects made in memory ---- */

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

START_TEST(made)
{
	static const struct bpf_insn insns[] = { { .code = BPF_JMP | BPF_EXIT } };
	struct gputrace_map_opts opts = { .size = sizeof(opts), .type = BPF_MAP_TYPE_ARRAY, .key_size = 8 };
	struct gputrace_program *program = NULL;
	struct gputrace_object *object;
	struct gputrace_map *map = NULL;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	ck_assert_int_eq(gputrace_object_add_program(object, "p", "cuda/exit:k", insns, 1, &program), 0);
	check_program(object, "p", GPUTRACE_POINT_EXIT, GPUTRACE_PER_THREAD, "k", NULL);
	add_map(object, "m", BPF_MAP_TYPE_ARRAY, 4, 8, 1, 0);
	ck_assert_uint_eq(program->prog.map_count, 1);
	/* An array's key has 4 bytes. */
	ck_assert_int_eq(gputrace_object_add_map(object, "bad", &opts, &map), -EINVAL);
	ck_assert_ptr_null(map);
	ck_assert_uint_eq(program->prog.map_count, 1);
	opts.size = 8;
	ck_assert_int_eq(gputrace_object_add_map(object, "bad", &opts, &map), -EINVAL);
	ck_assert_int_eq(gputrace_object_add_program(object, "q", "kprobe/x", insns, 1, &program), -ENOTSUP);
	ck_assert_int_eq(gputrace_object_add_program(object, "q", "cuda/enter:x", insns, 1, &program), -ENOTSUP);
	ck_assert_int_eq(gputrace_object_add_program(object, "q", "cuda/entry:*", insns, 0, &program), -EINVAL);
	gputrace_object_unref(object);
	ck_assert_ptr_null(gputrace_object_unref(NULL));
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
	uint32_t values[4] = { 10, 11, 12, 13 }, key = 1, keys[4], got[8], count = 9;
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
	/* no instance has the key yet; then two have */
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &key, 4, &sum), -ENOENT);
	memory = malloc(2 * gt_map_bytes(map));
	for (i = 0; i < 2; i++) {
		gt_map_write_initial(map, memory + i * gt_map_bytes(map));
		ck_assert_int_eq(gt_map_add_instance(map, memory + i * gt_map_bytes(map), NULL, NULL, NULL, &index), 0);
	}
	ck_assert_int_eq(gputrace_map_sum(map, GPUTRACE_INSTANCE_ALL, &key, 4, &sum), 0);
	ck_assert_uint_eq(sum, 92);
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
	TCase *tcase = tcase_create("object");

	tcase_add_test(tcase, programs);
	tcase_add_test(tcase, maps);
	tcase_add_test(tcase, initial_data);
	tcase_add_test(tcase, references);
	tcase_add_test(tcase, functions);
	tcase_add_test(tcase, lines);
	tcase_add_test(tcase, bpftime);
	tcase_add_test(tcase, bad_files);
	tcase_add_test(tcase, truncated);
	tcase_add_test(tcase, scribbled);
	tcase_add_test(tcase, made);
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
	return run_case("object", tcase);
}
