/* SPDX-License-Identifier: Apache-2.0 */
/* Signals that come while the agent works, and what their handlers do.  With GPUTRACE_TEST_DEVICE=gpu on a GPU. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "both.h"

static const char ended[] = "a thread of the program ended inside a call of the driver";
static const char jumped[] = "a signal's handler led a thread of the program out of a call of the driver";

static void interrupt(const char *what, int nth)
{
	struct run_options options = counting();
	char number[4];

	snprintf(number, sizeof(number), "%d", nth);
	run_target(&run, &options, what, number, NULL);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 1);
}

static bool has_note(const char *text)
{
	return strstr(run.notes, text) != NULL;
}

/* The program ends while the agent holds a lock: it ends all the same. */
START_TEST(exits)
{
	interrupt("exits", _i);
	ck_assert_int_eq(WEXITSTATUS(run.status), 7);
}
END_TEST

/* The thread ends alone: no other one waits for ever for the lock that it had. */
START_TEST(thread_ends)
{
	interrupt("ended", _i);
	ck_assert_str_eq(run.output, "counter 69\n");
	ck_assert_int_eq(run.status, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
	if (_i == 1)
		ck_assert(has_note(ended));
}
END_TEST

/* It is led out of the call: the thread is the program's again and traced as before, and nobody waits for it. */
START_TEST(thread_jumps)
{
	interrupt("jumped", _i);
	ck_assert_str_eq(run.output, "counter 69\ncounter 69\n");
	ck_assert_int_eq(run.status, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
	ck_assert(has_note(jumped));
}
END_TEST

/* What the handler does is within the call, which goes on: from another stack as from the thread's own. */
START_TEST(thread_comes_back)
{
	static const char *const hows[] = { "nested", "switched" };

	for (int how = 0; how < 2; how++) {
		interrupt(hows[how], _i);
		ck_assert_str_eq(run.output, "counter 69\ncounter 69\n");
		ck_assert_int_eq(run.status, 0);
		ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
		ck_assert(!has_note(jumped));
		free_both();
	}
}
END_TEST

static unsigned before_the_end;	/* kernels that came so early */

static void watch_kernels(struct run *r, const struct gputrace_event *event)
{
	if (gputrace_event_get_type(event) == GPUTRACE_EVENT_KERNEL && !gputrace_target_has_exited(r->target, NULL))
		before_the_end++;
}

/* A record that was begun is never finished: what follows comes all the same, and it is counted as lost. */
START_TEST(record_is_left)
{
	before_the_end = 0;
	run.watch = watch_kernels;
	interrupt("halfway", _i);
	ck_assert_str_eq(run.output, "counter 69\ncounter 69\n");
	ck_assert_int_eq(run.status, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_LAUNCH], 4);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
	ck_assert_uint_eq(run.lost, 1);
	/* It takes a second for it to be given up while the program runs. */
	if (_i)
		ck_assert_uint_eq(before_the_end, 4);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("interrupted");

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_loop_test(tcase, exits, 1, 12);
	tcase_add_loop_test(tcase, thread_ends, 1, 12);
	tcase_add_loop_test(tcase, thread_jumps, 1, 12);
	tcase_add_loop_test(tcase, thread_comes_back, 1, 12);
	for (int seconds = 0; seconds < 4; seconds += 3)
		tcase_add_loop_test(tcase, record_is_left, seconds, seconds + 1);
	return run_case("interrupted", tcase);
}
