/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a thread that stays in a function of the driver's, or ends there: the
 * function is to write where it may not, and the signal's handler does not return.
 *
 * It says "ready" and reads lines.  "stay": a thread goes in; "come": it comes back;
 * "end": a thread goes in, and ends; "wait": the main thread waits in the kernel, where no
 * request reaches it, until another byte comes; ".": the end.
 */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "program.h"

static const char text[] = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n	ret;\n}\n";

static CUcontext context;
static CUfunction function;
static int *unwritable;
static bool is_to_end;
static sem_t inside, may_come;

static void handle(int signal)
{
	(void)signal;
	if (is_to_end)
		pthread_exit(NULL);
	sem_post(&inside);
	while (sem_wait(&may_come))
		;
	if (mprotect(unwritable, 4096, PROT_READ | PROT_WRITE))
		_exit(5);
}

static void *go_in(void *unused)
{
	if (mprotect(unwritable, 4096, PROT_NONE))
		_exit(5);
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuFuncGetAttribute(unwritable, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function));
	return unused;
}

/* The kernel lets a process that has made a child so wait until the child has ended. */
static void wait_in_kernel(void)
{
	char byte;
	pid_t child;

	printf("waiting\n");
	fflush(stdout);
	child = vfork();
	if (!child)
		_exit(read(STDIN_FILENO, &byte, 1) != 1);
	waitpid(child, NULL, 0);
}

static void go_in_elsewhere(bool stay)
{
	pthread_t thread;

	is_to_end = !stay;
	if (pthread_create(&thread, NULL, go_in, NULL))
		_exit(5);
	if (stay)
		sem_wait(&inside);
	else
		pthread_join(thread, NULL);
}

static void serve(const char *line)
{
	if (!strcmp(line, "wait\n"))
		wait_in_kernel();
	else if (!strcmp(line, "come\n"))
		sem_post(&may_come);
	else
		go_in_elsewhere(!strcmp(line, "stay\n"));
	printf("done\n");
	fflush(stdout);
}

int main(void)
{
	struct sigaction action = { .sa_handler = handle };
	CUmodule module;
	char line[64];

	unwritable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (unwritable == MAP_FAILED || sigaction(SIGSEGV, &action, NULL) || sem_init(&inside, 0, 0) ||
	    sem_init(&may_come, 0, 0))
		return 5;
	find_driver();
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuModuleGetFunction(&function, module, "nothing"));
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin) && line[0] != '.')
		serve(line);
	printf("exact\n");
	return 0;
}
