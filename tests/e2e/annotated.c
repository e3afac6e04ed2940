/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that says what it is doing:
 *
 *	annotated ranges	ranges of every kind around launches
 *	annotated fork		a range before a fork; then parent and child use CUDA
 *	annotated held		a fork after CUDA, while another thread makes a domain; then the child makes one
 *	annotated ids		numbers of its own around launches
 *	annotated many N	N ranges around nothing
 *	annotated text		names that would do things to a terminal
 *
 * The kernel is launched with as many blocks as the launch has a number.
 */
#include <errno.h>
#include <gputrace/agent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "calloc.h"
#include "nvtx-client.h"
#include "program.h"

static const char ptx[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry nothing() { ret; }\n";

static CUfunction nothing;

static void start(void)
{
	CUcontext context;
	CUmodule module;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&nothing, module, "nothing"));
}

static void launch(unsigned number)
{
	CHECK(cuLaunchKernel(nothing, number, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

static void *end_elsewhere(void *id)
{
	nvtx_end(*(uint64_t *)id);
	nvtx_name_thread((uint32_t)syscall(SYS_gettid), "ender");
	return NULL;
}

static void run_ranges(void)
{
	struct nvtx_attributes inner = { .version = 3, .size = sizeof(inner), .message_type = 3 };
	int levels[8] = { nvtx_push("setup"), nvtx_pop(), nvtx_pop() };
	void *domain = nvtx_domain("library");
	uint64_t span = nvtx_start("span");
	pthread_t thread;

	start();
	inner.message.registered = nvtx_register(domain, "inner");
	levels[3] = nvtx_push("outer");
	launch(1);
	levels[4] = nvtx_domain_push(domain, &inner);
	launch(2);
	nvtx_mark("here");
	levels[5] = nvtx_domain_pop(domain);
	levels[6] = nvtx_push_wide(L"gr\u00f6\u00dfe \u2192 \U0001f680");
	launch(3);
	levels[7] = nvtx_pop();
	nvtx_pop();
	launch(4);
	pthread_create(&thread, NULL, end_elsewhere, &span);
	pthread_join(thread, NULL);
	CHECK(cuCtxSynchronize());
	nvtx_push("left open");
	printf("levels");
	for (int i = 0; i < 8; i++)
		printf(" %d", levels[i]);
	printf("\n");
}

static void run_fork(void)
{
	pid_t child;
	int status;

	nvtx_push("both");
	child = fork();
	if (!child) {
		errno = ENOTTY;
		nvtx_push("child");
		if (errno != ENOTTY)
			_exit(6);
	}
	start();
	launch(child ? 1 : 2);
	CHECK(cuCtxSynchronize());
	if (!child)
		exit(0);
	waitpid(child, &status, 0);
	nvtx_pop();
	printf("child %d, done\n", status);
}

static _Thread_local bool makes_domain;
static sem_t inside, forked;

/* The agent needs memory for what it learns of the domain. */
static bool stay(const char *file)
{
	if (makes_domain && strstr(file, "libgputrace-agent")) {
		makes_domain = false;
		sem_post(&inside);
		sem_wait(&forked);
	}
	return false;
}

static void *make_domain(void *name)
{
	makes_domain = true;
	nvtx_domain(name);
	if (makes_domain)
		sem_post(&inside);
	return NULL;
}

static void run_held(void)
{
	pthread_t thread;
	pid_t child;
	int status;

	start();
	launch(1);
	sem_init(&inside, 0, 0);
	sem_init(&forked, 0, 0);
	on_calloc = stay;
	pthread_create(&thread, NULL, make_domain, "parent");
	sem_wait(&inside);
	child = fork();
	if (!child) {
		nvtx_domain("child");
		_exit(0);
	}
	waitpid(child, &status, 0);
	sem_post(&forked);
	pthread_join(thread, NULL);
	printf("child %d, done\n", status);
}

static void run_ids(void)
{
	gputrace_agent_push_id_fn *push;
	gputrace_agent_pop_id_fn *pop;
	uint64_t id = 0;
	void *found;

	start();
	found = gputrace_agent_find(GPUTRACE_AGENT_PUSH_ID);
	memcpy(&push, &found, sizeof(push));
	found = gputrace_agent_find(GPUTRACE_AGENT_POP_ID);
	memcpy(&pop, &found, sizeof(pop));
	if (!push || !pop) {
		printf("not traced\n");
		return;
	}
	launch(1);
	push(77);
	launch(2);
	push(1ull << 60);
	launch(3);
	if (pop(&id) || id != 1ull << 60)
		_exit(5);
	launch(4);
	if (pop(&id) || id != 77 || pop(NULL) != -2)
		_exit(6);
	launch(5);
	CHECK(cuCtxSynchronize());
	printf("traced\n");
}

static void run_many(int count)
{
	char name[32];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "range %d", i);
		nvtx_push(name);
		nvtx_pop();
	}
	printf("done\n");
}

static void run_text(void)
{
	nvtx_push("red \033[31m bell \a line\nfeed \xc2\x9b" "5m \xff \u00e9");
	nvtx_pop();
	printf("done\n");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	find_driver();
	nvtx_init();
	if (!strcmp(what, "ranges"))
		run_ranges();
	else if (!strcmp(what, "fork"))
		run_fork();
	else if (!strcmp(what, "held"))
		run_held();
	else if (!strcmp(what, "ids"))
		run_ids();
	else if (!strcmp(what, "many"))
		run_many(argc > 2 ? atoi(argv[2]) : 10);
	else if (!strcmp(what, "text"))
		run_text();
	else
		return 2;
	return 0;
}
