/* SPDX-License-Identifier: Apache-2.0 */
/* Functions watched by a pattern of their names: of a library, and of this program itself. */
#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "lib/uprobe/find_library.h"
#include "lib/util/error.h"
#include "tests/suite.h"

static struct fake fake;

/* Not exported: only the symbol table has their names. */
static __attribute__((noinline)) uint64_t ncclLikeSum(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
						      uint64_t e, uint64_t f)
{
	__asm__ volatile("");
	return a + b + c + d + e + f;
}

static __attribute__((noinline)) uint64_t ncclLikeNot(uint64_t a)
{
	__asm__ volatile("");
	return ~a;
}

/* What the compiler knows of a call it may use to make the function another one. */
static uint64_t (*volatile call_sum)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) = ncclLikeSum;
static uint64_t (*volatile call_not)(uint64_t) = ncclLikeNot;

static void call_own(int go, int ready)
{
	(void)ready;
	wait_go(go);
	if (call_sum(1ull << 40, 2, 3, 4, 5, 6) != (1ull << 40) + 20 || call_not(7) != ~7ull)
		_exit(10);
}

static void call_fake(int go, int ready)
{
	uint64_t dptr;

	fake_open(&fake);
	tell(ready);
	wait_go(go);
	fake.cuMemAlloc_v2(&dptr, 3);
	fake.cuMemFree_v2(4);
	fake.cuGraphLaunch(NULL, NULL);
}

/* Their names are the trace's, so they are looked at while it is there. */
static void keep_named(void *calls, const struct gt_api_call *call)
{
	ck_assert_ptr_nonnull(call->name);
	calls_add(calls, call);
}

static struct gt_api_trace *open_pattern(pid_t pid, const char *library, const char *pattern)
{
	struct gt_api_trace_opts opts = { .library = library, .pattern = pattern, .pid = pid,
					  .ring_bytes = 1 << 16, .notes = &fake_notes };
	struct gt_api_trace *trace;

	ck_assert_msg(gt_api_trace_open(&opts, &trace) == 0, "%s", gt_error_text());
	return trace;
}

START_TEST(test_own_program)
{
	struct child child = child_start(call_own);
	struct gt_api_trace *trace = open_pattern(child.pid, "/proc/self/exe", "ncclLike???");
	struct calls calls = { 0 };
	static const uint64_t sum_args[] = { 1ull << 40, 2, 3, 4, 5, 6 };

	ck_assert_uint_eq(gt_api_trace_watched(trace), 2);
	child_go(&child);
	child_end(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, keep_named, &calls), 2);
	ck_assert_str_eq(calls.list[0].name, "ncclLikeSum");
	ck_assert_uint_eq(calls.list[0].value, (1ull << 40) + 20);
	ck_assert_uint_eq(calls.list[0].arg_count, 6);
	for (int i = 0; i < 6; i++)
		ck_assert_uint_eq(calls.list[0].args[i], sum_args[i]);
	ck_assert_str_eq(calls.list[1].name, "ncclLikeNot");
	ck_assert_uint_eq(calls.list[1].value, ~7ull);
	ck_assert_uint_eq(calls.list[1].args[0], 7);
	ck_assert_uint_eq(calls.list[1].pid, child.pid);
	ck_assert_uint_le(calls.list[1].enter, calls.list[1].leave);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* The kernel puts no breakpoint before a prefix such as this one's. */
uint64_t ncclLikeLocked(uint64_t a);
__asm__(".text\n"
	".type ncclLikeLocked, @function\n"
	"ncclLikeLocked:\n"
	"	lock orl $0, (%rsp)\n"
	"	mov %rdi, %rax\n"
	"	ret\n"
	".size ncclLikeLocked, . - ncclLikeLocked\n");

/* One that cannot be watched keeps none of the others from being watched, and is spoken of. */
START_TEST(test_locked)
{
	struct gt_api_trace_opts opts = { .library = "/proc/self/exe", .pattern = "ncclLike*",
					  .ring_bytes = 1 << 16, .flags = _i ? GT_API_TRACE_SINGLE : 0,
					  .notes = &fake_notes };
	struct child child = child_start(call_own);
	char *note;
	struct calls calls = { 0 };
	struct gt_api_trace *trace;

	opts.pid = child.pid;
	ck_assert_uint_eq(ncclLikeLocked(5), 5);
	ck_assert_msg(gt_api_trace_open(&opts, &trace) == 0, "%s", gt_error_text());
	ck_assert_uint_eq(gt_api_trace_watched(trace), 2);
	note = gt_notes_take(&fake_notes);
	ck_assert_ptr_nonnull(strstr(note, "1 of the functions begin with an instruction that the kernel cannot replace"));
	free(note);
	ck_assert_ptr_null(gt_notes_take(&fake_notes));
	child_go(&child);
	child_end(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, keep_named, &calls), 2);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

