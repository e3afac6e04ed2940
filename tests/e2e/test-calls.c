/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Driver calls as the agent's hooks record them, beside uprobes and without
 * privileges.  With GPUTRACE_TEST_DEVICE=gpu on a GPU.
 */
#include <check.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "both.h"

static const uint32_t by_agent[] = { GPUTRACE_API_AGENT, 0 };
static const uint32_t by_both[] = { GPUTRACE_API_AGENT, GPUTRACE_API_UPROBES, 0 };
static const uint32_t by_any[] = { RUN_API_ANY, 0 };

static struct run_options recording(const uint32_t *flags)
{
	return (struct run_options){ .timeline = true, .api = true, .api_flags = flags, .real_device = real_device };
}

/* What a process without any capability is refused, whoever its user is. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	ck_assert_int_eq((int)syscall(SYS_capset, &header, none), 0);
}

static unsigned count_calls(const char *name)
{
	unsigned count = 0;

	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++)
		count += !strcmp(run.calls[i].name, name);
	return count;
}

START_TEST(without_privileges)
{
	struct run_options options = recording(by_any);

	drop_capabilities();
	run_plain(&plain, real_device, "vecadd", "32", NULL);
	run_target(&run, &options, "vecadd", "32", NULL);
	assert_same_output();
	ck_assert_ptr_nonnull(strstr(run.notes, "by the agent's hooks instead of uprobes: not allowed"));
	ck_assert_uint_eq(count_calls("cuLaunchKernel"), 32);
	ck_assert_uint_eq(count_calls("cuModuleLoadData"), 1);
	ck_assert_uint_eq(count_calls("cuMemAlloc_v2"), 6);
	ck_assert_uint_eq(count_calls("cuMemcpyHtoD_v2"), 4);
	ck_assert_uint_eq(count_calls("cuMemcpyDtoH_v2"), 2);
	ck_assert_uint_eq(count_calls("cuStreamSynchronize"), 2);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_KERNEL], 32);
	ck_assert_uint_eq(run.lost, 0);
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++)
		ck_assert(strcmp(run.calls[i].name, "cuLaunchKernel") || run.calls[i].launch_id);
}
END_TEST

/* vecadd 4: 391, 391, 4 and 4 blocks of 256 threads, alternating streams. */
START_TEST(arguments_are_what_was_passed)
{
	static const unsigned blocks[] = { 391, 391, 4, 4 };
	struct run_options options = recording(by_agent);
	uint64_t streams[2] = { 0 };
	unsigned n = 0;

	run_target(&run, &options, "vecadd", "4", NULL);
	ck_assert_str_eq(run.notes, "");
	for (unsigned i = 0; i < run.events[GPUTRACE_EVENT_API]; i++) {
		const struct run_event *call = &run.calls[i];

		ck_assert_int_eq(call->result, 0);
		ck_assert_uint_le(call->time, call->end);
		ck_assert_int_eq(call->tid, call->pid);
		if (strcmp(call->name, "cuLaunchKernel"))
			continue;
		ck_assert_uint_eq(call->arg_count, 11);
		ck_assert_uint_eq(call->args[1], blocks[n]);
		ck_assert_uint_eq(call->args[2], 1);
		ck_assert_uint_eq(call->args[4], 256);
		ck_assert_uint_eq(call->args[7], 0);
		if (n < 2)
			streams[n] = call->args[8];
		ck_assert_uint_eq(call->args[8], streams[n & 1]);
		ck_assert_uint_eq(call->args[10], 0);
		n++;
	}
	ck_assert_uint_eq(n, 4);
	ck_assert_uint_ne(streams[0], streams[1]);
}
END_TEST

static int by_thread_and_end(const void *left, const void *right)
{
	const struct run_event *a = left, *b = right;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->end > b->end) - (a->end < b->end);
}

/*
 * The program has frame pointers, so its own functions are there: the caller, and at
 * least one more.  How far it goes on in the C library, which has none, may differ.
 * While the kernel watches the same call, its own address stands for the caller's.
 */
static void assert_same_stack(const struct run_event *hook, const struct run_event *uprobe)
{
	unsigned count = hook->stack_count < uprobe->stack_count ? hook->stack_count : uprobe->stack_count;

	ck_assert_uint_ge(count, 2);
	ck_assert_mem_eq(hook->stack + 1, uprobe->stack + 1, (count - 1) * sizeof(hook->stack[0]));
}

/*
 * Both ways at once in one run: each call is there twice, all the same, and within
 * the uprobes' time of it lies the hooks'.  The cuInit that loads the agent alone
 * is seen by uprobes only.
 */
