/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks that go through code without frame pointers: the names of tests/e2e/unwound's
 * functions and its library's, as they stand in their sources.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <gputrace/gputrace.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run.h"

#define PROGRAM TARGET_PATH

/* The stack of the one launch. */
struct seen {
	unsigned launches;	/* or calls of chain_first() */
	unsigned addresses;
	char names[64][64];	/* "-": without one */
	char why[128];		/* the last one had none */
	unsigned count;
	int end;
};

struct session {
	struct gputrace_target *target;
	struct gputrace_reader *reader;
	struct gputrace_symbolizer *symbolizer;
	struct gputrace_link *link;
	int input;		/* the program's; closed when it may end; -1 */
	bool began;		/* its agent was announced */
	bool only_launches;	/* other calls do not count */
	struct seen seen;
};

static struct session session;
static uint32_t way;		/* in which calls are recorded: GPUTRACE_API_AGENT or _UPROBES */

/* The program's standard input is a pipe that we hold the other end of. */
static void spawn(const char *const *argv)
{
	struct gputrace_spawn_opts options = { .size = sizeof(options), .device = GPUTRACE_DEVICE_SIM };
	int saved = dup(STDIN_FILENO), ends[2], r;

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(dup2(ends[0], STDIN_FILENO), 0);
	close(ends[0]);
	session.input = fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
	close(ends[1]);
	r = gputrace_target_spawn(NULL, (char *const *)(uintptr_t)argv, &options, &session.target);
	ck_assert_msg(!r, "spawn: %s", gputrace_last_error());
	ck_assert_int_ge(dup2(saved, STDIN_FILENO), 0);
	close(saved);
	ck_assert_int_eq(gputrace_symbolizer_new(NULL, &session.symbolizer), 0);
}

static void resume(void)
{
	int r = gputrace_target_resume(session.target);

	ck_assert_msg(!r, "resume: %s", gputrace_last_error());
}

static void start(const char *const *argv, const struct gputrace_api_opts *opts)
{
	int r;

	spawn(argv);
	r = gputrace_attach_api(session.target, opts, &session.link);
	ck_assert_msg(!r, "attach: %s", gputrace_last_error());
	resume();
}

static void start_reader(void)
{
	ck_assert_int_eq(gputrace_reader_new(session.target, NULL, &session.reader), 0);
	gputrace_reader_set_symbolizer(session.reader, session.symbolizer);
}

/* Without looking at what it has recorded. */
static void wait_for_its_end(void)
{
	while (!gputrace_target_has_exited(session.target, NULL)) {
		ck_assert_int_eq(gputrace_target_dispatch(session.target), 0);
		usleep(1000);
	}
}

static void let_go(void)
{
	if (session.input >= 0)
		close(session.input);
	session.input = -1;
}

static void setup_agent(void)
{
	session = (struct session){ .input = -1 };
	way = GPUTRACE_API_AGENT;
}

static void setup_uprobes(void)
{
	session = (struct session){ .input = -1 };
	way = GPUTRACE_API_UPROBES;
}

static void teardown(void)
{
	let_go();
	gputrace_reader_unref(session.reader);
	gputrace_link_unref(session.link);
	gputrace_target_unref(session.target);
	gputrace_symbolizer_unref(session.symbolizer);
}

static void take_launch(const struct gputrace_event *event)
{
	struct seen *seen = &session.seen;
	const uint64_t *stack = gputrace_event_get_stack(event, &seen->addresses);
	const struct gputrace_frame *frame;

	seen->launches++;
	seen->end = gputrace_event_get_stack_end(event);
	for (unsigned i = 0; i < seen->addresses; i++) {
		ck_assert_int_eq(gputrace_symbolizer_resolve(session.symbolizer, gputrace_event_get_pid(event),
							     gputrace_event_get_time(event), stack[i] - 1, &frame), 0);
		for (; frame && seen->count < 64; frame = gputrace_frame_get_caller(frame)) {
			const char *name = gputrace_frame_get_name(frame);

			snprintf(seen->names[seen->count++], sizeof(seen->names[0]), "%s", name ? name : "-");
			if (!name)
				snprintf(seen->why, sizeof(seen->why), "%s", gputrace_frame_get_reason(frame));
		}
	}
}

