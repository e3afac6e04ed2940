/* SPDX-License-Identifier: Apache-2.0 */
/* Children that are made while the agent begins, in each of the ways in which it does. */
#include <check.h>
#include <string.h>

#include "both.h"

static const char *const ways[] = { "cuda", "range", "asked" };

START_TEST(a_child_made_meanwhile_begins_for_itself)
{
	struct run_options options = timeline();

	options.nvtx = true;
	run_plain(&plain, real_device, ways[_i], NULL);
	run_target(&run, &options, ways[_i], NULL);
	assert_same_output();
	/* The child's, and where the thread makes one its own. */
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_RANGE], strcmp(ways[_i], "range") ? 1 : 2);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("forks");

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_loop_test(tcase, a_child_made_meanwhile_begins_for_itself, 0, 3);
	return run_case("forks", tcase);
}
