/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks of events made by hand. */
#include <check.h>
#include <errno.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/export/fold_launches.h"
#include "lib/export/stack_tree.h"
#include "lib/reader/event.h"
#include "tests/suite.h"

#define SYMBOLIZER ((struct gputrace_symbolizer *)16)	/* stand-ins.c has no need of one */

static char path[] = "/tmp/gputrace-fold-XXXXXX", text[65536];
static struct gputrace_writer *writer;

static void set_up(void)
{
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_int_eq(gputrace_writer_open(NULL, path, GPUTRACE_FORMAT_FOLDED_STACKS, &writer), 0);
}

static void tear_down(void)
{
	unlink(path);
}

static void add(struct gputrace_event event)
{
	ck_assert_int_eq(gputrace_writer_add(writer, &event), 0);
}

static void finish(void)
{
	FILE *f;

	ck_assert_int_eq(gputrace_writer_close(writer), 0);
	f = fopen(path, "r");
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
}

/* The lines come in no promised order. */
static void has_line(const char *line)
{
	const char *found = strstr(text, line);
	size_t length = strlen(line);

	ck_assert_msg(found && (found == text || found[-1] == '\n') && found[length] == '\n', "no '%s' in:\n%s", line,
		      text);
}

static void has_lines(unsigned count)
{
	unsigned n = 0;

	for (const char *c = text; *c; c++)
		n += *c == '\n';
	ck_assert_msg(n == count, "%u lines:\n%s", n, text);
}

/* Stacks hold return addresses, one behind what is to be named. */
static const uint64_t deep[] = { 0x2001, 0x3001, 0x1001 }, flat[] = { 0x1001 };

static struct gputrace_event call(uint64_t launch, const char *name, uint64_t time, uint64_t end)
{
	return (struct gputrace_event){ .type = GPUTRACE_EVENT_API, .pid = 7, .tid = 8, .command = "train", .time = time,
		.end = end, .name = name, .launch_id = launch, .stack = deep, .stack_count = 3 };
}

static struct gputrace_event kernel(uint64_t launch, const char *name, uint64_t ns)
{
	return (struct gputrace_event){ .type = GPUTRACE_EVENT_KERNEL, .pid = 7, .name = name, .launch_id = launch,
		.gpu_start = 5000, .gpu_end = 5000 + ns };
}

#define STACK "train;main;libfoo.so+0x123;outer(int: char);middle;inner"

START_TEST(stacks_are_summed)
{
	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	add(call(0, "cuMemAlloc_v2", 1000, 1100));
	add(call(0, "cuMemAlloc_v2", 2000, 2250));
	add(call(0, "cuMemFree_v2", 3000, 3001));
	finish();
	has_lines(2);
	has_line(STACK ";cuMemAlloc_v2 350");
	has_line(STACK ";cuMemFree_v2 1");
}
END_TEST

/* A frame that is not in code, and what seems to have called it, are none. */
START_TEST(lost_stacks)
{
	static const uint64_t lost[] = { 0x2001, 0x5001, 0x1001 }, strange[] = { 0x5001, 0x1001 };
	struct gputrace_event event = call(0, "cuInit", 1000, 1001);

	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	event.stack = lost;
	add(event);
	event = call(0, "cuInit", 2000, 2001);
	event.stack = strange;
	event.stack_count = 2;
	add(event);
	finish();
	has_lines(2);
	has_line("train;[unknown];outer(int: char);middle;inner;cuInit 1");
	has_line("train;main;0x5000;cuInit 1");
}
END_TEST

/* What is known to have more callers does not begin where the thread does. */
START_TEST(stacks_that_go_on)
{
	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	for (int end = GPUTRACE_STACK_UNKNOWN; end <= GPUTRACE_STACK_LOST; end++) {
		uint64_t time = 1000 * (uint64_t)(end + 1);
		struct gputrace_event event = call(0, "cuInit", time, time + 1 + 10 * (uint64_t)end);

		event.stack = flat;
		event.stack_count = 1;
		event.stack_end = end;
		add(event);
	}
	finish();
	has_lines(3);
	has_line("train;main;cuInit 12");
	has_line("train;[cut off];main;cuInit 52");
	has_line("train;[unknown];main;cuInit 41");
}
END_TEST

START_TEST(without_a_symbolizer)
{
	struct gputrace_event event = call(0, "cuInit", 1000, 1001);

	event.command[0] = '\0';
	event.stack = flat;
	event.stack_count = 1;
	add(event);
	finish();
	has_line("process 7;0x1001;cuInit 1");
}
END_TEST

/* A kernel may end before the call that launched it does; of a graph there are many. */
START_TEST(kernels_are_below_their_launches)
{
	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	add(kernel(4096, "early", 30));
	add(call(4096, "cuLaunchKernel", 1000, 1010));
	add(call(8192, "cuLaunchKernel", 2000, 2010));
	add(kernel(8192, "late;x", 50));
	add(kernel(8192, "late;x", 50));
	add(kernel(99, "orphan", 70));
	add(kernel(0, "stranger", 90));
	finish();
	has_lines(5);
	has_line(STACK ";cuLaunchKernel 20");
	has_line(STACK ";cuLaunchKernel;early [GPU] 30");
	has_line(STACK ";cuLaunchKernel;late:x [GPU] 100");
	has_line("process 7;orphan [GPU] 70");
	has_line("process 7;stranger [GPU] 90");
}
END_TEST

