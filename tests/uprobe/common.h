/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of uprobes share: a traced child process, and the calls it is seen to make. */
#ifndef GT_TESTS_UPROBE_COMMON_H
#define GT_TESTS_UPROBE_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/uprobe/api_trace.h"
#include "lib/util/notes.h"

/* The functions of fakecuda.c, bound at run time. */
struct fake {
	int (*cuMemAlloc_v2)(uint64_t *dptr, size_t bytes);
	int (*cuMemFree_v2)(uint64_t dptr);
	int (*cuLaunchKernel)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			      unsigned bz, unsigned shared, void *stream, void **params, void **extra);
	int (*cuMemsetD8_v2)(uint64_t dptr, unsigned value, size_t count);
	int (*cuMemcpyHtoD_v2)(uint64_t dst, const void *src, size_t bytes);
	int (*cuGraphLaunch)(void *exec, void *stream);
	int (*cuLaunchHostFunc)(void *stream, void (*fn)(void *data), void *data);
	int (*cuCtxGetCurrent)(void **context);
	int (*cuMemHostUnregister)(uint64_t dptr);
	int (*cuStreamSynchronize)(uintptr_t stream);
	int (*cuStreamQuery)(uintptr_t stream);
};

/* Opens the library, or the copy that GT_TEST_FAKECUDA names; exits the process when it cannot. */
void fake_open(struct fake *fake);

/* A child that runs body() when told to. */
struct child {
	pid_t pid;
	int go, ready;	/* pipes */
};

/* body gets the pipes' other ends: read `go` to wait for the parent, write `ready` to tell it something. */
struct child child_start(void (*body)(int go, int ready));
/* body waits with wait_go(), the parent answers a tell() with child_go(). */
void child_go(struct child *child);
void child_wait_ready(struct child *child);
void wait_go(int go);
void tell(int ready);
/* Asserts that it exited with 0. */
void child_end(struct child *child);

struct calls {
	struct gt_api_call *list;
	size_t count, room;
};

void calls_add(void *calls, const struct gt_api_call *call);
/* Those that wait. */
void calls_take(struct gt_api_trace *trace, struct calls *calls);
void calls_clear(struct calls *calls);
/* How many calls of a function, by its name. */
size_t calls_count(const struct calls *calls, const char *name);
const struct gt_api_call *calls_find(const struct calls *calls, const char *name, size_t nth);

/* What traces have to say. */
extern struct gt_notes fake_notes;

/* Options for the fake library with a ring of 4 MiB, and those notes. */
struct gt_api_trace_opts fake_opts(pid_t pid);
/* A trace with these, and flags, which has nothing to say. */
struct gt_api_trace *fake_trace(pid_t pid, unsigned flags);

/* Exits with 77 and the reason when this machine does not permit uprobes. */
void skip_unless_permitted(void);

#endif
