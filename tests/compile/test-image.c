/* SPDX-License-Identifier: Apache-2.0 */
/* PTX images: their text, their symbols, linking; errors of the compiler. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/compile/compile.h"
#include "lib/object/object.h"
#include "tests/compile/common.h"

static const struct gt_link_env env = { .ring0_data = 4096, .ring0_size = 65536, .pid_tgid = 0x7b0000007b };

static void place(struct gputrace_object *object, const char *name, uint64_t offset)
{
	struct gt_map_place where = { .offset = offset, .ctl = 3 * 128, .tail = 24, .source = 9 };

	gt_map_set_place(gputrace_object_find_map(object, name), &where);
}

static char *link_probe(struct gputrace_object *object, const char *name, unsigned number)
{
	struct gputrace_image *image = compile_probe(object, name, true);
	char *text = NULL, *function = NULL, want[64];

	ck_assert_msg(gt_image_link(image, number, &env, &text, &function) == 0, "%s", gputrace_last_error());
	snprintf(want, sizeof(want), "gt%u_%s", number, name);
	ck_assert_str_eq(function, want);
	free(function);
	gputrace_image_unref(image);
	return text;
}

static unsigned occurrences(const char *text, const char *word)
{
	unsigned count = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		count++;
	return count;
}

START_TEST(ptx_text)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "count", true), *again;
	const char *ptx = gputrace_image_get_ptx(image);

	ck_assert_ptr_nonnull(ptx);
	ck_assert_ptr_null(strstr(ptx, ".version"));
	ck_assert_ptr_null(strstr(ptx, ".target"));
	ck_assert_ptr_null(strstr(ptx, ".extern"));
	ck_assert_uint_eq(occurrences(ptx, ".visible .func __gt_fn_count("), 1);
	/* eight parameters, in types as the convention has them */
	ck_assert_uint_eq(occurrences(ptx, "\t.param .b64 "), 5);
	ck_assert_uint_eq(occurrences(ptx, "\t.param .b32 "), 3);
	/* one addition whose result nobody wants, in device memory */
	ck_assert_uint_eq(occurrences(ptx, "red.relaxed.gpu.global.add.u64"), 1);
	ck_assert_uint_eq(occurrences(ptx, "atom."), 0);
	/* the author's line beside its code */
	ck_assert_uint_ge(occurrences(ptx, "\t// probes.bpf.c:"), 1);
	ck_assert_uint_eq(occurrences(ptx, "add(&counts, ctx->thread[0], 1);"), 1);
	ck_assert_uint_eq(occurrences(ptx, ".loc\t") + occurrences(ptx, ".section"), 0);
	/* no stack is left */
	ck_assert_uint_eq(occurrences(ptx, ".local"), 0);
	ck_assert_uint_eq(gt_image_wants(image), 0);
	/* the same text every time */
	again = compile_probe(object, "count", true);
	ck_assert_str_eq(ptx, gputrace_image_get_ptx(again));
	gputrace_image_unref(again);
	gputrace_image_unref(gputrace_image_ref(image));
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

