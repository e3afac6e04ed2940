/* SPDX-License-Identifier: Apache-2.0 */
/* What the verifier tells the compiler, and what it tells people. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "lib/util/error.h"
#include "lib/verify/helpers.h"
#include "lib/verify/verify.h"
#include "lib/wire/probe.h"
#include "tests/suite.h"
#include "tests/verify/table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct gt_prog prog_of(struct bpf_insn *insns, unsigned count)
{
	return (struct gt_prog){
		.name = "probe", .insns = insns, .insn_count = count, .maps = test_maps, .map_count = MAPS,
		.point = GPUTRACE_POINT_ENTRY, .context_size = 80,
	};
}

static struct gt_verify_result *verify(struct bpf_insn *insns, unsigned count)
{
	struct gt_prog prog = prog_of(insns, count);
	struct gt_verify_result *result = NULL;

	ck_assert_msg(gt_verify(&prog, NULL, &result) == 0, "%s", gt_error_text());
	ck_assert_uint_eq(result->fact_count, count);
	return result;
}

START_TEST(memory_kinds)
{
	struct bpf_insn insns[] = {
		LDX(W, R6, R1, 36),		/* 0 */
		LOOKUP_ZERO(MAP_ARRAY),		/* 1 to 6: store at 1, call at 6 */
		NULL_EXIT,			/* 7 to 9 */
		STX(W, R0, 4, R6),		/* 10 */
		LD_MAP(R1, MAP_RING),		/* 11 */
		MOV(R2, 24), MOV(R3, 0), CALL(RESERVE),	/* 13 to 15 */
		NULL_EXIT,			/* 16 to 18 */
		ST(DW, R0, 16, 0),		/* 19 */
		MOVR(R1, R0), MOV(R2, 0), CALL(SUBMIT),	/* 20 to 22 */
		MOV(R0, 0), EXIT,
	};
	struct gt_verify_result *result = verify(insns, COUNT(insns));
	const struct gt_fact *facts = result->facts;

	ck_assert_uint_eq(facts[0].mem, GT_MEM_CONTEXT);
	ck_assert_int_eq(facts[0].offset, 36);
	ck_assert_uint_eq(facts[1].mem, GT_MEM_STACK);
	ck_assert_uint_eq(facts[6].mem, GT_MEM_NONE);
	ck_assert_int_eq(facts[6].map, MAP_ARRAY);
	ck_assert_uint_eq(facts[10].mem, GT_MEM_MAP);
	ck_assert_int_eq(facts[10].map, MAP_ARRAY);
	ck_assert_int_eq(facts[15].map, MAP_RING);
	ck_assert_uint_eq(facts[15].arg_size, 24);
	ck_assert_uint_eq(facts[19].mem, GT_MEM_RECORD);
	ck_assert_int_eq(facts[0].stack_frame_bytes, 8);
	ck_assert_uint_eq(result->wants, 0);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(either_map)
{
	struct bpf_insn insns[] = {
		LD_VALUE(R2, MAP_DATA, 0), LDX(W, R3, R1, 8), JIF(BPF_JEQ, R3, 0, 2),
		LD_VALUE(R2, MAP_RODATA, 8), LDX(W, R0, R2, 0), EXIT,
	};
	struct gt_verify_result *result = verify(insns, COUNT(insns));

	ck_assert_uint_eq(result->facts[6].mem, GT_MEM_MAP);
	ck_assert_int_eq(result->facts[6].map, -1);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(sizes_and_wants)
{
	struct bpf_insn insns[] = {
		LDX(W, R2, R1, 8), AND(R2, 3), ADD(R2, 1), MOVR(R1, R10), ADD(R1, -8), MOV(R3, 0), CALL(READ_PARAM),
		MOV(R0, 0), EXIT,
	};
	struct gt_verify_result *result = verify(insns, COUNT(insns));

	ck_assert_uint_eq(result->facts[6].arg_size, 4);
	ck_assert_int_eq(result->facts[6].map, -1);
	ck_assert_uint_eq(result->wants, GT_PROBE_WANTS_PARAMS);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(dead_code)
{
	struct bpf_insn insns[] = { MOV(R0, 0), JIF(BPF_JEQ, R0, 0, 2), MOVR(R1, R9), LDX(W, R0, R0, 0), EXIT };
	struct gt_verify_result *result = verify(insns, COUNT(insns));

	ck_assert_uint_eq(result->facts[1].reached, 1);
	ck_assert_uint_eq(result->facts[2].reached, 0);
	ck_assert_uint_eq(result->facts[3].reached, 0);
	ck_assert_uint_eq(result->facts[3].mem, GT_MEM_NONE);
	ck_assert_uint_eq(result->facts[4].reached, 1);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(functions)
{
	struct bpf_insn insns[] = {
		MOV(R1, 5), LD_FUNC(R2, 7), MOVR(R3, R10), MOV(R4, 0), CALL(LOOP),	/* 0 to 5 */
		CALLF(2), MOV(R0, 0), EXIT,						/* 6 to 8 */
		ST(B, R10, -33, 1), MOV(R0, 0), EXIT,					/* 9 to 11 */
	};
	struct gt_verify_result *result = verify(insns, COUNT(insns));

	ck_assert_uint_eq(result->facts[5].callback, 9);
	ck_assert_int_eq(result->facts[9].stack_frame_bytes, 40);
	ck_assert_int_eq(result->facts[0].stack_frame_bytes, 0);
	gt_verify_result_free(result);
}
END_TEST

/* for (k = 0; k < n; k++) with an n from outside */
static struct bpf_insn endless[] = {
	LDX(W, R6, R1, 8), MOV(R7, 0), MOV(R8, 0), JIFR(BPF_JGE, R7, R6, 3), ADDR(R8, R7), ADD(R7, 1), JMP(-4),
	MOV(R0, 0), EXIT,
};

START_TEST(countdown)
{
	struct gt_prog prog = prog_of(endless, COUNT(endless));
	struct gt_verify_opts opts = { .loop_budget = 1000, .log_level = 1 };
	struct gt_verify_result *result;

	ck_assert_int_eq(gt_verify(&prog, NULL, &result), -EACCES);
	gt_verify_result_free(result);
	ck_assert_msg(gt_verify(&prog, &opts, &result) == 0, "%s", gt_error_text());
	ck_assert_uint_eq(result->loop_budget, 1000);
	for (unsigned i = 0; i < COUNT(endless); i++)
		ck_assert_uint_eq(result->facts[i].countdown, i == 3);
	ck_assert_uint_gt(result->max_steps, 4000);
	ck_assert_uint_lt(result->max_steps, UINT64_MAX);
	ck_assert_ptr_nonnull(strstr(result->log, "after 1000 rounds the program returns"));
	gt_verify_result_free(result);
}
END_TEST

START_TEST(countdown_with_a_record)
{
	struct bpf_insn insns[] = {
		LDX(W, R6, R1, 8), MOV(R7, 0), LD_MAP(R1, MAP_RING), MOV(R2, 8), MOV(R3, 0), CALL(RESERVE), NULL_EXIT,
		ADD(R7, 1), JIFR(BPF_JLT, R7, R6, -2), MOVR(R1, R0), MOV(R2, 0), CALL(SUBMIT), MOV(R0, 0), EXIT,
	};
	struct gt_prog prog = prog_of(insns, COUNT(insns));
	struct gt_verify_opts opts = { .loop_budget = 1000 };
	struct gt_verify_result *result;

	ck_assert_int_eq(gt_verify(&prog, &opts, &result), -EACCES);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "holds the record reserved at insn 6"));
	ck_assert_uint_eq(result->loop_budget, 0);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(unsafe_in_a_countdown_loop)
{
	struct bpf_insn insns[] = {
		LDX(W, R6, R1, 8), MOV(R7, 0), LD_VALUE(R1, MAP_DATA, 0), ADDR(R1, R7), LDX(B, R0, R1, 0), ADD(R7, 1),
		JIFR(BPF_JLT, R7, R6, -6), MOV(R0, 0), EXIT,
	};
	struct gt_prog prog = prog_of(insns, COUNT(insns));
	struct gt_verify_opts opts = { .loop_budget = 1000 };
	struct gt_verify_result *result;

	ck_assert_int_eq(gt_verify(&prog, &opts, &result), -EACCES);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), "outside the map value"));
	gt_verify_result_free(result);
}
END_TEST

