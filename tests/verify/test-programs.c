/* SPDX-License-Identifier: Apache-2.0 */
/* Every unsafe program is refused for its reason, every safe one accepted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "lib/util/error.h"
#include "lib/verify/verify.h"
#include "tests/suite.h"
#include "tests/verify/table.h"

static struct gt_prog make_prog(const char *name, const struct bpf_insn *insns, unsigned count,
				int point, int granularity)
{
	return (struct gt_prog){
		.name = name, .insns = (struct bpf_insn *)insns, .insn_count = count,
		.maps = test_maps, .map_count = MAPS,
		.point = point ? point : GPUTRACE_POINT_ENTRY, .granularity = granularity,
		.context_size = 80,
	};
}

static const char *last_line(const char *log)
{
	size_t length = strlen(log);
	const char *at = log + length;

	if (length && at[-1] == '\n')
		at--;
	while (at > log && at[-1] != '\n')
		at--;
	return at;
}

START_TEST(refuses)
{
	const struct refused *test = &refused[_i];
	struct gt_prog prog = make_prog(test->name, test->insns, test->count, test->point, test->granularity);
	struct gt_verify_result *result = NULL;
	char where[32];
	int r = gt_verify(&prog, NULL, &result);

	ck_assert_msg(r == -EACCES, "%s: accepted", test->name);
	ck_assert_ptr_nonnull(result);
	ck_assert_msg(strstr(gt_error_text(), test->says) != NULL, "%s: %s", test->name, gt_error_text());
	if (test->insn >= 0) {
		snprintf(where, sizeof(where), ": insn %d `", test->insn);
		ck_assert_msg(strstr(gt_error_text(), where) != NULL, "%s: %s", test->name, gt_error_text());
	}
	/* The log's last line is the sentence. */
	ck_assert_int_eq(strncmp(last_line(result->log), gt_error_text(), strlen(gt_error_text())), 0);
	gt_verify_result_free(result);
}
END_TEST

START_TEST(accepts)
{
	const struct accepted *test = &accepted[_i];
	struct gt_prog prog = make_prog(test->name, test->insns, test->count, test->point, test->granularity);
	struct gt_verify_result *result = NULL;
	int r = gt_verify(&prog, NULL, &result);

	ck_assert_msg(r == 0, "%s", gt_error_text());
	if (test->max_steps)
		ck_assert_msg(result->max_steps == test->max_steps, "%s: %llu steps", test->name,
			      (unsigned long long)result->max_steps);
	ck_assert_str_eq(result->log, "");
	gt_verify_result_free(result);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verify programs");
	TCase *bad = tcase_create("refused"), *good = tcase_create("accepted");

	tcase_add_loop_test(bad, refuses, 0, (int)refused_count);
	tcase_add_loop_test(good, accepts, 0, (int)accepted_count);
	suite_add_tcase(suite, bad);
	suite_add_tcase(suite, good);
	printf("unsafe programs: %u, safe programs: %u\n", refused_count, accepted_count);
	return run_suite(suite);
}
