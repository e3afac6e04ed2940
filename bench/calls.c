/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a recorded driver call costs the program: calls [--device=sim] [ROUNDS]
 *
 * Runs itself as the traced program: bare, with the agent in it but no calls recorded,
 * with the agent's hooks and with uprobes, with stacks and without, and while nobody
 * reads.  A round is 512 launches of an empty kernel and 4,096 calls of cuCtxGetCurrent;
 * what is printed is the mean of a call in the best round, ns, and the median of the rounds.
 */
#include <dlfcn.h>
#include <gputrace/gputrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/wire/cuda_functions.h"

#define LAUNCHES 512
#define QUERIES 4096
#define ROUNDS_MAX 1000

/* ---- the traced program ---- */

static struct {
#define X(name, since, params) CUresult (*name) params;
	GT_CUDA_FUNCTIONS(X)
#undef X
} cu;

static const char ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry empty() { ret; }\n";

static void check(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: CUresult %d\n", what, (int)result);
	exit(1);
}
#define CHECK(call) check(cu.call, #call)

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define X(name, since, params) cu.name = (__typeof__(cu.name))dlsym(library, #name);
	GT_CUDA_FUNCTIONS(X)
#undef X
}

static double launch_round(CUfunction f)
{
	double start, each;

	CHECK(cuCtxSynchronize());
	start = now();
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	each = (now() - start) / LAUNCHES;
	CHECK(cuCtxSynchronize());
	return each;
}

static double query_round(void)
{
	double start = now();
	CUcontext context;

	for (int i = 0; i < QUERIES; i++)
		CHECK(cuCtxGetCurrent(&context));
	return (now() - start) / QUERIES;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void print(const char *what, double *each, int rounds)
{
	qsort(each, (size_t)rounds, sizeof(*each), compare);
	printf("  %-16s best %8.1f ns, median %8.1f ns\n", what, each[0], each[rounds / 2]);
}

static int run_program(int rounds)
{
	double launches[ROUNDS_MAX], queries[ROUNDS_MAX];
	CUcontext context;
	CUmodule module;
	CUfunction f;

	find_driver();
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&f, module, "empty"));
	launch_round(f);
	for (int i = 0; i < rounds; i++) {
		launches[i] = launch_round(f);
		queries[i] = query_round();
		usleep(20000);	/* the reader keeps up */
	}
	print("cuLaunchKernel", launches, rounds);
	print("cuCtxGetCurrent", queries, rounds);
	return 0;
}

/* ---- the tracer ---- */

enum reading { KEEPS_UP, IDLE, ABSENT };

struct way {
	const char *name;
	uint32_t flags;		/* 0: calls are not recorded */
	uint32_t stack_frames, stack_bytes;
	enum reading reading;
};

static const struct way ways[] = {
	{ .name = "the agent, no calls recorded" },
	{ .name = "the agent's hooks", .flags = GPUTRACE_API_AGENT },
	{ .name = "the agent's hooks, the reader idle", .flags = GPUTRACE_API_AGENT, .reading = IDLE },
	{ .name = "the agent's hooks, no reader", .flags = GPUTRACE_API_AGENT, .reading = ABSENT },
	{ .name = "the agent's hooks, 16 frames of stack", .flags = GPUTRACE_API_AGENT, .stack_frames = 16 },
	{ .name = "the agent's hooks, 2 KiB of stack", .flags = GPUTRACE_API_AGENT, .stack_bytes = 2048 },
	{ .name = "uprobes", .flags = GPUTRACE_API_UPROBES },
	{ .name = "uprobes, the reader idle", .flags = GPUTRACE_API_UPROBES, .reading = IDLE },
	{ .name = "uprobes, 16 frames of stack", .flags = GPUTRACE_API_UPROBES, .stack_frames = 16 },
	{ .name = "uprobes, 2 KiB of stack", .flags = GPUTRACE_API_UPROBES, .stack_bytes = 2048 },
};