START_TEST(test_library)
{
	struct child child = child_start(call_fake);
	struct gt_api_trace *trace;
	struct calls calls = { 0 };

	child_wait_ready(&child);
	trace = open_pattern(child.pid, FAKECUDA, "cuMem*_v?");
	/* Alloc, Free (and not its second name), MemsetD8, HtoD, HtoDAsync. */
	ck_assert_uint_eq(gt_api_trace_watched(trace), 5);
	child_go(&child);
	child_end(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, keep_named, &calls), 2);
	ck_assert_str_eq(calls.list[0].name, "cuMemAlloc_v2");
	ck_assert_uint_eq(calls.list[0].args[1], 3);
	ck_assert_str_eq(calls.list[1].name, "cuMemFree_v2");
	ck_assert_int_eq(calls.list[1].result, -4);
	gt_api_trace_close(trace);
	calls_clear(&calls);
}
END_TEST

/* A library that the loader cannot find is found where a process has it. */
START_TEST(test_by_name)
{
	struct child child = child_start(call_fake);
	char *path = NULL;

	ck_assert_int_eq(gt_find_library("fakecuda-functions.so", 0, &path), -ENOENT);
	child_wait_ready(&child);
	ck_assert_int_eq(gt_find_library("fakecuda-functions.so", child.pid, &path), 0);
	gt_api_trace_close(open_pattern(child.pid, path, "cuMemAlloc_v2"));
	free(path);
	ck_assert_int_eq(gt_find_library("fakecuda-functions.so", -1, &path), 0);
	free(path);
	ck_assert_int_eq(gt_find_library("fakecuda", child.pid, &path), -ENOENT);
	child_go(&child);
	child_end(&child);
}
END_TEST

/* Deleted, it is still what the process has mapped. */
START_TEST(test_deleted_library)
{
	char copy[] = "/tmp/gt-functions-XXXXXX", command[512], *path = NULL;
	const char *name;
	struct calls calls = { 0 };
	struct gt_api_trace *trace;
	struct child child;

	close(mkstemp(copy));
	snprintf(command, sizeof(command), "cp %s %s", FAKECUDA, copy);
	ck_assert_int_eq(system(command), 0);
	setenv("GT_TEST_FAKECUDA", copy, 1);
	child = child_start(call_fake);
	child_wait_ready(&child);
	ck_assert_int_eq(unlink(copy), 0);
	name = strrchr(copy, '/') + 1;
	ck_assert_msg(gt_find_library(name, child.pid, &path) == 0, "%s", gt_error_text());
	trace = open_pattern(child.pid, path, "cuMemAlloc_v2");
	child_go(&child);
	child_end(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, keep_named, &calls), 1);
	gt_api_trace_close(trace);
	calls_clear(&calls);
	free(path);
}
END_TEST

/* As in a container: a file system of its own, where the library has a path that leads nowhere from here. */
static void call_inside(int go, int ready)
{
	char command[512];

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", "/mnt", "tmpfs", 0, NULL))
		_exit(77);
	snprintf(command, sizeof(command), "cp %s /mnt/inside.so", FAKECUDA);
	if (system(command))
		_exit(11);
	setenv("GT_TEST_FAKECUDA", "/mnt/inside.so", 1);
	call_fake(go, ready);
}

START_TEST(test_mount_namespace)
{
	struct child child = child_start(call_inside);
	struct calls calls = { 0 };
	struct gt_api_trace *trace;
	char *path = NULL;

	child_wait_ready(&child);
	ck_assert_int_ne(access("/mnt/inside.so", R_OK), 0);
	ck_assert_msg(gt_find_library("inside.so", child.pid, &path) == 0, "%s", gt_error_text());
	trace = open_pattern(child.pid, path, "cuMem*_v2");
	child_go(&child);
	child_end(&child);
	ck_assert_int_eq(gt_api_trace_consume(trace, keep_named, &calls), 2);
	gt_api_trace_close(trace);
	calls_clear(&calls);
	free(path);
}
END_TEST

static void refused(const char *library, const char *pattern, int error, const char *text)
{
	struct gt_api_trace_opts opts = { .library = library, .pattern = pattern, .pid = getpid(),
					  .ring_bytes = 4096, .notes = &fake_notes };
	struct gt_api_trace *trace;

	ck_assert_int_eq(gt_api_trace_open(&opts, &trace), error);
	ck_assert_msg(strstr(gt_error_text(), text) != NULL, "%s", gt_error_text());
}

START_TEST(test_refusals)
{
	char folder[] = "/tmp/gt-functions-XXXXXX", pipe[64];

	refused(FAKECUDA, "nccl*", -ENOENT, "has no function that matches nccl*");
	refused("/proc/self/exe", "ncclLikeLocked", -ENOEXEC, "begins with an instruction");
	refused("/etc/passwd", "*", -ENOEXEC, "is not a shared library");
	refused("/nonexistent", "*", -ENOENT, "/nonexistent: No such file");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(pipe, sizeof(pipe), "%s/pipe.so", folder);
	ck_assert_int_eq(mkfifo(pipe, 0600), 0);
	refused(pipe, "*", -ENOEXEC, "is not a shared library");
	unlink(pipe);
	rmdir(folder);
}
END_TEST

int main(void)
{
	TCase *t = tcase_create("functions");

	skip_unless_permitted();
	tcase_add_test(t, test_own_program);
	tcase_add_loop_test(t, test_locked, 0, 2);
	tcase_add_test(t, test_library);
	tcase_add_test(t, test_by_name);
	tcase_add_test(t, test_deleted_library);
	tcase_add_test(t, test_mount_namespace);
	tcase_add_test(t, test_refusals);
	return run_case("functions", t);
}