START_TEST(hooks_and_uprobes_say_the_same)
{
	static const char *const programs[][2] = {
		{ "vecadd", "32" }, { "graph", "3" }, { "threads", "50" }, { "reload", "4" }, { "buffer", NULL },
		{ "contexts", NULL },
	};
	struct run_options options = recording(by_both);
	unsigned count, missed = 0;

	options.stack_frames = 8;
	run_plain(&plain, real_device, programs[_i][0], programs[_i][1], NULL);
	run_target(&run, &options, programs[_i][0], programs[_i][1], NULL);
	assert_same_output();
	ck_assert_uint_eq(run.lost, 0);
	count = run.events[GPUTRACE_EVENT_API];
	ck_assert_uint_le(count, RUN_KEPT);
	qsort(run.calls, count, sizeof(run.calls[0]), by_thread_and_end);
	for (unsigned i = 0; i < count; i += 2) {
		const struct run_event *hook = &run.calls[i], *uprobe = hook + 1;

		if (!strcmp(hook->name, "cuInit") && !missed++) {
			i--;
			continue;
		}
		ck_assert_uint_lt(i + 1, count);
		ck_assert_str_eq(hook->name, uprobe->name);
		ck_assert_int_eq(hook->tid, uprobe->tid);
		ck_assert_int_eq(hook->result, uprobe->result);
		ck_assert_uint_eq(hook->launch_id, uprobe->launch_id);
		ck_assert_uint_eq(hook->arg_count, uprobe->arg_count);
		ck_assert_mem_eq(hook->args, uprobe->args, sizeof(hook->args));
		assert_same_stack(hook, uprobe);
		ck_assert_uint_le(uprobe->time, hook->time);
		ck_assert_uint_le(hook->end, uprobe->end);
	}
	ck_assert_uint_eq(missed, 1);
	ck_assert_uint_eq(count % 2, 1);
	ck_assert_uint_gt(count, 10);
}
END_TEST

/* As many calls as with room for all: delivered or counted. */
START_TEST(what_finds_no_room_is_counted)
{
	struct run_options options = recording(by_agent);
	uint64_t all;

	run_target(&run, &options, "threads", "400", NULL);
	ck_assert_uint_eq(run.lost, 0);
	ck_assert_uint_eq(count_calls("cuLaunchKernel"), 1600);
	all = run.events[GPUTRACE_EVENT_API];
	run_free(&run);
	options.api_ring_bytes = 4096;
	run.watch = run_watch_late;
	run_target(&run, &options, "threads", "400", NULL);
	ck_assert_uint_gt(run.lost_of_threads, 0);
	ck_assert_uint_eq(run.events[GPUTRACE_EVENT_API] + run.lost_of_threads, all);
}
END_TEST

/* A program that forks before it uses CUDA, and one that closes descriptors, which the real driver does not survive. */
START_TEST(programs_with_rough_ways)
{
	static const char *const modes[] = { "fork", "leave", "descriptors", "clone" };
	struct run_options options = recording(by_agent);

	run_plain(&plain, real_device, modes[_i], "_exit", NULL);
	run_target(&run, &options, modes[_i], "_exit", NULL);
	assert_same_output();
	if (!strcmp(modes[_i], "fork"))
		ck_assert_uint_eq(count_calls("cuLaunchKernel"), 2);
}
END_TEST

START_TEST(options_that_make_no_sense)
{
	char *const argv[] = { (char *)(uintptr_t)TARGET_PATH, NULL };
	struct gputrace_spawn_opts spawn = {
		.size = sizeof(spawn), .device = real_device ? GPUTRACE_DEVICE_REAL : GPUTRACE_DEVICE_SIM,
	};
	struct gputrace_api_opts both = { .size = sizeof(both), .flags = GPUTRACE_API_AGENT | GPUTRACE_API_UPROBES };
	struct gputrace_api_opts unknown = { .size = sizeof(unknown), .flags = 1u << 31 };
	struct gputrace_api_opts ring = { .size = sizeof(ring), .flags = GPUTRACE_API_AGENT, .ring_bytes = 5000 };
	struct gputrace_api_opts deep = { .size = sizeof(deep), .flags = GPUTRACE_API_AGENT, .stack_frames = 128 };
	struct gputrace_api_opts late = { .size = sizeof(late), .flags = GPUTRACE_API_AGENT };
	struct gputrace_target *target;
	struct gputrace_link *link = NULL;

	ck_assert_int_eq(gputrace_target_spawn(NULL, argv, &spawn, &target), 0);
	ck_assert_int_eq(gputrace_attach_api(target, &both, &link), -EINVAL);
	ck_assert_int_eq(gputrace_attach_api(target, &unknown, &link), -EINVAL);
	ck_assert_int_eq(gputrace_attach_api(target, &ring, &link), -EINVAL);
	ck_assert_int_eq(gputrace_attach_api(target, &deep, &link), -EINVAL);
	ck_assert_int_eq(gputrace_target_resume(target), 0);
	ck_assert_int_eq(gputrace_attach_api(target, &late, &link), -EBUSY);
	ck_assert_ptr_null(link);
	gputrace_target_unref(target);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("driver calls");
	int failed;

	real_device = run_wants_real_device();
	tcase_add_checked_fixture(tcase, NULL, free_both);
	tcase_add_test(tcase, without_privileges);
	tcase_add_test(tcase, arguments_are_what_was_passed);
	tcase_add_test(tcase, what_finds_no_room_is_counted);
	tcase_add_loop_test(tcase, programs_with_rough_ways, 0, real_device ? 2 : 4);
	tcase_add_test(tcase, options_that_make_no_sense);
	if (!geteuid())
		tcase_add_loop_test(tcase, hooks_and_uprobes_say_the_same, 0, 6);
	failed = run_case("driver calls", tcase);
	if (!failed && geteuid()) {
		fprintf(stderr, "all but hooks_and_uprobes_say_the_same passed: uprobes need root\n");
		return 77;
	}
	return failed;
}