/* Until the end, or only until the program's agent is there. */
static void follow(bool to_the_end)
{
	const struct gputrace_event *event;
	int r = 1;

	while ((to_the_end || !session.began) && (r = gputrace_reader_wait(session.reader, PATIENCE_MS)) == 1) {
		while ((event = gputrace_reader_next(session.reader))) {
			int type = gputrace_event_get_type(event);

			ck_assert_int_ne(type, GPUTRACE_EVENT_LOST);
			session.began |= type == GPUTRACE_EVENT_PROCESS;
			if ((type != GPUTRACE_EVENT_CALL || session.only_launches) &&
			    (type != GPUTRACE_EVENT_API || strcmp(gputrace_event_get_name(event), "cuLaunchKernel")))
				continue;
			take_launch(event);
			let_go();
		}
	}
	ck_assert_msg(r == 1 || r == -ENODATA, "%s", r ? gputrace_last_error() : "the program did not go on");
}

static void run(const char *mode, const char *library, const struct gputrace_api_opts *opts)
{
	const char *const argv[] = { PROGRAM, mode, library, NULL };

	start(argv, opts);
	start_reader();
	follow(true);
	ck_assert_uint_eq(session.seen.launches, 1);
}

static struct gputrace_api_opts unwinding(uint32_t bytes)
{
	return (struct gputrace_api_opts){
		.size = sizeof(struct gputrace_api_opts), .flags = way, .stack_bytes = bytes,
	};
}

/* The stack begins with these names. */
static void assert_names(const char *const *names)
{
	for (unsigned i = 0; names[i]; i++) {
		ck_assert_uint_lt(i, session.seen.count);
		ck_assert_msg(!strcmp(session.seen.names[i], names[i]), "function %u is %s, not %s; nameless since %s", i,
			      session.seen.names[i], names[i], session.seen.why);
	}
}

#define CHAIN "launch", "chain_last", "chain_aligned", "chain_registers", "chain_first"

static const char *const chain[] = { CHAIN, "work", "main", NULL }, *const launch[] = { "launch", NULL };

/* Also the outermost one's. */
static void assert_complete(const char *const *names, const char *last)
{
	assert_names(names);
	ck_assert_int_eq(session.seen.end, GPUTRACE_STACK_COMPLETE);
	if (last)
		ck_assert_str_eq(session.seen.names[session.seen.count - 1], last);
}

START_TEST(every_caller_is_there)
{
	const struct gputrace_api_opts opts = unwinding(16384);

	run("chain", CHAIN_LIBRARY, &opts);
	assert_complete(chain, "_start");
}
END_TEST

/* The kernel has put an address of its own in place of where they return to. */
START_TEST(functions_whose_return_is_watched)
{
	const char *const argv[] = { PROGRAM, "chain", CHAIN_LIBRARY, NULL };
	const struct gputrace_api_opts opts = unwinding(16384);
	struct gputrace_link *functions;

	spawn(argv);
	ck_assert_int_eq(gputrace_attach_api(session.target, &opts, &session.link), 0);
	ck_assert_msg(!gputrace_attach_functions(session.target, CHAIN_LIBRARY, "chain_*", NULL, &functions), "%s",
		      gputrace_last_error());
	resume();
	start_reader();
	session.only_launches = true;
	follow(true);
	gputrace_link_unref(functions);
	ck_assert_uint_eq(session.seen.launches, 1);
	assert_complete(chain, "_start");
}
END_TEST

/* What the others would be without: the frame pointer is lost on the way. */
START_TEST(frame_pointers_alone_do_not_lead_there)
{
	const struct gputrace_api_opts opts = {
		.size = sizeof(opts), .flags = GPUTRACE_API_AGENT, .stack_frames = 127,
	};

	run("chain", CHAIN_LIBRARY, &opts);
	assert_names(launch);
	ck_assert_int_eq(session.seen.end, GPUTRACE_STACK_UNKNOWN);
	for (unsigned i = 1; i < session.seen.count; i++)
		ck_assert_str_ne(session.seen.names[i], "work");
}
END_TEST

START_TEST(of_a_thread)
{
	static const char *const names[] = { CHAIN, "work", "thread_main", NULL };
	const struct gputrace_api_opts opts = unwinding(16384);

	run("thread", CHAIN_LIBRARY, &opts);
	assert_complete(names, NULL);
}
END_TEST

/* One function has a frame pointer, and another returns right after its call, as Python's trampolines do. */
static const char *const made[] = {
	"launch", "py::forward:/made.py", "evaluate", "made_with_frame_pointer", "enter",
	"chain_last", "chain_aligned", "chain_registers", "chain_first", "work_made", "main", NULL
};

START_TEST(through_code_made_at_run_time)
{
	const struct gputrace_api_opts opts = unwinding(16384);
	char path[64];

	run("made", CHAIN_LIBRARY, &opts);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", gputrace_target_get_pid(session.target));
	ck_assert_int_eq(unlink(path), 0);
	assert_complete(made, "_start");
}
END_TEST

/*
 * Hooks find the kernel's address, and not where the function returns to: that caller is missing, which is told, and
 * those above it are there since it has a frame pointer.
 */
