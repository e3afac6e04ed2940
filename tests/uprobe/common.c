/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/util/error.h"

struct gt_notes fake_notes;

static void *bind(void *library, const char *name)
{
	void *symbol = dlsym(library, name);

	if (!symbol) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	return symbol;
}

void fake_open(struct fake *fake)
{
	const char *other = getenv("GT_TEST_FAKECUDA");
	void *library = dlopen(other ? other : FAKECUDA, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
#define BIND(name) fake->name = bind(library, #name)
	BIND(cuMemAlloc_v2);
	BIND(cuMemFree_v2);
	BIND(cuLaunchKernel);
	BIND(cuMemsetD8_v2);
	BIND(cuMemcpyHtoD_v2);
	BIND(cuGraphLaunch);
	BIND(cuLaunchHostFunc);
	BIND(cuCtxGetCurrent);
	BIND(cuMemHostUnregister);
#ifdef __x86_64__
	BIND(cuStreamSynchronize);
	BIND(cuStreamQuery);
#endif
#undef BIND
}

struct child child_start(void (*body)(int go, int ready))
{
	int go[2], ready[2];
	struct child child;

	ck_assert_int_eq(pipe(go), 0);
	ck_assert_int_eq(pipe(ready), 0);
	child.pid = fork();
	ck_assert_int_ge(child.pid, 0);
	if (child.pid == 0) {
		close(go[1]);
		close(ready[0]);
		body(go[0], ready[1]);
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	child.go = go[1];
	child.ready = ready[0];
	return child;
}

void child_go(struct child *child)
{
	ck_assert_int_eq(write(child->go, "g", 1), 1);
}

void child_wait_ready(struct child *child)
{
	char c;

	ck_assert_int_eq(read(child->ready, &c, 1), 1);
}

void wait_go(int go)
{
	char c;

	if (read(go, &c, 1) != 1)
		_exit(98);
}

void tell(int ready)
{
	if (write(ready, "r", 1) != 1)
		_exit(97);
}

void child_end(struct child *child)
{
	int status;

	close(child->go);
	close(child->ready);
	ck_assert_int_eq(waitpid(child->pid, &status, 0), child->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %#x", status);
}

void calls_add(void *data, const struct gt_api_call *call)
{
	struct calls *calls = data;

	if (calls->count == calls->room) {
		calls->room = calls->room ? 2 * calls->room : 1024;
		calls->list = reallocarray(calls->list, calls->room, sizeof(*call));
		ck_assert_ptr_nonnull(calls->list);
	}
	calls->list[calls->count++] = *call;
}

void calls_take(struct gt_api_trace *trace, struct calls *calls)
{
	size_t before = calls->count;
	int n = gt_api_trace_consume(trace, calls_add, calls);

	ck_assert_int_ge(n, 0);
	ck_assert_uint_eq(calls->count - before, n);
}

void calls_clear(struct calls *calls)
{
	free(calls->list);
	*calls = (struct calls){ 0 };
}

const struct gt_api_call *calls_find(const struct calls *calls, const char *name, size_t nth)
{
	for (size_t i = 0; i < calls->count; i++) {
		if (!strcmp(gt_api_name(calls->list[i].function), name) && nth-- == 0)
			return &calls->list[i];
	}
	return NULL;
}

size_t calls_count(const struct calls *calls, const char *name)
{
	size_t n = 0;

	for (size_t i = 0; i < calls->count; i++)
		n += !strcmp(gt_api_name(calls->list[i].function), name);
	return n;
}

struct gt_api_trace_opts fake_opts(pid_t pid)
{
	return (struct gt_api_trace_opts){ .library = FAKECUDA, .ring_bytes = 4 << 20, .pid = pid,
					   .notes = &fake_notes };
}

struct gt_api_trace *fake_trace(pid_t pid, unsigned flags)
{
	struct gt_api_trace_opts opts = fake_opts(pid);
	struct gt_api_trace *trace = NULL;
	int r;

	opts.flags = flags;
	r = gt_api_trace_open(&opts, &trace);
	ck_assert_msg(r == 0, "%d: %s", r, gt_error_text());
	ck_assert_ptr_null(gt_notes_take(&fake_notes));
	return trace;
}

void skip_unless_permitted(void)
{
	struct gt_api_trace_opts opts = fake_opts(getpid());
	struct gt_api_trace *trace;
	int r = gt_api_trace_open(&opts, &trace);

	if (r == -EPERM || r == -EOPNOTSUPP) {
		printf("skipped: %s\n", gt_error_text());
		exit(77);
	}
	if (r == 0)
		gt_api_trace_close(trace);
}
