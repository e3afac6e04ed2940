/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a watched call costs: uprobe LIBRARY [CALLS]
 *
 * LIBRARY has the driver's names (tests/uprobe/fakecuda.so), its functions do
 * next to nothing, so what is measured is the probes alone.  One process calls
 * and watches itself; a thread reads the ring, so that no call is lost.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/uprobe/api_trace.h"
#include "lib/util/error.h"
#include "lib/util/notes.h"

struct library {
	int (*cuCtxResetPersistingL2Cache)(void);
	int (*cuStreamSynchronize)(uintptr_t stream);
	int (*cuLaunchKernel)(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			      unsigned bz, unsigned shared, void *stream, void **params, void **extra);
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void call_synchronize(const struct library *library)
{
	library->cuStreamSynchronize(1);
}

static void call_launch(const struct library *library)
{
	library->cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void call_reset(const struct library *library)
{
	library->cuCtxResetPersistingL2Cache();
}

static const struct {
	const char *name;
	void (*call)(const struct library *library);
} cases[] = {
	{ "1 argument (cuStreamSynchronize)", call_synchronize },
	{ "11 arguments (cuLaunchKernel)", call_launch },
	{ "first instruction not push (cuCtxResetPersistingL2Cache)", call_reset },
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

/* The best of seven runs, ns a call. */
static double measure(const struct library *library, size_t which, unsigned calls)
{
	double best = 1e18;

	for (int run = 0; run < 7; run++) {
		uint64_t start = now();
		double each;

		for (unsigned i = 0; i < calls; i++)
			cases[which].call(library);
		each = (double)(now() - start) / calls;
		best = each < best ? each : best;
	}
	return best;
}

static void discard(void *data, const struct gt_api_call *call)
{
	(void)call;
	++*(uint64_t *)data;
}

struct reader {
	struct gt_api_trace *trace;
	uint64_t seen;
	int stop;
};

static void *read_ring(void *data)
{
	struct reader *reader = data;

	while (!__atomic_load_n(&reader->stop, __ATOMIC_RELAXED)) {
		gt_api_trace_consume(reader->trace, discard, &reader->seen);
		usleep(1000);
	}
	return NULL;
}

static int measure_traced(const struct library *library, const struct gt_api_trace_opts *opts,
			  unsigned calls, double *results)
{
	struct reader reader = { 0 };
	uint64_t start = now();
	pthread_t thread;

	if (gt_api_trace_open(opts, &reader.trace)) {
		fprintf(stderr, "%s\n", gt_error_text());
		return 1;
	}
	printf("attached to %u functions in %.1f ms\n", gt_api_trace_watched(reader.trace),
	       (double)(now() - start) / 1e6);
	pthread_create(&thread, NULL, read_ring, &reader);
	for (size_t i = 0; i < CASES; i++)
		results[i] = measure(library, i, calls);
	__atomic_store_n(&reader.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	gt_api_trace_consume(reader.trace, discard, &reader.seen);
	printf("seen %llu, lost %llu, made %llu\n", (unsigned long long)reader.seen,
	       (unsigned long long)gt_api_trace_lost(reader.trace),
	       (unsigned long long)(opts->pid == getpid() ? 7ull * CASES * calls : 0));
	start = now();
	gt_api_trace_close(reader.trace);
	printf("detached in %.1f ms\n", (double)(now() - start) / 1e6);
	return 0;
}

static int load(const char *path, struct library *library)
{
	void *handle = dlopen(path, RTLD_NOW);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	library->cuCtxResetPersistingL2Cache = dlsym(handle, "cuCtxResetPersistingL2Cache");
	library->cuStreamSynchronize = dlsym(handle, "cuStreamSynchronize");
	library->cuLaunchKernel = dlsym(handle, "cuLaunchKernel");
	return !library->cuCtxResetPersistingL2Cache || !library->cuStreamSynchronize || !library->cuLaunchKernel;
}

int main(int argc, char **argv)
{
	struct gt_notes notes = { .count = 0 };
	struct gt_api_trace_opts opts = { .ring_bytes = 64 << 20, .pid = getpid(), .notes = &notes };
	unsigned calls = argc > 2 ? strtoul(argv[2], NULL, 0) : 50000;
	double bare[CASES], traced[CASES], other[CASES];
	struct library library;

	if (argc < 2 || !calls || load(argv[1], &library)) {
		fprintf(stderr, "usage: %s LIBRARY [CALLS]\n", argv[0]);
		return 2;
	}
	opts.library = argv[1];
	for (size_t i = 0; i < CASES; i++)
		bare[i] = measure(&library, i, calls);
	if (measure_traced(&library, &opts, calls, traced))
		return 1;
	/* Somebody else is watched: the breakpoints are there, the filter says no. */
	opts.pid = fork();
	if (opts.pid == 0) {
		pause();
		_exit(0);
	}
	if (opts.pid < 0 || measure_traced(&library, &opts, calls, other))
		return 1;
	kill(opts.pid, SIGKILL);
	waitpid(opts.pid, NULL, 0);
	for (size_t i = 0; i < CASES; i++)
		printf("%-56s bare %6.1f ns, traced %7.1f ns (+%.0f ns, %.0fx), not watched %7.1f ns\n",
		       cases[i].name, bare[i], traced[i], traced[i] - bare[i],
		       traced[i] / bare[i], other[i]);
	return 0;
}
