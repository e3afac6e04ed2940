/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CUDA program to be traced by tests: launches one kernel by way of functions without
 * frame pointers in a library, and then waits for the end of its standard input.
 *
 *	unwound chain LIBRARY	main, work, the library's chain, launch
 *	unwound deleted LIBRARY	the same, after the library's file was deleted
 *	unwound thread LIBRARY	the same on a thread, from thread_main
 *	unwound made LIBRARY	code that was made at run time between chain and launch
 *	unwound deep LIBRARY	20 functions of 4 KiB each between work and launch
 *	unwound brief LIBRARY	chain, but it waits before that, and not in the end
 *	unwound later LIBRARY	the same with made, whose code is made after it has waited, but for one of Python's
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "program.h"

#define NOINLINE __attribute__((noinline))
#define HERE __asm__ volatile("" ::: "memory")

static const char ptx[] =
	".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry nothing()\n{\n	ret;\n}\n";

static CUcontext primary;
static CUfunction nothing;
static void (*chain_first)(void (*next)(void));
static void (*chain_deep)(unsigned left, void (*next)(void));

static void start(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	CUmodule module;

	if (!library) {
		fprintf(stderr, "unwound: %s\n", dlerror());
		_exit(5);
	}
	chain_first = (void (*)(void (*)(void)))dlsym(library, "chain_first");
	chain_deep = (void (*)(unsigned, void (*)(void)))dlsym(library, "chain_deep");
	find_driver();
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&nothing, module, "nothing"));
}

static NOINLINE void launch(void)
{
	CHECK(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	HERE;
}

/* ---- code made at run time ---- */

/* Calls what its first argument says.  It has a frame pointer, and does more after the call. */
static const uint8_t with_frame_pointer[] = {
	0x55, 0x48, 0x89, 0xe5,			/* push %rbp; mov %rsp,%rbp */
	0xff, 0xd7, 0x90, 0x5d, 0xc3,		/* call *%rdi; nop; pop %rbp; ret */
};
/* It has none, as the trampolines of python3.12 -X perf. */
static const uint8_t without[] = {
	0x48, 0x83, 0xec, 0x08,			/* sub $8,%rsp */
	0xff, 0xd7, 0x48, 0x83, 0xc4, 0x08, 0xc3,	/* call *%rdi; add $8,%rsp; ret */
};

static void (*made_with)(void (*next)(void)), (*made_without)(void (*next)(void));

/* first: of the names of all such pages. */
static void make_code(const char *function, bool first)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, first ? "w" : "a");
	if (page == MAP_FAILED || !map)
		_exit(6);
	memcpy(page, with_frame_pointer, sizeof(with_frame_pointer));
	memcpy(page + 64, without, sizeof(without));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC))
		_exit(7);
	made_with = (void (*)(void (*)(void)))(void *)page;
	made_without = (void (*)(void (*)(void)))(void *)(page + 64);
	fprintf(map, "%lx %zx made_with_frame_pointer\n", (unsigned long)(uintptr_t)page, sizeof(with_frame_pointer));
	fprintf(map, "%lx %zx py::%s:/made.py\n", (unsigned long)(uintptr_t)page + 64, sizeof(without), function);
	fclose(map);
}

static NOINLINE void evaluate(void)
{
	made_without(launch);
	HERE;
}

static NOINLINE void enter(void)
{
	made_with(evaluate);
	HERE;
}

/* ---- ways to launch ---- */

static NOINLINE void work(void)
{
	chain_first(launch);
	HERE;
}

static NOINLINE void work_deep(void)
{
	chain_deep(20, launch);
	HERE;
}

static NOINLINE void work_made(bool first)
{
	make_code("forward", first);
	chain_first(enter);
	HERE;
}

static NOINLINE void *thread_main(void *unused)
{
	CHECK(cuCtxSetCurrent(primary));
	work();
	HERE;
	return unused;
}

static void wait_for_end_of_input(void)
{
	while (getchar() != EOF)
		;
}

int main(int argc, char **argv)
{
	const char *mode = argc == 3 ? argv[1] : "";
	bool waits_first = !strcmp(mode, "brief") || !strcmp(mode, "later");
	pthread_t thread;

	if (!*mode)
		return 2;
	if (!strcmp(mode, "later"))
		make_code("main", true);
	start(argv[2]);
	if (!strcmp(mode, "deleted") && unlink(argv[2]))
		return 8;
	if (waits_first)
		wait_for_end_of_input();
	if (!strcmp(mode, "thread")) {
		if (pthread_create(&thread, NULL, thread_main, NULL) || pthread_join(thread, NULL))
			return 9;
	} else if (!strcmp(mode, "made") || !strcmp(mode, "later")) {
		work_made(!waits_first);
	} else if (!strcmp(mode, "deep")) {
		work_deep();
	} else {
		work();
	}
	if (!waits_first)
		wait_for_end_of_input();
	return 0;
}