/* Ids are made so: they count in their upper bits, and the lower ones are of the thread. */
static uint64_t launch_of(unsigned thread, uint64_t number)
{
	return number << 12 | thread;
}

/* All are launched before the first runs, by threads that are far ahead of each other. */
/* One of which it is not known when it ran took nobody knows how long. */
START_TEST(copies_are_below_their_calls)
{
	struct gputrace_event copy = kernel(1 << 12, "memcpy HtoD", 77), untimed = kernel(2 << 12, "memset", 0);

	copy.type = untimed.type = GPUTRACE_EVENT_COPY;
	untimed.time_error = UINT64_MAX;
	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	add(call(1 << 12, "cuMemcpyHtoDAsync_v2", 1000, 1010));
	add(copy);
	add(call(2 << 12, "cuMemsetD8Async", 2000, 2003));
	add(untimed);
	finish();
	has_lines(3);
	has_line(STACK ";cuMemcpyHtoDAsync_v2 10");
	has_line(STACK ";cuMemcpyHtoDAsync_v2;memcpy HtoD [GPU] 77");
	has_line(STACK ";cuMemsetD8Async 3");
}
END_TEST

START_TEST(many_launches_at_once)
{
	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	for (uint64_t i = 1; i <= 300; i++)
		add(call(launch_of(0, i), "cuLaunchKernel", 1000 * i, 1000 * i + 1));
	for (uint64_t i = 1; i <= 20000; i++)
		add(call(launch_of(i % 7, 1000 + i * 17), "cuGraphLaunch", 1000000 + 1000 * i, 1000000 + 1000 * i + 1));
	for (uint64_t i = 1; i <= 300; i++)
		add(kernel(launch_of(0, i), "tiny", i));
	for (uint64_t i = 1; i <= 20000; i++)
		add(kernel(launch_of(i % 7, 1000 + i * 17), "node", 2));
	finish();
	has_lines(4);
	has_line(STACK ";cuLaunchKernel 300");
	has_line(STACK ";cuLaunchKernel;tiny [GPU] 45150");
	has_line(STACK ";cuGraphLaunch 20000");
	has_line(STACK ";cuGraphLaunch;node [GPU] 40000");
}
END_TEST

/* Only so many are kept; the kernels of older ones are not lost. */
START_TEST(launches_of_long_ago)
{
	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	add(kernel(launch_of(0, 1), "early", 7));
	for (uint64_t i = 2; i <= 2 + GT_FOLD_LAUNCHES_KEPT; i++)
		add(call(launch_of(0, i), "cuLaunchKernel", 10 * i, 10 * i + 1));
	for (uint64_t i = 2; i <= 2 + GT_FOLD_LAUNCHES_KEPT; i++)
		add(kernel(launch_of(0, i), "tiny", 1));
	finish();
	has_lines(4);
	has_line("process 7;early [GPU] 7");
	has_line("process 7;tiny [GPU] 1");
	has_line(STACK ";cuLaunchKernel 65537");
	has_line(STACK ";cuLaunchKernel;tiny [GPU] 65536");
}
END_TEST

/* Where no call says who made it, the process has. */
START_TEST(processes_have_names)
{
	struct gputrace_event process = { .type = GPUTRACE_EVENT_PROCESS, .pid = 7, .name = "vecadd" };
	struct gputrace_event event = call(0, "cuInit", 1000, 1001);

	event.stack_count = 0;
	event.command[0] = '\0';
	add(process);
	add(event);
	add(kernel(0, "tiny", 5));
	event.command[0] = 'w';
	event.time += 100;
	event.end += 102;
	add(event);
	event = kernel(0, "tiny", 6);
	event.pid = 9;
	add(event);
	process.name = "next";
	add(process);
	add(kernel(0, "tiny", 8));
	finish();
	has_lines(5);
	has_line("vecadd;cuInit 1");
	has_line("vecadd;tiny [GPU] 5");
	has_line("wrain;cuInit 3");
	has_line("process 9;tiny [GPU] 6");
	has_line("next;tiny [GPU] 8");
}
END_TEST

/* Calls within a call are counted once: 1000 - 100 - 200, where the first has 40 of its own. */
START_TEST(calls_within_calls)
{
	struct gputrace_event outer = call(0, "ncclAllReduce", 2000, 3000), other = call(0, "cuInit", 2000, 2600);

	gputrace_writer_set_symbolizer(writer, SYMBOLIZER);
	outer.type = GPUTRACE_EVENT_CALL;
	other.tid = 9;
	add(call(0, "cuBefore", 1000, 1010));
	add(call(0, "cuInner", 2110, 2170));
	add(call(0, "cuOuter", 2100, 2200));
	add(other);
	add(call(0, "cuSecond", 2300, 2500));
	add(outer);
	finish();
	has_lines(6);
	has_line(STACK ";ncclAllReduce 700");
	has_line(STACK ";cuOuter 40");
	has_line(STACK ";cuInner 60");
	has_line(STACK ";cuSecond 200");
	has_line(STACK ";cuBefore 10");
	has_line(STACK ";cuInit 600");
}
END_TEST

