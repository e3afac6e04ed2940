/* SPDX-License-Identifier: Apache-2.0 */
/* Programs whose threads have small stacks: what the agent does there does not end them. */
#include <check.h>

#include "both.h"

static const char *const whats[] = { "thread", "default" };

START_TEST(small_stacks_are_enough)
{
	struct run_options options = counting();

	options.copies = true;
	options.api = true;
	options.api_flags = (const uint32_t[]){ GPUTRACE_API_AGENT, 0 };
	run_plain(&plain, real_device, whats[_i], NULL);
	run_target(&run, &options, whats[_i], NULL);
	assert_same_output();
	ck_assert_str_eq(run.output, "counter 69\n0 cramped\n");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_COPY], 1);
	ck_assert_uint_eq(run_map_value(&run, "entered", 0, 0), 64);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("cramped");

	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_loop_test(tcase, small_stacks_are_enough, 0, 2);
	return run_case("cramped", tcase);
}