START_TEST(past_a_function_whose_return_is_watched)
{
	static const char *const names[] = {
		"launch", "py::forward:/made.py", "evaluate", "-", "enter",
		"chain_last", "chain_aligned", "chain_registers", "chain_first", "work_made", "main", NULL
	};
	const char *const argv[] = { PROGRAM, "made", CHAIN_LIBRARY, NULL };
	const struct gputrace_api_opts opts = unwinding(16384);
	struct gputrace_link *functions;
	char path[64];

	spawn(argv);
	ck_assert_int_eq(gputrace_attach_api(session.target, &opts, &session.link), 0);
	ck_assert_msg(!gputrace_attach_functions(session.target, "./" PROGRAM, "evaluate", NULL, &functions), "%s",
		      gputrace_last_error());
	resume();
	start_reader();
	session.only_launches = true;
	follow(true);
	gputrace_link_unref(functions);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", gputrace_target_get_pid(session.target));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(session.seen.launches, 1);
	assert_complete(names, "_start");
	ck_assert_ptr_nonnull(strstr(session.seen.why, "return is watched by a uprobe"));
}
END_TEST

/* The functions of 4 KiB that are in the copy, and then it says that there is more. */
START_TEST(deeper_than_the_copy)
{
	static const uint32_t sizes[] = { 16384, 61440 }, whole[] = { 3, 14 };
	const struct gputrace_api_opts opts = unwinding(sizes[_i]);
	struct seen *seen = &session.seen;

	run("deep", CHAIN_LIBRARY, &opts);
	assert_names(launch);
	for (unsigned i = 1; i < seen->count; i++)
		ck_assert_str_eq(seen->names[i], "deep");
	/* And the one whose caller is not in it any more. */
	ck_assert_uint_eq(seen->count, 1 + whole[_i] + 1);
	ck_assert_int_eq(seen->end, GPUTRACE_STACK_CUT);
}
END_TEST

START_TEST(more_callers_than_frames)
{
	static const char *const names[] = { "launch", "chain_last", "chain_aligned", NULL };
	struct gputrace_api_opts opts = unwinding(16384);

	opts.stack_frames = 3;
	run("chain", CHAIN_LIBRARY, &opts);
	assert_names(names);
	ck_assert_uint_eq(session.seen.addresses, 3);
	ck_assert_int_eq(session.seen.end, GPUTRACE_STACK_FULL);
}
END_TEST

/* What a process without any capability is refused, whoever its user is; nor has what it starts any. */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	ck_assert_int_eq(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT), 0);
	ck_assert_int_eq((int)syscall(SYS_capset, &header, none), 0);
}

/* Whoever may open what is mapped needs no name for it; the others are told as far as it goes. */
START_TEST(library_deleted_while_mapped)
{
	const struct gputrace_api_opts opts = unwinding(16384);
	char path[] = "/tmp/gt-unwind-XXXXXX", command[256];
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	close(fd);
	snprintf(command, sizeof(command), "cp %s %s", CHAIN_LIBRARY, path);
	ck_assert_int_eq(system(command), 0);
	if (_i && !geteuid())
		drop_capabilities();
	run("deleted", path, &opts);
	ck_assert_int_ne(access(path, F_OK), 0);
	if (!_i) {
		assert_complete(chain, "_start");
		return;
	}
	assert_names(launch);
	ck_assert_str_eq(session.seen.names[1], "-");
	ck_assert_int_eq(session.seen.end, GPUTRACE_STACK_LOST);
}
END_TEST

/* The library's file is in a place that only the program sees. */
START_TEST(in_another_mount_namespace)
{
	static const char *const argv[] = {
		"unshare", "-m", "sh", "-c",
		"mount -t tmpfs none /mnt && cp " CHAIN_LIBRARY " /mnt/far.so && exec " PROGRAM " chain /mnt/far.so",
		NULL
	};
	const struct gputrace_api_opts opts = unwinding(16384);

	start(argv, &opts);
	start_reader();
	follow(true);
	ck_assert_uint_eq(session.seen.launches, 1);
	assert_complete(chain, "_start");
}
END_TEST

/* The program has ended before its call is taken in, but the reader saw it before. */
START_TEST(of_a_process_that_has_gone)
{
	static const char *const argv[] = { PROGRAM, "brief", CHAIN_LIBRARY, NULL };
	const struct gputrace_api_opts opts = unwinding(16384);

	start(argv, &opts);
	start_reader();
	follow(false);
	let_go();
	wait_for_its_end();
	follow(true);
	ck_assert_uint_eq(session.seen.launches, 1);
	assert_complete(chain, "_start");
}
END_TEST