/* More of them than are kept apart. */
START_TEST(many_calls_within_one)
{
	for (uint64_t i = 0; i < 1000; i++)
		add(call(0, "cuInner", 10000 + i * 10, 10005 + i * 10));
	add(call(0, "cuOuter", 9000, 21000));
	finish();
	ck_assert_ptr_nonnull(strstr(text, ";cuOuter 7000\n"));
	ck_assert_ptr_nonnull(strstr(text, ";cuInner 5000\n"));
}
END_TEST

START_TEST(hostile_names)
{
	struct gputrace_event event = call(0, "a;b\nc\x1b[2J d", 1000, 1001);

	event.stack_count = 0;
	add(event);
	event.name = NULL;
	event.end = 500;
	add(event);
	finish();
	has_lines(1);
	has_line("train;a:b?c?[2J d 1");
}
END_TEST

/* The table grows under many names, and each keeps its sum. */
START_TEST(many_names)
{
	struct gt_stack_tree *tree = gt_stack_tree_new();
	struct gt_stack_node *first = NULL;
	char name[16];

	for (unsigned i = 0; i < 10000; i++) {
		struct gt_stack_node *node;

		snprintf(name, sizeof(name), "n%u", i);
		node = gt_stack_tree_below(tree, NULL, name);
		ck_assert_ptr_ne(node, first);
		if (!first)
			first = node;
	}
	ck_assert_ptr_eq(gt_stack_tree_below(tree, NULL, "n0"), first);
	ck_assert_ptr_ne(gt_stack_tree_below(tree, first, "n0"), first);
	gt_stack_tree_free(tree);
	finish();
	has_lines(0);
}
END_TEST

/* What is there still counts by itself, everything new together. */
START_TEST(too_many_names)
{
	struct gt_stack_tree *tree = gt_stack_tree_new();
	struct gt_stack_node *first = gt_stack_tree_below(tree, NULL, "first"), *more;
	static char long_name[65536];
	char name[16];

	for (unsigned i = 1; i < GT_STACK_NODES_MAX; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		ck_assert_ptr_nonnull(gt_stack_tree_below(tree, NULL, name));
	}
	more = gt_stack_tree_below(tree, first, "one more");
	ck_assert_ptr_eq(gt_stack_tree_below(tree, NULL, GT_STACK_NODES_MORE), more);
	ck_assert_ptr_eq(gt_stack_tree_below(tree, more, "and one"), more);
	ck_assert_ptr_eq(gt_stack_tree_below(tree, NULL, "first"), first);
	gt_stack_tree_free(tree);

	tree = gt_stack_tree_new();
	memset(long_name, 'x', sizeof(long_name) - 1);
	for (unsigned i = 0; i < 5000; i++) {
		memcpy(long_name, name, (size_t)snprintf(name, sizeof(name), "n%u", i));
		more = gt_stack_tree_below(tree, NULL, long_name);
	}
	ck_assert_ptr_eq(gt_stack_tree_below(tree, NULL, GT_STACK_NODES_MORE), more);
	gt_stack_tree_free(tree);
	finish();
}
END_TEST

START_TEST(full_disk)
{
	struct gputrace_writer *full;
	struct gputrace_event event = call(0, "cuInit", 1, 2);

	ck_assert_int_eq(gputrace_writer_open(NULL, "/dev/full", GPUTRACE_FORMAT_FOLDED_STACKS, &full), 0);
	ck_assert_int_eq(gputrace_writer_add(full, &event), 0);
	ck_assert_int_eq(gputrace_writer_close(full), -ENOSPC);
	ck_assert_int_eq(gputrace_writer_open(NULL, path, 2, &full), -EINVAL);
	finish();
}
END_TEST

int main(void)
{
	TCase *group = tcase_create("folded stacks");

	tcase_add_checked_fixture(group, set_up, tear_down);
	tcase_add_test(group, stacks_are_summed);
	tcase_add_test(group, lost_stacks);
	tcase_add_test(group, stacks_that_go_on);
	tcase_add_test(group, without_a_symbolizer);
	tcase_add_test(group, kernels_are_below_their_launches);
	tcase_add_test(group, copies_are_below_their_calls);
	tcase_add_test(group, many_launches_at_once);
	tcase_add_test(group, launches_of_long_ago);
	tcase_add_test(group, processes_have_names);
	tcase_add_test(group, calls_within_calls);
	tcase_add_test(group, many_calls_within_one);
	tcase_add_test(group, hostile_names);
	tcase_add_test(group, many_names);
	tcase_add_test(group, too_many_names);
	tcase_add_test(group, full_disk);
	return run_case("folded stacks", group);
}