/* Whoever adds a constant to one element leaves it to the driver's compiler to add for a whole warp. */
START_TEST(additions)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *one = compile_probe(object, "count_on_host", true);
	struct gputrace_image *many = compile_probe(object, "count", true);

	ck_assert_uint_eq(occurrences(gputrace_image_get_ptx(one), "red.relaxed.sys.global.add.u64"), 1);
	ck_assert_uint_eq(occurrences(gputrace_image_get_ptx(one), "activemask"), 0);
	ck_assert_uint_eq(occurrences(gputrace_image_get_ptx(many), "activemask"), 1);
	gputrace_image_unref(one);
	gputrace_image_unref(many);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(host_memory)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "count_on_host", true);

	ck_assert_uint_eq(occurrences(gputrace_image_get_ptx(image), "red.relaxed.sys.global.add.u64"), 1);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(linking)
{
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image = compile_probe(object, "count", true);
	char *one, *two, *function = NULL;

	ck_assert_int_eq(gt_image_link(image, 1, &env, &one, &function), -EINVAL);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "counts"));
	ck_assert_ptr_null(function);
	gputrace_image_unref(image);
	place(object, "counts", 123456768);
	one = link_probe(object, "count", 1);
	two = link_probe(object, "count", 2);
	ck_assert_uint_eq(occurrences(one, "123456768"), 1);
	ck_assert_ptr_null(strstr(one, "__gt_"));
	ck_assert_uint_eq(occurrences(one, ".func gt1_count("), 1);
	ck_assert_uint_eq(occurrences(two, ".func gt2_count("), 1);
	ck_assert_ptr_null(strstr(two, "gt1_"));
	free(one);
	free(two);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(ring_numbers)
{
	struct gputrace_object *object = open_probes();
	char *text;

	place(object, "ring", 77824);
	text = link_probe(object, "output", 0);
	ck_assert_ptr_nonnull(strstr(text, "77824"));
	ck_assert_ptr_nonnull(strstr(text, "384"));
	ck_assert_uint_eq(occurrences(text, "st.release.sys.global.u64"), 1);
	ck_assert_uint_eq(occurrences(text, "activemask"), 1);
	free(text);
	/* once per warp: there is nobody to share with */
	text = link_probe(object, "output_per_warp", 0);
	ck_assert_uint_eq(occurrences(text, "activemask"), 0);
	ck_assert_uint_eq(occurrences(text, "shfl"), 0);
	/* only who asks for more room waits for what the kernel has written: a maximum and an addition */
	ck_assert_uint_eq(occurrences(text, "acq_rel"), 2);
	free(text);
	gputrace_object_unref(object);
}
END_TEST

/* Compile a program of a few instructions; the error. */
static int try_insns(const char *section, const struct bpf_insn *insns, unsigned count, uint32_t flags)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts), .flags = flags };
	struct gputrace_program *program;
	struct gputrace_image *image;
	struct gputrace_object *object;
	int r;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	ck_assert_int_eq(gputrace_object_add_program(object, "p", section, insns, count, &program), 0);
	r = gputrace_compile_ptx(program, &opts, &image);
	if (r == 0)
		gputrace_image_unref(image);
	gputrace_object_unref(object);
	return r;
}

#define EXIT { .code = BPF_JMP | BPF_EXIT }
#define UNVERIFIED GPUTRACE_COMPILE_UNVERIFIED

