/* SPDX-License-Identifier: Apache-2.0 */
/* What object files say, and objects made in memory. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

START_TEST(made)
{
	static const struct bpf_insn insns[] = { { .code = BPF_JMP | BPF_EXIT } };
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1,
	};
	struct gputrace_program *program = NULL;
	struct gputrace_object *object;
	struct gputrace_map *map = NULL;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	ck_assert_int_eq(gputrace_object_add_program(object, "p", "cuda/exit:k", insns, 1, &program), 0);
	check_program(object, "p", GPUTRACE_POINT_EXIT, GPUTRACE_PER_THREAD, "k", NULL);
	ck_assert_int_eq(gputrace_object_add_map(object, "m", &opts, &map), 0);
	ck_assert_uint_eq(program->prog.map_count, 1);
	/* An array's key has 4 bytes. */
	map = NULL;
	opts.key_size = 8;
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
	return run_case("object", tcase);
}