/* Its trampolines lie in memory that was not seen, and are like one that was. */
START_TEST(through_python_in_a_process_that_has_gone)
{
	static const char *const argv[] = { PROGRAM, "later", CHAIN_LIBRARY, NULL };
	const struct gputrace_api_opts opts = unwinding(16384);
	char path[64];

	start(argv, &opts);
	start_reader();
	follow(false);
	let_go();
	wait_for_its_end();
	follow(true);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", gputrace_target_get_pid(session.target));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(session.seen.launches, 1);
	assert_complete(made, "_start");
}
END_TEST

/* Nobody has ever looked at it: the caller's address is all that there is. */
START_TEST(of_a_process_that_was_never_seen)
{
	static const char *const argv[] = { PROGRAM, "brief", CHAIN_LIBRARY, NULL };
	const struct gputrace_api_opts opts = unwinding(16384);

	start(argv, &opts);
	let_go();
	wait_for_its_end();
	start_reader();
	follow(true);
	ck_assert_uint_eq(session.seen.launches, 1);
	ck_assert_uint_eq(session.seen.addresses, 1);
	ck_assert_int_eq(session.seen.end, GPUTRACE_STACK_LOST);
}
END_TEST

START_TEST(of_any_function)
{
	static const char *const argv[] = { PROGRAM, "chain", CHAIN_LIBRARY, NULL }, *const callers[] = { "work", "main", NULL };
	const struct gputrace_functions_opts opts = { .size = sizeof(opts), .stack_bytes = 16384 };
	int r;

	spawn(argv);
	r = gputrace_attach_functions(session.target, CHAIN_LIBRARY, "chain_first", &opts, &session.link);
	ck_assert_msg(!r, "attach: %s", gputrace_last_error());
	resume();
	start_reader();
	follow(true);
	ck_assert_uint_eq(session.seen.launches, 1);
	assert_complete(callers, "_start");
}
END_TEST

START_TEST(options_that_make_no_sense)
{
	static const struct { uint32_t bytes, frames; uint64_t ring; const char *why; } wrong[] = {
		{ 12, 0, 0, "12 bytes of the stack: give a multiple of 8, at most 61440" },
		{ 61448, 0, 0, "61448 bytes of the stack: give a multiple of 8, at most 61440" },
		{ 8192, 1025, 0, "1025 frames of the stack: at most 1024 can be taken" },
		{ 8192, 0, 65536, "ring_bytes is 65536: give a power of two from 1048576 to 2^30" },
	};
	static const char *const argv[] = { PROGRAM, NULL };
	struct gputrace_link *link = NULL;

	spawn(argv);
	for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct gputrace_api_opts bad = unwinding(wrong[i].bytes);

		bad.stack_frames = wrong[i].frames;
		bad.ring_bytes = wrong[i].ring;
		ck_assert_int_eq(gputrace_attach_api(session.target, &bad, &link), -EINVAL);
		ck_assert_str_eq(gputrace_last_error(), wrong[i].why);
	}
	ck_assert_ptr_null(link);
}
END_TEST

/* What is the same in both ways. */
static TCase *common_tests(const char *name, void (*setup)(void))
{
	TCase *tcase = tcase_create(name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, every_caller_is_there);
	tcase_add_test(tcase, of_a_thread);
	tcase_add_test(tcase, through_code_made_at_run_time);
	tcase_add_loop_test(tcase, deeper_than_the_copy, 0, 2);
	tcase_add_test(tcase, more_callers_than_frames);
	tcase_add_test(tcase, of_a_process_that_has_gone);
	tcase_add_test(tcase, through_python_in_a_process_that_has_gone);
	tcase_add_test(tcase, of_a_process_that_was_never_seen);
	return tcase;
}

int main(void)
{
	TCase *agent = common_tests("agent", setup_agent), *uprobes;
	Suite *suite = suite_create("unwind");

	setenv("GPUTRACE_SIM_DIR", UNWATCHED, 1);
	tcase_add_test(agent, frame_pointers_alone_do_not_lead_there);
	/* As root with capabilities, and without. */
	tcase_add_loop_test(agent, library_deleted_while_mapped, geteuid() ? 1 : 0, 2);
	tcase_add_test(agent, options_that_make_no_sense);
	suite_add_tcase(suite, agent);
	if (!geteuid()) {
		tcase_add_test(agent, past_a_function_whose_return_is_watched);
		uprobes = common_tests("uprobes", setup_uprobes);
		tcase_add_test(uprobes, of_any_function);
		tcase_add_test(uprobes, functions_whose_return_is_watched);
		tcase_add_test(uprobes, in_another_mount_namespace);
		suite_add_tcase(suite, uprobes);
	}
	return run_suite(suite);
}
