/* SPDX-License-Identifier: Apache-2.0 */
/* Additions written as a load, an addition and a store: which of them become one, and that all programs compute the same. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/plain.h"
#include "lib/attach/warnings.h"
#include "lib/object/object.h"
#include "tests/compile/common.h"

#define INSNS_MAX 24

#define VALUE(reg) \
	{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = reg, .src_reg = BPF_PSEUDO_MAP_VALUE }, { 0 }
#define LOAD(size, dst, src, offset) \
	{ .code = BPF_LDX | BPF_MEM | size, .dst_reg = dst, .src_reg = src, .off = offset }
#define STORE(size, dst, offset, src) \
	{ .code = BPF_STX | BPF_MEM | size, .dst_reg = dst, .src_reg = src, .off = offset }
#define ADDED(size, dst, offset, src) \
	{ .code = BPF_STX | BPF_ATOMIC | size, .dst_reg = dst, .src_reg = src, .off = offset, .imm = BPF_ADD }
#define ALU(class, op, dst, number) { .code = class | op | BPF_K, .dst_reg = dst, .imm = number }
#define ALU_X(class, op, dst, src) { .code = class | op | BPF_X, .dst_reg = dst, .src_reg = src }
#define MOVE(dst, number) ALU(BPF_ALU64, BPF_MOV, dst, number)
#define JUMP(op, dst, number, offset) { .code = BPF_JMP | op | BPF_K, .dst_reg = dst, .off = offset, .imm = number }
#define CALL(id) { .code = BPF_JMP | BPF_CALL, .imm = id }
#define END MOVE(0, 0), { .code = BPF_JMP | BPF_EXIT }

#define CONTEXT_KERNEL_ID 8	/* as in struct gputrace_gpu_ctx */