static int failed(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, gputrace_last_error());
	return 1;
}

static void follow(struct gputrace_reader *reader)
{
	const struct gputrace_event *event;
	uint64_t calls = 0, launches = 0;

	while (gputrace_reader_wait(reader, -1) == 1) {
		while ((event = gputrace_reader_next(reader))) {
			calls += gputrace_event_get_type(event) == GPUTRACE_EVENT_API;
			launches += gputrace_event_get_type(event) == GPUTRACE_EVENT_LAUNCH;
			if (gputrace_event_get_type(event) == GPUTRACE_EVENT_NOTE)
				printf("  note: %s\n", gputrace_event_get_text(event));
		}
	}
	printf("  %llu calls and %llu launches seen, %llu lost\n", (unsigned long long)calls,
	       (unsigned long long)launches, (unsigned long long)gputrace_reader_get_lost(reader));
}

/* Until the program has ended, the target's agents are served and nothing is read. */
static void idle(struct gputrace_target *target)
{
	while (!gputrace_target_has_exited(target, NULL)) {
		gputrace_target_dispatch(target);
		usleep(1000);
	}
}

static int run_traced(const struct way *way, struct gputrace_target *target)
{
	struct gputrace_reader *reader = NULL;
	int r = 0;

	if (way->reading != ABSENT)
		r = gputrace_reader_new(target, NULL, &reader);
	if (!r)
		r = gputrace_target_resume(target);
	if (!r && way->reading != KEEPS_UP)
		idle(target);
	if (!r && reader)
		follow(reader);
	gputrace_reader_unref(reader);
	return r ? failed(way->name) : 0;
}

static int trace(const struct way *way, char *const argv[], uint32_t device)
{
	struct gputrace_spawn_opts spawn = { .size = sizeof(spawn), .device = device };
	struct gputrace_api_opts opts = {
		.size = sizeof(opts), .flags = way->flags | GPUTRACE_API_QUERIES, .ring_bytes = 16 << 20,
		.stack_frames = way->stack_frames, .stack_bytes = way->stack_bytes,
	};
	struct gputrace_link *link = NULL;
	struct gputrace_target *target;
	int r;

	printf("%s\n", way->name);
	fflush(stdout);
	if (gputrace_target_spawn(NULL, argv, &spawn, &target))
		return failed(way->name);
	if (way->flags && gputrace_attach_api(target, &opts, &link)) {
		gputrace_target_unref(target);
		return failed(way->name);
	}
	r = run_traced(way, target);
	gputrace_link_unref(link);
	gputrace_target_unref(target);
	return r;
}

static int run_bare(const char *program, const char *rounds, uint32_t device)
{
	char command[4096];

	snprintf(command, sizeof(command), "%s%s --program %s",
		 device == GPUTRACE_DEVICE_SIM ? "LD_LIBRARY_PATH=$GPUTRACE_SIM_DIR:$LD_LIBRARY_PATH " : "",
		 program, rounds);
	printf("bare\n");
	fflush(stdout);
	return system(command) != 0;
}

int main(int argc, char **argv)
{
	uint32_t device = argc > 1 && !strcmp(argv[1], "--device=sim") ? GPUTRACE_DEVICE_SIM : GPUTRACE_DEVICE_REAL;
	const char *rounds = argc > (device ? 2 : 1) ? argv[argc - 1] : "50";
	char *const program[] = { argv[0], "--program", (char *)(uintptr_t)rounds, NULL };
	int count = atoi(rounds), failures;

	if (count < 1 || count > ROUNDS_MAX) {
		fprintf(stderr, "usage: %s [--device=sim] [ROUNDS up to %d]\n", argv[0], ROUNDS_MAX);
		return 2;
	}
	if (argc > 1 && !strcmp(argv[1], "--program"))
		return run_program(count);
	failures = run_bare(argv[0], rounds, device);
	for (unsigned i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		failures += trace(&ways[i], program, device);
	return failures != 0;
}
