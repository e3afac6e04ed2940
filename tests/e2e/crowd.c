/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches from everywhere: crowd PROCESSES LAUNCHES
 *
 * That many children, forked before CUDA is used, and the program itself: each with
 * two contexts, in each of them 4 streams and 8 threads, each of which launches that
 * often, on the streams in turn.  The grid says which launch it is: x is the thread's
 * number, from 1, y the launch's, z the context's.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "program.h"

#define CONTEXTS 2
#define STREAMS 4
#define THREADS 8

static const char ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static struct context {
	CUcontext context;
	CUstream streams[STREAMS];
	CUfunction nothing;
} contexts[CONTEXTS];

static unsigned launches;

static void make_context(struct context *context)
{
	CUmodule module;

	CHECK(cuCtxCreate_v2(&context->context, 0, 0));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&context->nothing, module, "nothing"));
	for (int i = 0; i < STREAMS; i++)
		CHECK(cuStreamCreate(&context->streams[i], i % 2 ? CU_STREAM_NON_BLOCKING : 0));
}

static void *launch_many(void *number)
{
	unsigned n = *(unsigned *)number;
	struct context *context = &contexts[n % CONTEXTS];

	CHECK(cuCtxSetCurrent(context->context));
	for (unsigned i = 0; i < launches; i++)
		CHECK(cuLaunchKernel(context->nothing, n + 1, i + 1, n % CONTEXTS + 1, 1, 1, 1, 0,
				     context->streams[(n + i) % STREAMS], NULL, NULL));
	return NULL;
}

static void work(void)
{
	pthread_t threads[CONTEXTS * THREADS];
	unsigned numbers[CONTEXTS * THREADS];

	CHECK(cuInit(0));
	for (int i = 0; i < CONTEXTS; i++)
		make_context(&contexts[i]);
	for (unsigned i = 0; i < CONTEXTS * THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, launch_many, &numbers[i]);
	}
	for (int i = 0; i < CONTEXTS * THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < CONTEXTS; i++) {
		CHECK(cuCtxSetCurrent(contexts[i].context));
		CHECK(cuCtxSynchronize());
	}
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 0, failed = 0, status;

	launches = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	find_driver();
	for (int i = 0; i < children; i++) {
		if (!fork()) {
			work();
			return 0;
		}
	}
	work();
	while (wait(&status) > 0)
		failed |= status;
	printf("%d processes, status %d\n", children + 1, failed);
	return 0;
}
