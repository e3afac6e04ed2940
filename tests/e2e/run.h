/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tests/e2e/target under the library and gathers what came of it. */
#ifndef TESTS_E2E_RUN_H
#define TESTS_E2E_RUN_H

#include <check.h>
#include <gputrace/gputrace.h>
#include <stdbool.h>

#include "tests/suite.h"

#define RUN_KEPT 4096

struct run;

#define RUN_API_ANY UINT32_MAX	/* whatever the library chooses */

struct run_options {
	const char *object;	/* file under the build folder to attach, NULL: none */
	/* Called, if set, before and after it is attached. */
	void (*opened)(struct run *run);
	void (*attach)(struct run *run);	/* instead of attaching the whole of it */
	void (*attached)(struct run *run);
	bool timeline;
	bool nvtx;
	bool copies;
	bool api;		/* driver calls too */
	const uint32_t *api_flags;	/* one link for each, 0 ends them; NULL: one by uprobes */
	uint64_t api_ring_bytes;
	uint32_t stack_frames;	/* of driver calls, at most 8 */
	uint64_t gpu_ring_bytes, agent_ring_bytes;
	const char *detach_at;	/* detach everything when a kernel of this name is first seen */
	void (*detached)(struct run *run);	/* called then, if set */
	bool real_device;
};

/* A kernel that ran, or a launch, an API call, a range, a mark, a copy. */
struct run_event {
	char name[64];
	char domain[16], text[96];
	uint64_t time, end, error, launch_id, range_id, external_id, stream, bytes;
	uint64_t gpu_start, gpu_end;
	uint32_t context;
	int copy_kind;
	int tid, pid;
	uint32_t grid[3], block[3];
	uint64_t args[12];
	unsigned arg_count;
	uint64_t stack[8];
	unsigned stack_count;
	int result;
};

struct run {
	char output[4096];	/* what the program printed */
	int status;		/* as of waitpid */
	unsigned events[GPUTRACE_EVENT_METRIC + 1];	/* by type */
	struct run_event kernels[RUN_KEPT], launches[RUN_KEPT], calls[RUN_KEPT], ranges[RUN_KEPT], copies[RUN_KEPT];
	struct run_event marks[16];	/* MARK and THREAD events */
	unsigned mark_count, open_ranges;
	unsigned data;		/* DATA events, their bytes in data_bytes */
	uint64_t data_bytes;
	uint64_t lost;
	uint64_t lost_calls, lost_kernels;	/* in the kernel's ring, in the timeline's */
	unsigned disorder;	/* events whose end lies before that of the one delivered before */
	char notes[2048];
	unsigned long long lost_of_threads;	/* what their rings had no room for */
	struct gputrace_target *target;
	struct gputrace_object *object;
	/* Called for each event if set. */
	void (*watch)(struct run *run, const struct gputrace_event *event);
};

/* GPUTRACE_TEST_DEVICE=gpu in the environment asks for it. */
bool run_wants_real_device(void);

/* argv[0] is "target"; the arguments follow, ended by NULL.  Asserts that all of it worked. */
void run_target(struct run *run, const struct run_options *options, ...);

/* The program on its own, without anything of ours in it: its output and status. */
void run_plain(struct run *run, bool real_device, ...);

void run_free(struct run *run);

/* To watch with: after the first launch nothing is read until the program has ended, so that rings overrun. */
void run_watch_late(struct run *run, const struct gputrace_event *event);

/* Value of a u64 array map's element, instance `instance`. */
uint64_t run_map_value(struct run *run, const char *map, int instance, uint32_t index);

#endif