/* r1 of `code` is the context at first.  The map's value: 4 numbers of 64 bits, 100, 200, 300 and 400. */
static const struct {
	const char *name;
	struct bpf_insn code[INSNS_MAX];
	struct bpf_insn after[INSNS_MAX];	/* all of it; none: as it was */
	uint64_t right[4];
} cases[] = {
	{ "one is added",
	  { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 0, 3), END },
	  { VALUE(2), MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), ADDED(BPF_DW, 2, 0, 3), END }, { 101, 200, 300, 400 } },
	{ "half a word, by 32 bits",
	  { VALUE(2), LOAD(BPF_W, 3, 2, 8), ALU(BPF_ALU, BPF_ADD, 3, -300), STORE(BPF_W, 2, 8, 3), END },
	  { VALUE(2), MOVE(3, 0), ALU(BPF_ALU, BPF_ADD, 3, -300), ADDED(BPF_W, 2, 8, 3), END },
	  { 100, 0xffffff9c, 300, 400 } },
	{ "half a word, by 64 bits",
	  { VALUE(2), LOAD(BPF_W, 3, 2, 8), ALU(BPF_ALU64, BPF_ADD, 3, -300), STORE(BPF_W, 2, 8, 3), END },
	  { VALUE(2), MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, -300), ADDED(BPF_W, 2, 8, 3), END },
	  { 100, 0xffffff9c, 300, 400 } },
	{ "several steps, one of them down by a register",
	  { VALUE(2), MOVE(4, 7), LOAD(BPF_DW, 3, 2, 16), ALU(BPF_ALU64, BPF_ADD, 3, 20), ALU_X(BPF_ALU64, BPF_SUB, 3, 4),
	    STORE(BPF_DW, 2, 16, 3), END },
	  { VALUE(2), MOVE(4, 7), MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, 20), ALU_X(BPF_ALU64, BPF_SUB, 3, 4),
	    ADDED(BPF_DW, 2, 16, 3), END }, { 100, 200, 313, 400 } },
	{ "what is added comes in between, and the stack is written",
	  { VALUE(2), LOAD(BPF_DW, 3, 2, 0), LOAD(BPF_W, 4, 1, CONTEXT_KERNEL_ID), STORE(BPF_DW, 10, -8, 4),
	    ALU_X(BPF_ALU64, BPF_ADD, 3, 4), STORE(BPF_DW, 2, 0, 3), END },
	  { VALUE(2), MOVE(3, 0), LOAD(BPF_W, 4, 1, CONTEXT_KERNEL_ID), STORE(BPF_DW, 10, -8, 4),
	    ALU_X(BPF_ALU64, BPF_ADD, 3, 4), ADDED(BPF_DW, 2, 0, 3), END }, { 142, 200, 300, 400 } },
	{ "two, one behind the other, in the same register",
	  { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 0, 3),
	    LOAD(BPF_DW, 3, 2, 24), ALU(BPF_ALU64, BPF_ADD, 3, 2), STORE(BPF_DW, 2, 24, 3), END },
	  { VALUE(2), MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), ADDED(BPF_DW, 2, 0, 3),
	    MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, 2), ADDED(BPF_DW, 2, 24, 3), END }, { 101, 200, 300, 402 } },
	{ "in a register that a helper without arguments does away with",
	  { VALUE(6), LOAD(BPF_DW, 3, 6, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 6, 0, 3),
	    CALL(BPF_FUNC_ktime_get_ns), END },
	  { VALUE(6), MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), ADDED(BPF_DW, 6, 0, 3),
	    CALL(BPF_FUNC_ktime_get_ns), END }, { 101, 200, 300, 400 } },
	{ "on one of two ways, with another one behind them",
	  { VALUE(2), LOAD(BPF_W, 4, 1, CONTEXT_KERNEL_ID), JUMP(BPF_JEQ, 4, 0, 3), LOAD(BPF_DW, 3, 2, 0),
	    ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 0, 3), LOAD(BPF_DW, 3, 2, 8), ALU(BPF_ALU64, BPF_ADD, 3, 1),
	    STORE(BPF_DW, 2, 8, 3), END },
	  { VALUE(2), LOAD(BPF_W, 4, 1, CONTEXT_KERNEL_ID), JUMP(BPF_JEQ, 4, 0, 3), MOVE(3, 0),
	    ALU(BPF_ALU64, BPF_ADD, 3, 1), ADDED(BPF_DW, 2, 0, 3), MOVE(3, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1),
	    ADDED(BPF_DW, 2, 8, 3), END }, { 101, 201, 300, 400 } },
	/* What is none, or only looks like one. */
	{ .name = "the sum is given back",
	  .code = { VALUE(2), LOAD(BPF_DW, 0, 2, 0), ALU(BPF_ALU64, BPF_ADD, 0, 1), STORE(BPF_DW, 2, 0, 0),
		    { .code = BPF_JMP | BPF_EXIT } }, .right = { 101, 200, 300, 400 } },
	{ .name = "the sum is looked at on one of two ways",
	  .code = { VALUE(2), LOAD(BPF_W, 4, 1, CONTEXT_KERNEL_ID), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1),
		    STORE(BPF_DW, 2, 0, 3), JUMP(BPF_JEQ, 4, 0, 1), STORE(BPF_DW, 10, -8, 3), END },
	  .right = { 101, 200, 300, 400 } },
	{ .name = "another way leads to the store",
	  .code = { VALUE(2), MOVE(3, 9), LOAD(BPF_W, 4, 1, CONTEXT_KERNEL_ID), JUMP(BPF_JNE, 4, 0, 2), LOAD(BPF_DW, 3, 2, 0),
		    ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 0, 3), END }, .right = { 9, 200, 300, 400 } },
	{ .name = "a jump in between",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), JUMP(BPF_JEQ, 3, 7, 2), ALU(BPF_ALU64, BPF_ADD, 3, 1),
		    STORE(BPF_DW, 2, 0, 3), END }, .right = { 101, 200, 300, 400 } },
	{ .name = "the place has moved",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 2, 8), ALU(BPF_ALU64, BPF_ADD, 3, 1),
		    STORE(BPF_DW, 2, 0, 3), END }, .right = { 100, 101, 300, 400 } },
	{ .name = "stored elsewhere",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 8, 3), END },
	  .right = { 100, 101, 300, 400 } },
	{ .name = "stored by half",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_W, 2, 0, 3), END },
	  .right = { 101, 200, 300, 400 } },
	{ .name = "multiplied",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_MUL, 3, 3), STORE(BPF_DW, 2, 0, 3), END },
	  .right = { 300, 200, 300, 400 } },
	{ .name = "doubled",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU_X(BPF_ALU64, BPF_ADD, 3, 3), STORE(BPF_DW, 2, 0, 3), END },
	  .right = { 200, 200, 300, 400 } },
	{ .name = "turned around",
	  .code = { VALUE(2), MOVE(4, 500), LOAD(BPF_DW, 3, 2, 0), ALU_X(BPF_ALU64, BPF_SUB, 4, 3), STORE(BPF_DW, 2, 0, 4), END },
	  .right = { 400, 200, 300, 400 } },
	{ .name = "of 64 bits, added by 32",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU, BPF_ADD, 3, -101), STORE(BPF_DW, 2, 0, 3), END },
	  .right = { 0xffffffff, 200, 300, 400 } },
	{ .name = "of 16 bits",
	  .code = { VALUE(2), LOAD(BPF_H, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_H, 2, 0, 3), END },
	  .right = { 101, 200, 300, 400 } },
	{ .name = "something else is stored to the map in between",
	  .code = { VALUE(2), VALUE(4), MOVE(5, 9), LOAD(BPF_DW, 3, 2, 0), STORE(BPF_DW, 4, 0, 5),
		    ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 0, 3), END }, .right = { 101, 200, 300, 400 } },
	{ .name = "a call in between",
	  .code = { VALUE(6), LOAD(BPF_DW, 7, 6, 0), CALL(BPF_FUNC_ktime_get_ns), ALU(BPF_ALU64, BPF_ADD, 7, 1),
		    STORE(BPF_DW, 6, 0, 7), END }, .right = { 101, 200, 300, 400 } },
	{ .name = "the map is read, too",
	  .code = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 2, 0, 3),
		    LOAD(BPF_DW, 4, 2, 0), STORE(BPF_DW, 2, 8, 4), END }, .right = { 101, 101, 300, 400 } },
};