START_TEST(refused)
{
	static const struct bpf_insn no_end[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K } };
	static const struct bpf_insn far[] = { { .code = BPF_JMP | BPF_JA, .off = 5 }, EXIT };
	static const struct bpf_insn unknown[] = { { .code = 0xff }, EXIT };
	static const struct bpf_insn helper[] = { { .code = BPF_JMP | BPF_CALL, .imm = 999 }, EXIT };
	static const struct bpf_insn map[] = {
		{ .code = BPF_LD | BPF_IMM | BPF_DW, .src_reg = BPF_PSEUDO_MAP_VALUE, .imm = 3 }, {}, EXIT,
	};
	static const struct bpf_insn half[] = { EXIT, { .code = BPF_LD | BPF_IMM | BPF_DW } };
	static const struct bpf_insn reg[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 12 }, EXIT };
	static const struct bpf_insn packet[] = { { .code = BPF_LD | BPF_ABS | BPF_W }, EXIT };
	static const struct bpf_insn call[] = {
		{ .code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 100 }, EXIT,
	};
	static const struct bpf_insn unset[] = { EXIT };	/* r0 has no value */

	ck_assert_int_eq(try_insns(NULL, no_end, 1, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, far, 2, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, unknown, 2, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, helper, 2, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_ptr_nonnull(strstr(gputrace_last_error(), "999"));
	ck_assert_int_eq(try_insns(NULL, map, 3, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, half, 2, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, reg, 2, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, packet, 2, UNVERIFIED), -EOPNOTSUPP);
	ck_assert_int_eq(try_insns(NULL, call, 2, UNVERIFIED), -EOPNOTSUPP);
	/* plain memory cannot be verified, and an unset result is not allowed */
	ck_assert_int_eq(try_insns(NULL, unset, 1, 0), -EACCES);
	ck_assert_int_eq(try_insns("cuda/entry:*", unset, 1, 0), -EACCES);
	ck_assert_int_eq(try_insns(NULL, unset, 1, UNVERIFIED), 0);
}
END_TEST

START_TEST(wrong_use)
{
	struct gputrace_compile_opts opts = { .size = sizeof(opts) };
	struct gputrace_object *object = open_probes();
	struct gputrace_program *count = gputrace_object_find_program(object, "count");
	struct gputrace_image *image = NULL;
	char *text, *function;
	uint64_t value;

	ck_assert_int_eq(gputrace_compile_ptx(gputrace_object_find_program(object, "for_the_kernel"), NULL, &image),
			 -EOPNOTSUPP);
	opts.size = 4;
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), -EINVAL);
	opts.size = 1 << 20;	/* as when it was not set */
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), -EINVAL);
	opts.size = sizeof(opts);
	opts.flags = 1u << 31;
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), -E2BIG);
	opts.flags = 0;
	opts.optimize = 4;
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), -EINVAL);
	opts.optimize = 0;
	opts.verifier_log = GPUTRACE_VERIFIER_STATES + 1;
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), -EINVAL);
	opts.verifier_log = 0;
	opts.reserved = 1;
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), -E2BIG);
	ck_assert_ptr_null(image);
	ck_assert_ptr_null(gputrace_image_unref(NULL));
	/* A program that was built when the struct ended earlier, whatever lies behind it. */
	opts.size = offsetof(struct gputrace_compile_opts, verifier_log);
	ck_assert_int_eq(gputrace_compile_ptx(count, &opts, &image), 0);
	gputrace_image_unref(image);

	image = compile_probe(object, "count", false);
	ck_assert_ptr_null(gputrace_image_get_ptx(image));
	ck_assert_int_eq(gt_image_link(image, 0, &env, &text, &function), -EINVAL);
	ck_assert_int_eq(gputrace_image_run(image, &value, 8, &value), -EINVAL);
	gputrace_image_unref(image);
	image = compile_probe(object, "count", true);
	ck_assert_int_eq(gputrace_image_run(image, &value, 8, &value), -EINVAL);
	gputrace_image_unref(image);
	gputrace_object_unref(object);
}
END_TEST

/* What the log holds of an accepted program of which every thread does the same, and of one that is refused. */
START_TEST(logs)
{
	static const struct bpf_insn right[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K }, EXIT };
	static const struct bpf_insn wrong[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_X, .src_reg = 3 }, EXIT };
	static const struct {
		uint32_t level;
		unsigned hints, states;
	} levels[] = {
		{ GPUTRACE_VERIFIER_WARNINGS, 1, 0 }, { GPUTRACE_VERIFIER_REFUSALS, 0, 0 }, { GPUTRACE_VERIFIER_STATES, 1, 2 },
		{ GPUTRACE_VERIFIER_WARNINGS, 1, 0 },
	};
	struct gputrace_program *good, *bad;
	struct gputrace_object *object;
	struct gputrace_image *image;

	ck_assert_int_eq(gputrace_object_new(NULL, "made", &object), 0);
	ck_assert_int_eq(gputrace_object_add_program(object, "good", "cuda/entry:*", right, 2, &good), 0);
	ck_assert_int_eq(gputrace_object_add_program(object, "bad", "cuda/entry:*", wrong, 2, &bad), 0);
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		struct gputrace_compile_opts opts = { .size = sizeof(opts), .verifier_log = levels[i].level };
		const char *log;

		ck_assert_int_eq(gputrace_compile_ptx(good, &opts, &image), 0);
		gputrace_image_unref(image);
		log = gputrace_program_get_log(good);
		ck_assert_msg(occurrences(log, "hint: ") == levels[i].hints, "%s", log);
		ck_assert_msg(occurrences(log, "r1=context") == levels[i].states, "%s", log);
		ck_assert_int_eq(gputrace_compile_ptx(bad, &opts, &image), -EACCES);
		log = gputrace_program_get_log(bad);
		ck_assert_msg(strstr(log, gputrace_last_error()) && strstr(log, "insn 0"), "%s", log);
	}
	gputrace_object_unref(object);
}
END_TEST

