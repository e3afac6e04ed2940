/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program with a signal that comes while the agent is at work on one of its calls, a load of code: when it
 * asks for memory the Nth time.
 *
 *	interrupted exits N	the handler calls exit
 *	interrupted ended N	it ends its thread; then the others' work
 *	interrupted jumped N	it jumps out of it all; then the thread's work, and another's
 *	interrupted nested N	on a stack of its own, it works
 *	interrupted switched N	it switches to a coroutine, which works
 *	interrupted halfway N	what a thread leaves that jumps away within a record; between two works, and N s go by
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "calloc.h"
#include "lib/wire/wire.h"
#include "program.h"

static const char ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".global .align 4 .u32 counter = 5;\n"
	/* one more for each thread; takes no parameters */
	".visible .entry bump\n{\n"
	"	.reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
	"	mov.u64 %rd1, counter; atom.global.add.u32 %r1, [%rd1], 1; ret;\n}\n";

static CUcontext primary;
static sigjmp_buf away;
static ucontext_t outside, coroutine;
static int interrupt_in;
static int leaks_are_expected;

/* The leak checker of a build with sanitizers asks: what the agent was at work on is left so. */
__attribute__((visibility("default")))
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return leaks_are_expected;
}

static bool interrupt(const char *file)
{
	if (strstr(file, "libgputrace-agent") && !--interrupt_in)
		raise(SIGUSR1);
	return false;
}

static void load(CUmodule *module)
{
	CHECK(cuCtxSetCurrent(primary));
	CHECK(cuModuleLoadData(module, ptx));
}

static void work(void)
{
	CUdeviceptr address;
	CUmodule module;
	CUfunction bump;
	uint32_t value;
	size_t size;

	load(&module);
	CHECK(cuModuleGetFunction(&bump, module, "bump"));
	for (int i = 0; i < 2; i++)
		CHECK(cuLaunchKernel(bump, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, address, 4));
	CHECK(cuModuleUnload(module));
	printf("counter %u\n", value);
	fflush(stdout);
}

static void *work_elsewhere(void *unused)
{
	work();
	return unused;
}

/*
 * Of a thread's stack: so little that the agent takes another for what goes deep; but AddressSanitizer does not
 * follow jumps from that to the thread's own.
 */
#ifdef __SANITIZE_ADDRESS__
#define LITTLE (8u << 20)
#else
#define LITTLE (256u << 10)
#endif

static void in_a_thread(void *(*run)(void *))
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, LITTLE);
	pthread_create(&thread, &attr, run, NULL);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

/* It comes if the agent is there. */
static void *load_interrupted(void *unused)
{
	CUmodule module;

	on_calloc = interrupt;
	load(&module);
	on_calloc = NULL;
	return unused;
}

/* From deeper in the stack than what comes then. */
__attribute__((noinline)) static void load_deep_down(void)
{
	volatile char room[1024] = { 0 };

	load_interrupted((void *)(uintptr_t)&room[0]);
}

static void leave_at_once(int signal)
{
	(void)signal;
	exit(7);
}

static void end_thread(int signal)
{
	(void)signal;
	pthread_exit(NULL);
}

static void jump_away(int signal)
{
	(void)signal;
	siglongjmp(away, 1);
}

static void work_here(int signal)
{
	(void)signal;
	work();
}

static void switch_away(int signal)
{
	(void)signal;
	swapcontext(&outside, &coroutine);
}

static void handle(void (*handler)(int), bool has_stack)
{
	static char room[256 * 1024];
	stack_t stack = { .ss_sp = room, .ss_size = sizeof(room) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = has_stack ? SA_ONSTACK : 0 };

	if (has_stack)
		sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
}

static void make_coroutine(void)
{
	static char room[256 * 1024];

	getcontext(&coroutine);
	coroutine.uc_stack = (stack_t){ .ss_sp = room, .ss_size = sizeof(room) };
	coroutine.uc_link = &outside;
	makecontext(&coroutine, work, 0);
}

static void *jump_and_work(void *unused)
{
	if (!sigsetjmp(away, 1))
		load_deep_down();
	on_calloc = NULL;
	work();
	return unused;
}

/* What the agent shares with the controller. */
static struct gt_shm *find_shared_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long address = 0;
	char line[512];

	while (!address && fgets(line, sizeof(line), maps)) {
		if (strstr(line, "/memfd:gputrace "))
			sscanf(line, "%lx", &address);
	}
	fclose(maps);
	return (struct gt_shm *)address;
}

/* It has taken its place in the ring and written nothing there. */
static void begin_record(void)
{
	struct gt_shm *shm = find_shared_memory();

	if (shm)
		__atomic_fetch_add(&shm->agent_ctl.head, 64, __ATOMIC_RELAXED);
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	interrupt_in = argc > 2 ? atoi(argv[2]) : 0;
	find_driver();
	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&primary, 0));
	if (!strcmp(what, "exits")) {
		handle(leave_at_once, false);
		load_interrupted(NULL);
		exit(7);
	} else if (!strcmp(what, "ended")) {
		leaks_are_expected = 1;
		handle(end_thread, false);
		in_a_thread(load_interrupted);
		on_calloc = NULL;
		work();
	} else if (!strcmp(what, "jumped")) {
		leaks_are_expected = 1;
		handle(jump_away, false);
		in_a_thread(jump_and_work);
		in_a_thread(work_elsewhere);
	} else if (!strcmp(what, "nested")) {
		handle(work_here, true);
		load_interrupted(NULL);
		work();
	} else if (!strcmp(what, "switched")) {
		make_coroutine();
		handle(switch_away, false);
		load_interrupted(NULL);
		work();
	} else if (!strcmp(what, "halfway")) {
		work();
		begin_record();
		work();
		sleep((unsigned)interrupt_in);
	} else {
		return 2;
	}
	return 0;
}
