/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random programs that add to what two maps hold, and do other things to it: whatever
 * gt_join_additions() makes of them, they are accepted as before and compute the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/plain.h"
#include "lib/object/object.h"
#include "tests/compile/common.h"

#define ROUNDS 60
#define INSNS_MAX 128
#define PROGRAMS 2
#define WORDS 4			/* of each map's value */
#define MAPS 2

static struct bpf_insn code[INSNS_MAX];
static unsigned length;
static uint64_t state;

static unsigned below(unsigned limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % limit;
}

static void put(unsigned op, unsigned dst, unsigned src, int offset, int number)
{
	code[length++] = (struct bpf_insn){
		.code = (uint8_t)op, .dst_reg = dst & 15, .src_reg = src & 15, .off = (int16_t)offset, .imm = number,
	};
}

static void put_number(unsigned reg, int number)
{
	put(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, number);
}

static void put_value(unsigned reg, int map, int offset)
{
	put(BPF_LD | BPF_IMM | BPF_DW, reg, BPF_PSEUDO_MAP_VALUE, 0, map);
	put(0, 0, 0, 0, offset);
}

/* Both point into the first map's value, and may mean the same words. */
static unsigned some_pointer(void)
{
	return 6 + below(2);
}

static unsigned some_register(void)
{
	static const unsigned registers[] = { 0, 3, 4, 5, 8, 9 };

	return registers[below(6)];
}

static void put_addition(unsigned sum)
{
	unsigned op = (below(8) ? BPF_ALU64 : BPF_ALU) | (below(2) ? BPF_ADD : BPF_SUB), from = some_register();

	if (from == sum && below(4))
		put(op | BPF_K, sum, 0, 0, (int)below(1000) - 500);
	else
		put(op | BPF_X, sum, from, 0, 0);
}

/* Between load and store: what may spoil it. */
static void put_something(unsigned sum)
{
	static const uint8_t others[] = { BPF_XOR, BPF_MUL, BPF_RSH };
	unsigned size = below(2) ? BPF_W : BPF_DW;

	switch (below(12)) {
	case 0:
		put(BPF_ALU64 | others[below(3)] | BPF_K, sum, 0, 0, 3);
		break;
	case 1:
		put(BPF_STX | BPF_MEM | BPF_DW, 10, some_register(), -8, 0);
		break;
	case 2:
		put(BPF_LDX | BPF_MEM | size, some_register(), some_pointer(), 8 * (int)below(3), 0);
		break;
	case 3:
		put(BPF_STX | BPF_MEM | size, some_pointer(), some_register(), 8 * (int)below(3), 0);
		break;
	case 4:
		put(BPF_STX | BPF_ATOMIC | size, some_pointer(), some_register(), 8 * (int)below(3), BPF_ADD);
		break;
	case 5:
		put(BPF_JMP | BPF_JNE | BPF_K, some_register(), 0, 1, (int)below(3));
		put_addition(sum);
		break;
	case 6:
		put(BPF_ALU64 | BPF_MOV | BPF_X, some_register(), some_register(), 0, 0);
		break;
	default:
		put_addition(sum);
		break;
	}
}

/* A load, some steps, a store, most often to where it came from. */
static void put_update(bool clean)
{
	unsigned pointer = some_pointer(), size = below(3) ? BPF_DW : BPF_W, sum = some_register();
	unsigned jump = length, offset = 8 * below(3);
	bool skipped = !below(4);

	if (skipped)
		put(BPF_JMP | BPF_JSGT | BPF_K, 3, 0, 0, (int)below(100) - 50);
	put(BPF_LDX | BPF_MEM | size, sum, pointer, (int)offset, 0);
	for (unsigned steps = below(4); steps; steps--) {
		if (clean)
			put_addition(sum);
		else
			put_something(sum);
	}
	if (clean)
		put(BPF_STX | BPF_MEM | size, pointer, sum, (int)offset, 0);
	else
		put(BPF_STX | BPF_MEM | (below(12) ? size : BPF_DW), below(8) ? pointer : some_pointer(), sum,
		    (int)(below(10) ? offset : 16), 0);
	if (clean || below(6))
		put_number(sum, (int)below(50));
	if (skipped)
		code[jump].off = (int16_t)(length - jump - 1);
}