static struct gputrace_object *object;
static struct gputrace_map *map;

static void setup(void)
{
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 32, .max_entries = 1,
	};

	ck_assert_int_eq(gputrace_object_new(NULL, "additions", &object), 0);
	ck_assert_int_eq(gputrace_object_add_map(object, "values", &opts, &map), 0);
}

static void teardown(void)
{
	object = gputrace_object_unref(object);
}

static unsigned length(const struct bpf_insn *code)
{
	unsigned count = 0;

	while (code[count].code != (BPF_JMP | BPF_EXIT))
		count++;
	return count + 1;
}

static struct gputrace_program *add(const char *name, const struct bpf_insn *code)
{
	struct gputrace_program *program;

	ck_assert_int_eq(gputrace_object_add_program(object, name, "cuda/entry:*", code, length(code), &program), 0);
	return program;
}

static void check_run(struct gputrace_program *program, const uint64_t *right)
{
	const struct gputrace_gpu_ctx context = { .kernel_id = 42 };
	const uint64_t before[4] = { 100, 200, 300, 400 };
	struct gputrace_image *image = compile_probe(object, program->name, false);
	uint32_t zero = 0;
	uint64_t after[4];

	run(image, &context);
	ck_assert_int_eq(gputrace_map_update(map, 0, &zero, sizeof(zero), before, sizeof(before), BPF_ANY), 0);
	run(image, &context);
	ck_assert_int_eq(gputrace_map_lookup(map, 0, &zero, sizeof(zero), after, sizeof(after)), 0);
	for (unsigned i = 0; i < 4; i++)
		ck_assert_msg(after[i] == right[i], "%s: number %u is %llu, not %llu", program->name, i,
			      (unsigned long long)after[i], (unsigned long long)right[i]);
	gputrace_image_unref(image);
}

START_TEST(each_case)
{
	const struct bpf_insn *after = cases[_i].after[0].code ? cases[_i].after : cases[_i].code;
	struct gputrace_program *program = add(cases[_i].name, cases[_i].code);

	check_run(program, cases[_i].right);
	ck_assert_int_eq(gt_join_additions(object), 0);
	ck_assert_uint_eq(program->prog.insn_count, length(after));
	for (unsigned i = 0; i < program->prog.insn_count; i++)
		ck_assert_msg(!memcmp(&program->prog.insns[i], &after[i], sizeof(*after)), "%s: instruction %u", cases[_i].name, i);
	check_run(program, cases[_i].right);
}
END_TEST

/* What another program reads stays as it is written, also when it comes later. */
START_TEST(another_reads)
{
	static const struct bpf_insn adds[] = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1),
						STORE(BPF_DW, 2, 0, 3), END };
	static const struct bpf_insn reads[] = { VALUE(2), LOAD(BPF_DW, 0, 2, 0), { .code = BPF_JMP | BPF_EXIT } };
	struct gputrace_program *adder = add("adds", adds);

	add("reads", reads);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(gt_join_additions(object), 0);
		ck_assert_int_eq(memcmp(adder->prog.insns, adds, sizeof(adds)), 0);
	}
	ck_assert(map->read_too);
}
END_TEST

