/* SPDX-License-Identifier: Apache-2.0 */
/* What the program itself says of its work: ranges, marks, names of threads, numbers of its own. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "both.h"

static const uint32_t by_agent[] = { GPUTRACE_API_AGENT, 0 };
static const uint32_t by_uprobes[] = { GPUTRACE_API_UPROBES, 0 };

static void teardown(void)
{
	unsetenv("NVTX_INJECTION64_PATH");
	free_both();
}

static struct run_options annotations(const uint32_t *flags)
{
	return (struct run_options){ .timeline = true, .nvtx = true, .api = flags, .api_flags = flags,
				     .real_device = real_device };
}

static const struct run_event *find(const struct run_event *events, unsigned count, const char *name)
{
	const struct run_event *found = NULL;

	for (unsigned i = 0; i < count; i++) {
		if (strcmp(events[i].name, name))
			continue;
		ck_assert_msg(!found, "%s is there twice", name);
		found = &events[i];
	}
	ck_assert_msg(found != NULL, "%s is not there", name);
	return found;
}

static const struct run_event *range(const char *name)
{
	return find(run.ranges, run.events[GPUTRACE_EVENT_RANGE], name);
}

/* The launch with that many blocks, and its kernel. */
static const struct run_event *numbered(const struct run_event *events, unsigned count, unsigned number)
{
	for (unsigned i = 0; i < count; i++) {
		if (events[i].grid[0] == number)
			return &events[i];
	}
	ck_abort_msg("launch %u is not there", number);
	return NULL;
}

static void belongs(unsigned number, uint64_t range_id, uint64_t external)
{
	const struct run_event *launch = numbered(run.launches, run.events[GPUTRACE_EVENT_LAUNCH], number);
	const struct run_event *kernel = numbered(run.kernels, run.events[GPUTRACE_EVENT_KERNEL], number);

	ck_assert_uint_eq(launch->range_id, range_id);
	ck_assert_uint_eq(kernel->range_id, range_id);
	ck_assert_uint_eq(launch->external_id, external);
	ck_assert_uint_eq(kernel->external_id, external);
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		const struct run_event *call = &run.calls[i];

		if (strcmp(call->name, "cuLaunchKernel") || call->args[1] != number)
			continue;
		ck_assert_uint_eq(call->launch_id, launch->launch_id);
		ck_assert_uint_eq(call->range_id, range_id);
		ck_assert_uint_eq(call->external_id, external);
		return;
	}
	ck_abort_msg("the call of launch %u is not there", number);
}

static void check_ranges(const uint32_t *flags)
{
	struct run_options options = annotations(flags);
	const struct run_event *outer, *inner, *span, *wide, *open, *mark;

	run_target(&run, &options, "ranges", NULL);
	ck_assert_str_eq(run.notes, "");
	ck_assert_uint_eq(run.lost, 0);
	/* A pop too many; the other domain counts for itself. */
	ck_assert_str_eq(run.output, "levels 0 0 -1 0 0 0 1 1\n");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 1);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_RANGE], 6);
	range("setup");
	outer = range("outer");
	inner = range("inner");
	span = range("span");
	wide = range("gr\u00f6\u00dfe \u2192 \U0001f680");
	open = range("left open");
	mark = find(run.marks, run.events[GPUTRACE_EVENT_MARK], "here");
	ck_assert_str_eq(inner->domain, "library");
	ck_assert_str_eq(outer->domain, "");
	ck_assert_str_eq(open->text, "its end was not seen");
	ck_assert_str_eq(outer->text, "");
	ck_assert(outer->time <= inner->time && inner->time <= mark->time && mark->time <= inner->end &&
		  inner->end <= wide->time && wide->end <= outer->end && outer->end <= span->end &&
		  span->time <= outer->time);
	belongs(1, outer->range_id, 0);
	belongs(2, inner->range_id, 0);
	belongs(3, wide->range_id, 0);
	belongs(4, 0, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_THREAD], 1);
	ck_assert_str_eq(run.marks[1].name, "ender");
	ck_assert_int_ne(run.marks[1].tid, run.marks[1].pid);
}

START_TEST(ranges_lie_around_launches)
{
	check_ranges(by_agent);
}
END_TEST

START_TEST(uprobes_know_ranges_by_launches)
{
	check_ranges(by_uprobes);
}
END_TEST