/* At the end some registers are stored to the second map. */
static void write_program(bool clean)
{
	static const unsigned kept[WORDS] = { 3, 4, 8, 9 };

	length = 0;
	put_value(6, 0, 0);
	put_value(7, 0, below(4) ? 0 : 8);
	for (unsigned reg = 0; reg < 10; reg++)
		if (reg == 0 || (reg >= 3 && reg <= 5) || reg >= 8)
			put_number(reg, (int)below(2000) - 1000);
	put(BPF_STX | BPF_MEM | BPF_DW, 10, 8, -8, 0);
	for (unsigned updates = 1 + below(5); updates; updates--)
		put_update(clean);
	put_value(2, 1, 0);
	for (unsigned i = 0; i < WORDS; i++)
		if (below(2))
			put(BPF_STX | BPF_MEM | BPF_DW, 2, kept[i], 8 * (int)i, 0);
	put_number(0, 0);
	put(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	ck_assert_uint_le(length, INSNS_MAX);
}

struct outcome {
	int refused;
	uint64_t values[MAPS][WORDS];
};

static struct outcome outcome_of(struct gputrace_program *program, struct gputrace_map *const *maps)
{
	/* Additions carry into the upper half, or must not. */
	static const uint64_t before[WORDS] = { 0xfffffffffffffff0, 200, 0xffffffff00000001, 400 };
	const struct gputrace_gpu_ctx context = { .kernel_id = 42 };
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = GPUTRACE_COMPILE_UNCACHED };
	struct gputrace_image *image;
	struct outcome outcome = { .refused = gputrace_compile_host(program, &opts, &image) };
	uint32_t zero = 0;

	if (outcome.refused)
		return outcome;
	run(image, &context);	/* makes the maps' memory */
	for (unsigned m = 0; m < MAPS; m++)
		ck_assert_int_eq(gputrace_map_update(maps[m], 0, &zero, 4, before, sizeof(before), BPF_ANY), 0);
	run(image, &context);
	for (unsigned m = 0; m < MAPS; m++)
		ck_assert_int_eq(gputrace_map_lookup(maps[m], 0, &zero, 4, outcome.values[m], sizeof(before)), 0);
	gputrace_image_unref(image);
	return outcome;
}

static struct gputrace_object *make_object(struct gputrace_map **maps, struct gputrace_program **programs)
{
	static const char *const names[] = { "first", "second" };
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = WORDS * 8, .max_entries = 1,
	};
	struct gputrace_object *object;
	bool clean = below(2);	/* one program that does more is enough to leave all as they are */

	ck_assert_int_eq(gputrace_object_new(NULL, "joined", &object), 0);
	for (unsigned i = 0; i < MAPS; i++)
		ck_assert_int_eq(gputrace_object_add_map(object, names[i], &opts, &maps[i]), 0);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		write_program(clean);
		ck_assert_int_eq(gputrace_object_add_program(object, names[i], "cuda/entry:*", code, length, &programs[i]), 0);
	}
	return object;
}

static unsigned additions(const struct gputrace_program *program)
{
	unsigned count = 0;

	for (unsigned i = 0; i < program->prog.insn_count; i++)
		count += BPF_CLASS(program->prog.insns[i].code) == BPF_STX && BPF_MODE(program->prog.insns[i].code) == BPF_ATOMIC;
	return count;
}

static unsigned ran, joined;

static void play(uint64_t seed)
{
	struct gputrace_program *programs[PROGRAMS];
	struct gputrace_map *maps[MAPS];
	struct outcome before[PROGRAMS], after;
	unsigned had[PROGRAMS];
	struct gputrace_object *object;

	state = seed * 0x9e3779b97f4a7c15u + 1;
	object = make_object(maps, programs);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		before[i] = outcome_of(programs[i], maps);
		had[i] = additions(programs[i]);
	}
	ck_assert_int_eq(gt_join_additions(object), 0);
	for (unsigned i = 0; i < PROGRAMS; i++) {
		after = outcome_of(programs[i], maps);
		ck_assert_msg(!memcmp(&after, &before[i], sizeof(after)), "seed %llu: program %u does something else",
			      (unsigned long long)seed, i);
		ran += !after.refused;
		joined += additions(programs[i]) != had[i];
	}
	gputrace_object_unref(object);
}

START_TEST(all_compute_the_same)
{
	const char *first = getenv("SEED");

	for (uint64_t i = 0; i < ROUNDS; i++)
		play((first ? strtoull(first, NULL, 0) : 1) + i);
	printf("%u programs of %u ran, in %u of them additions were joined\n", ran, ROUNDS * PROGRAMS, joined);
	ck_assert_uint_ge(ran, ROUNDS * PROGRAMS / 2);
	ck_assert_uint_ge(joined, ROUNDS / 6);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("joined");

	tcase_add_test(tcase, all_compute_the_same);
	return run_case("joined", tcase);
}