/* Counts that are lost are warned of: in the program's log, and by the context's. */
static char logged[512];

static void keep(void *data, int level, const char *text)
{
	(void)data;
	ck_assert_int_eq(level, GPUTRACE_LOG_WARNING);
	snprintf(logged, sizeof(logged), "%s", text);
}

static const struct {
	const char *section;
	uint32_t type;
	bool lost;
} places[] = {
	{ "cuda/entry:*", BPF_MAP_TYPE_ARRAY, true },
	{ "cuda.cta/entry:*", BPF_MAP_TYPE_ARRAY, true },
	{ "cuda.cta/entry:*", GPUTRACE_MAP_TYPE_SM_ARRAY, true },
	{ "cuda.warp/entry:*", GPUTRACE_MAP_TYPE_BLOCK_ARRAY, true },
	{ "cuda/entry:*", GPUTRACE_MAP_TYPE_WARP_ARRAY, true },
	{ "cuda.cta/entry:*", GPUTRACE_MAP_TYPE_BLOCK_ARRAY, false },
	{ "cuda.warp/entry:*", GPUTRACE_MAP_TYPE_WARP_ARRAY, false },
	{ "cuda/entry:*", GPUTRACE_MAP_TYPE_THREAD_ARRAY, false },
};

START_TEST(lost_counts)
{
	/* Counts, and reads the count for another number. */
	static const struct bpf_insn code[] = {
		{ .code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = 10, .off = -4 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 2, .src_reg = 10 }, ALU(BPF_ALU64, BPF_ADD, 2, -4),
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD }, { 0 },
		CALL(BPF_FUNC_map_lookup_elem), JUMP(BPF_JEQ, 0, 0, 5),
		LOAD(BPF_DW, 3, 0, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1), STORE(BPF_DW, 0, 0, 3),
		LOAD(BPF_DW, 4, 0, 0), STORE(BPF_DW, 0, 8, 4), END,
	};
	struct gputrace_map_opts opts = {
		.size = sizeof(opts), .type = places[_i].type, .key_size = 4, .value_size = 32, .max_entries = 1,
	};
	struct gputrace_ctx_opts ctx_opts = { .size = sizeof(ctx_opts), .log = keep };
	struct gputrace_program *program;
	struct gputrace_ctx *ctx;
	const char *log;

	teardown();
	logged[0] = 0;
	ck_assert_int_eq(gputrace_ctx_new(&ctx_opts, &ctx), 0);
	ck_assert_int_eq(gputrace_object_new(ctx, "additions", &object), 0);
	ck_assert_int_eq(gputrace_object_add_map(object, "values", &opts, &map), 0);
	ck_assert_int_eq(gputrace_object_add_program(object, "counts", places[_i].section, code, length(code), &program), 0);
	ck_assert_int_eq(gt_join_additions(object), 0);
	gputrace_image_unref(compile_probe(object, "counts", true));
	ck_assert_int_eq(gt_program_warn(program), 0);
	log = gputrace_program_get_log(program);
	ck_assert_msg(!!strstr(log, "warning: insn 9 `*(u64 *)(r0 +0) = r3`: threads that add to map values here at the same "
			       "time lose what others add; use __sync_fetch_and_add()\n") == places[_i].lost, "%s", log);
	ck_assert_msg(!!strstr(logged, "program counts: insn 9 ") == places[_i].lost, "%s", logged);
	gputrace_ctx_unref(ctx);
}
END_TEST

/* A program that is refused may do anything by the time that it is not. */
START_TEST(another_is_refused)
{
	static const struct bpf_insn adds[] = { VALUE(2), LOAD(BPF_DW, 3, 2, 0), ALU(BPF_ALU64, BPF_ADD, 3, 1),
						STORE(BPF_DW, 2, 0, 3), END };
	static const struct bpf_insn refused[] = { LOAD(BPF_DW, 0, 7, 0), { .code = BPF_JMP | BPF_EXIT } };
	struct gputrace_program *adder = add("adds", adds);

	add("refused", refused);
	ck_assert_int_eq(gt_join_additions(object), 0);
	ck_assert_int_eq(memcmp(adder->prog.insns, adds, sizeof(adds)), 0);
	ck_assert(!map->read_too);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("additions");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, each_case, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, another_reads);
	tcase_add_loop_test(tcase, lost_counts, 0, sizeof(places) / sizeof(places[0]));
	tcase_add_test(tcase, another_is_refused);
	return run_case("additions", tcase);
}