/* The countdown may end the program for some threads of a warp only. */
START_TEST(warp_sum_after_a_countdown)
{
	struct bpf_insn insns[] = {
		LDX(W, R6, R1, 44), MOV(R7, 0), ADD(R7, 1), JIFR(BPF_JLT, R7, R6, -2), MOV(R1, 1), CALL(WARP_SUM), EXIT,
	};
	struct gt_prog prog = prog_of(insns, COUNT(insns));
	struct gt_verify_opts opts = { .loop_budget = 1000 };
	struct gt_verify_result *result;

	ck_assert_int_eq(gt_verify(&prog, &opts, &result), -EACCES);
	ck_assert_ptr_nonnull(strstr(gt_error_text(), ": insn 5 `call gputrace_warp_sum#4105`: gputrace_warp_sum needs all"));
	gt_verify_result_free(result);
}
END_TEST

START_TEST(source_line)
{
	static const struct gt_line lines[] = {
		{ 0, 10, 1, "vec.bpf.c", "int probe(struct gputrace_gpu_ctx *ctx)" },
		{ 1, 12, 5, "vec.bpf.c", "	u64 *v = bpf_map_lookup_elem(&counts, &key);" },
		{ 6, 13, 5, "vec.bpf.c", "	*v += 1;" },
	};
	struct bpf_insn insns[] = { LOOKUP_ZERO(MAP_ARRAY), LDX(DW, R1, R0, 0), MOV(R0, 0), EXIT };
	struct gt_prog prog = prog_of(insns, COUNT(insns));
	struct gt_verify_result *result;

	prog.lines = lines;
	prog.line_count = COUNT(lines);
	ck_assert_int_eq(gt_verify(&prog, NULL, &result), -EACCES);
	ck_assert_str_eq(gt_error_text(), "probe: insn 6 `r1 = *(u64 *)(r0 +0)` (vec.bpf.c:13 `*v += 1;`): "
			 "r0 may be NULL; check the pointer against NULL before it is used");
	ck_assert_int_eq(strncmp(result->log, gt_error_text(), strlen(gt_error_text())), 0);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(same_log_twice)
{
	struct bpf_insn insns[] = { LOOKUP_ZERO(MAP_BIG), NULL_EXIT, MOV(R1, 0), ADD(R1, 1), JIF(BPF_JLT, R1, 20, -2), MOV(R0, 0), EXIT };
	struct gt_prog prog = prog_of(insns, COUNT(insns));
	struct gt_verify_opts opts = { .log_level = 2 };
	struct gt_verify_result *first, *second;

	ck_assert_int_eq(gt_verify(&prog, &opts, &first), 0);
	ck_assert_int_eq(gt_verify(&prog, &opts, &second), 0);
	ck_assert_str_eq(first->log, second->log);
	ck_assert_ptr_nonnull(strstr(first->log, "6: if r0 != 0 goto pc+2; r0=value_or_null+0 r10=stack+0\n"));
	gt_verify_result_free(first);
	gt_verify_result_free(second);
}
END_TEST

START_TEST(log_is_bounded)
{
	struct bpf_insn insns[] = { MOV(R0, 0), ADD(R0, 1), JIF(BPF_JLT, R0, 200000, -2), MOVR(R0, R9), EXIT };
	struct gt_prog prog = prog_of(insns, COUNT(insns));
	struct gt_verify_opts opts = { .log_level = 2 };
	struct gt_verify_result *result;

	ck_assert_int_eq(gt_verify(&prog, &opts, &result), -EACCES);
	ck_assert_uint_lt(strlen(result->log), 1100000);
	/* However long, it ends with the reason. */
	ck_assert_ptr_nonnull(strstr(result->log, "r9 is read before it was written"));
	gt_verify_result_free(result);
}
END_TEST

static const char *log_of(const struct bpf_insn *insns, unsigned count, int point, int granularity,
			  struct gt_verify_result **ret_result)
{
	struct gt_prog prog = prog_of((struct bpf_insn *)insns, count);
	struct gt_verify_opts opts = { .log_level = 1 };

	prog.point = point;
	prog.granularity = granularity;
	ck_assert_msg(gt_verify(&prog, &opts, ret_result) == 0, "%s", gt_error_text());
	return (*ret_result)->log;
}

START_TEST(per_warp_warning)
{
	const struct bpf_insn same[] = { LOOKUP_ZERO(MAP_ARRAY), NULL_EXIT, MOV(R1, 1), ATOMIC(DW, BPF_ADD, R0, 0, R1), MOV(R0, 0), EXIT };
	const struct bpf_insn thread[] = { LDX(W, R0, R1, 32), EXIT };
	const struct bpf_insn lanes[] = { LOOKUP_ZERO(MAP_LANES), NULL_EXIT, ST(DW, R0, 0, 1), MOV(R0, 0), EXIT };
	struct gt_verify_result *result;

	ck_assert_ptr_nonnull(strstr(log_of(same, COUNT(same), GPUTRACE_POINT_ENTRY, GPUTRACE_PER_THREAD, &result), "cuda.warp/"));
	gt_verify_result_free(result);
	ck_assert_str_eq(log_of(same, COUNT(same), GPUTRACE_POINT_ENTRY, GPUTRACE_PER_WARP, &result), "");
	gt_verify_result_free(result);
	ck_assert_str_eq(log_of(same, COUNT(same), GPUTRACE_POINT_LOAD, GPUTRACE_PER_THREAD, &result), "");
	gt_verify_result_free(result);
	ck_assert_str_eq(log_of(thread, COUNT(thread), GPUTRACE_POINT_ENTRY, GPUTRACE_PER_THREAD, &result), "");
	gt_verify_result_free(result);
	ck_assert_str_eq(log_of(lanes, COUNT(lanes), GPUTRACE_POINT_EXIT, GPUTRACE_PER_THREAD, &result), "");
	gt_verify_result_free(result);
}
END_TEST

START_TEST(helper_table)
{
	uint32_t last = 0;

	for (unsigned i = 0; gt_helper_at(i); i++) {
		ck_assert_uint_gt(gt_helper_at(i)->id, last);
		last = gt_helper_at(i)->id;
		ck_assert_ptr_eq(gt_helper_find(last), gt_helper_at(i));
	}
	ck_assert_uint_eq(last, 4105);
	ck_assert_ptr_null(gt_helper_find(4));
	for (uint32_t id = 502; id <= 511; id++)
		ck_assert_ptr_nonnull(gt_helper_find(id));
}
END_TEST

START_TEST(empty_and_huge)
{
	struct gt_prog prog = prog_of(NULL, 0);
	struct gt_verify_result *result;

	ck_assert_int_eq(gt_verify(&prog, NULL, &result), -EACCES);
	ck_assert_ptr_nonnull(strstr(result->log, "no instructions"));
	gt_verify_result_free(result);
}
END_TEST

int main(void)
{
	TCase *tc = tcase_create("facts");

	tcase_add_test(tc, memory_kinds);
	tcase_add_test(tc, either_map);
	tcase_add_test(tc, sizes_and_wants);
	tcase_add_test(tc, dead_code);
	tcase_add_test(tc, functions);
	tcase_add_test(tc, countdown);
	tcase_add_test(tc, countdown_with_a_record);
	tcase_add_test(tc, unsafe_in_a_countdown_loop);
	tcase_add_test(tc, warp_sum_after_a_countdown);
	tcase_add_test(tc, source_line);
	tcase_add_test(tc, same_log_twice);
	tcase_add_test(tc, log_is_bounded);
	tcase_add_test(tc, per_warp_warning);
	tcase_add_test(tc, helper_table);
	tcase_add_test(tc, empty_and_huge);
	return run_case("verify facts", tc);
}