/* Every level gives a program; an image outlives its object. */
/* Milliseconds of processor time, without the cache. */
static double compile_time(struct gputrace_object *object, const char *name)
{
	const unsigned rounds = 5;
	clock_t begin = clock();

	for (unsigned i = 0; i < rounds; i++)
		gputrace_image_unref(compile_probe(object, name, true));
	return 1e3 * (double)(clock() - begin) / CLOCKS_PER_SEC / rounds;
}

/* The code of tables is compiled with the library: nine operations cost little more than none. */
START_TEST(tables_compile_fast)
{
	struct gputrace_object *object = open_probes();
	double none, nine;

	compile_time(object, "count");		/* the first one initialises LLVM */
	none = compile_time(object, "count");
	nine = compile_time(object, "table_errors");
	printf("compiled in %.1f ms without tables, in %.1f ms with nine operations on one\n", none, nine);
	ck_assert_double_lt(nine, 3 * none);
	gputrace_object_unref(object);
}
END_TEST

START_TEST(all_levels)
{
	static const uint32_t levels[] = { GPUTRACE_OPTIMIZE_NONE, 1, 2, 3 };
	struct gputrace_compile_opts opts = { .size = sizeof(opts) };
	struct gputrace_gpu_ctx context = { .thread = { 4 } };
	struct gputrace_object *object = open_probes();
	struct gputrace_image *image;
	unsigned i;

	for (i = 0; i < 4; i++) {
		opts.optimize = levels[i];
		ck_assert_int_eq(gputrace_compile_host(gputrace_object_find_program(object, "count"), &opts, &image),
				 0);
		run(image, &context);
		gputrace_image_unref(image);
		ck_assert_int_eq(gputrace_compile_ptx(gputrace_object_find_program(object, "count"), &opts, &image),
				 0);
		gputrace_image_unref(image);
	}
	ck_assert_uint_eq(element(object, "counts", 0, 4), 4);
	image = compile_probe(object, "count", false);
	gputrace_object_unref(object);
	run(image, &context);
	gputrace_image_unref(image);
}
END_TEST

START_TEST(timeline)
{
	char *linked = gt_timeline_link(1048576, 8192, 65536);

	ck_assert_ptr_nonnull(linked);
	ck_assert_ptr_null(strstr(linked, "GT_TIMELINE_"));
	ck_assert_uint_eq(occurrences(linked, "1048576"), 2);		/* the slots, once for each probe */
	ck_assert_uint_eq(occurrences(linked, "%host, 8192"), 1);	/* the ring's data */
	ck_assert_uint_eq(occurrences(gt_timeline_text(), "GT_TIMELINE_MASK"), 6);	/* six words of a record */
	ck_assert_uint_eq(occurrences(linked, ".func __gt_timeline_entry("), 1);
	ck_assert_uint_eq(occurrences(linked, ".func __gt_timeline_exit("), 1);
	free(linked);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image");
	TCase *tcase = tcase_create("image");

	tcase_add_test(tcase, ptx_text);
	tcase_add_test(tcase, additions);
	tcase_add_test(tcase, host_memory);
	tcase_add_test(tcase, linking);
	tcase_add_test(tcase, ring_numbers);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, wrong_use);
	tcase_add_test(tcase, logs);
	tcase_add_test(tcase, tables_compile_fast);
	tcase_add_test(tcase, all_levels);
	tcase_add_test(tcase, timeline);
	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}
