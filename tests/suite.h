/* SPDX-License-Identifier: Apache-2.0 */
/* How a test program runs what it is made of.  The environment's CK_RUN_CASE and CK_VERBOSITY are heard. */
#ifndef GT_TESTS_SUITE_H
#define GT_TESTS_SUITE_H

#include <check.h>
#include <stdlib.h>

/*
 * Guards against a hang, and nothing else: a machine may be as slow and busy as it likes.  Of one thing that a
 * test waits for, and of a test as a whole, for which the environment may say another time.
 */
#define PATIENCE_MS 600000
#define PATIENCE_OF_TEST_S "900"

static inline __attribute__((constructor)) void set_patience(void)
{
	setenv("CK_DEFAULT_TIMEOUT", PATIENCE_OF_TEST_S, 0);
}

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