START_TEST(numbers_of_the_programs_own)
{
	struct run_options options = annotations(by_agent);

	run_plain(&plain, real_device, "ids", NULL);
	ck_assert_str_eq(plain.output, "not traced\n");
	run_target(&run, &options, "ids", NULL);
	ck_assert_str_eq(run.output, "traced\n");
	ck_assert_int_eq(run.status, 0);
	belongs(1, 0, 0);
	belongs(2, 0, 77);
	belongs(3, 0, 1ull << 60);
	belongs(4, 0, 77);
	belongs(5, 0, 0);
}
END_TEST

/* A program may fork after its first range and before CUDA: both are traced. */
START_TEST(a_fork_after_a_range)
{
	struct run_options options = annotations(by_agent);

	run_plain(&plain, real_device, "fork", NULL);
	run_target(&run, &options, "fork", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(range("both")->tid, range("both")->pid);
	ck_assert_int_eq(range("child")->tid, range("child")->pid);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_PROCESS], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_EXIT], 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 2);
	ck_assert_int_ne(numbered(run.kernels, 2, 1)->pid, numbered(run.kernels, 2, 2)->pid);
	ck_assert_int_eq(range("both")->pid, numbered(run.kernels, 2, 1)->pid);
	ck_assert_int_eq(range("child")->pid, numbered(run.kernels, 2, 2)->pid);
	ck_assert_uint_eq(numbered(run.kernels, 2, 2)->range_id, range("child")->range_id);
}
END_TEST

/* Nor does a child wait for what another thread had at the fork, which is not there. */
START_TEST(a_fork_while_a_domain_is_made)
{
	struct run_options options = annotations(by_agent);

	run_plain(&plain, real_device, "held", NULL);
	run_target(&run, &options, "held", NULL);
	ck_assert_str_eq(run.output, plain.output);
	ck_assert_int_eq(run.status, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 1);
}
END_TEST

/* One end is lost as soon as the ring is full; the stream tells how many. */
START_TEST(what_finds_no_room_is_counted)
{
	struct run_options options = annotations(NULL);

	run_target(&run, &options, "many", "100000", NULL);
	ck_assert_str_eq(run.output, "done\n");
	/* Both ends of those that are there, one of those that seem to be open. */
	ck_assert_uint_eq(2 * run.events[GPUTRACE_EVENT_RANGE] - run.open_ranges + run.lost, 200000);
}
END_TEST

/* Whoever was asked to listen before us still hears everything, and gives the answers. */
START_TEST(another_listener)
{
	struct run_options options = annotations(NULL);

	setenv("NVTX_INJECTION64_PATH", OTHER_PATH, 1);
	run_target(&run, &options, "ranges", NULL);
	ck_assert_str_eq(run.output, "other: push setup\nother: pop\nother: pop\nother: start span\n"
			 "other: push outer\nother: pop\nother: pop\nother: end 1234\nother: push left open\n"
			 "levels 40 41 41 40 0 0 1 41\n");
	range("setup");
	range("outer");
	ck_assert_uint_gt(range("span")->end, range("span")->time);
}
END_TEST

/* Nobody asked: the program's calls do nothing, and nothing is in the stream. */
START_TEST(not_attached)
{
	struct run_options options = annotations(NULL);

	options.nvtx = false;
	run_target(&run, &options, "ranges", NULL);
	ck_assert_str_eq(run.output, "levels -2 -2 -2 -2 -2 -2 -2 -2\n");
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_RANGE] + run.events[GPUTRACE_EVENT_MARK], 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 4);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("annotations");
	int failed;

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, teardown);
	tcase_add_test(tcase, ranges_lie_around_launches);
	if (!geteuid())
		tcase_add_test(tcase, uprobes_know_ranges_by_launches);
	tcase_add_test(tcase, numbers_of_the_programs_own);
	tcase_add_test(tcase, a_fork_after_a_range);
	tcase_add_test(tcase, a_fork_while_a_domain_is_made);
	tcase_add_test(tcase, what_finds_no_room_is_counted);
	tcase_add_test(tcase, another_listener);
	tcase_add_test(tcase, not_attached);
	failed = run_case("annotations", tcase);
	if (!failed && geteuid()) {
		fprintf(stderr, "all but uprobes_know_ranges_by_launches passed: uprobes need root\n");
		return 77;
	}
	return failed;
}
