/* SPDX-License-Identifier: Apache-2.0 */
/* How a test program runs what it is made of.  The environment's CK_RUN_CASE and CK_VERBOSITY are heard. */
#ifndef GT_TESTS_SUITE_H
#define GT_TESTS_SUITE_H

#include <check.h>

/* The program's exit status: 0 if everything passed. */
static inline int run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}

static inline int run_case(const char *name, TCase *tcase)
{
	Suite *suite = suite_create(name);

	suite_add_tcase(suite, tcase);
	return run_suite(suite);
}

#endif
