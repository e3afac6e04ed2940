/* SPDX-License-Identifier: Apache-2.0 */
/* A program of tests that runs already, on the software device, and a target that is attached to it. */
#ifndef TESTS_E2E_RUNNING_H
#define TESTS_E2E_RUNNING_H

#include <check.h>
#include <gputrace/gputrace.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* It was started without us, with pipes to and from it. */
extern struct program {
	pid_t pid;
	FILE *in, *out;
} program;

/* what, threads, more: its arguments, as far as they are not NULL; apart: where it sees another agent's folder. */
void start_program(const char *path, const char *what, const char *threads, const char *more, bool apart);
void say(const char *text);
/* The next line that it says. */
void expect(const char *text);
/* Its launches are all there, and it ends as it would have. */
void finish(void);
/* Memory that it has in use. */
unsigned resident_kb(void);
/*
 * Threads that have ended are there for a while on a busy machine, and what they hold; what is left behind,
 * until time is up.
 */
void wait_for_at_most(unsigned (*count)(void), unsigned most);
/* However the test ended. */
void end_program(void);

struct seen {
	unsigned launches, kernels, exits, lost;
	char notes[512];
};

extern struct gputrace_target *target;
extern struct gputrace_reader *reader;
extern struct gputrace_link *timeline;

/* With a timeline. */
void attach(void);
void attach_with(const struct gputrace_live_opts *opts);
/* Adds what is there to be read. */
void take(struct seen *seen);
/* Waits for more first. */
void take_more(struct seen *seen);
/* Reads to the end. */
void detach(struct seen *seen);

/* Of that name, with a route or without. */
const struct gputrace_kernel *find_kernel(const char *name, int probed);

/* Of a kernel that no copy was asked for of. */
#define LOADED_BEFORE "loaded before attach; a copy may carry programs in its place, if nvcc built the kernel into a file: ask for copies (--copies, GPUTRACE_LIVE_COPIES, in Python copies=True)"

#endif
