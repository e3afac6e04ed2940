/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that forks while a thread of it is where the agent begins, and waits for its controller:
 *
 *	forks cuda	the thread initialises CUDA
 *	forks range	it makes a range
 *	forks asked	it asks the agent to serve a controller
 *
 * The child does all of that, too.
 */
#include <gputrace/agent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "nvtx-client.h"
#include "program.h"

static _Thread_local bool stays;
static sem_t there, forked;

static void stay(void)
{
	if (!stays)
		return;
	stays = false;
	sem_post(&there);
	sem_wait(&forked);
}

/* Called instead of the C library's, by the agent too: there comes what the controller wants. */
__attribute__((visibility("default")))
ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	stay();
	return syscall(SYS_recvmsg, fd, message, flags);
}

/* The controller says something that makes no sense, and is gone. */
static void ask(void)
{
	const char *agent = getenv("CUDA_INJECTION64_PATH");
	void *library = agent ? dlopen(agent, RTLD_NOW) : NULL;
	int (*attach)(int fd) = library ? (int (*)(int))dlsym(library, "gputrace_agent_attach") : NULL;
	int ends[2];

	if (!attach || socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends))
		return;
	if (send(ends[1], "?", 1, 0) != 1 || attach(ends[0]) >= 0)
		_exit(5);
	close(ends[1]);
}

static void begin(const char *how)
{
	if (!strcmp(how, "cuda")) {
		cu.cuInit(0);
	} else if (!strcmp(how, "range")) {
		nvtx_init();
		nvtx_push("range");
	} else {
		ask();
	}
}

static void *begin_and_stay(void *how)
{
	stays = true;
	begin(how);
	stay();
	return NULL;
}

static void begin_in_child(void)
{
	alarm(120);
	begin("cuda");
	begin("range");
	begin("asked");
	_exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;
	int status;

	if (argc < 2)
		return 2;
	find_driver();
	sem_init(&there, 0, 0);
	sem_init(&forked, 0, 0);
	pthread_create(&thread, NULL, begin_and_stay, argv[1]);
	sem_wait(&there);
	child = fork();
	if (!child)
		begin_in_child();
	waitpid(child, &status, 0);
	sem_post(&forked);
	pthread_join(thread, NULL);
	printf("child %d, CUresult %d\n", status, (int)cu.cuInit(0));
	return 0;
}
