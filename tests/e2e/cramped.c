/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that is sparing with stacks:
 *
 *	cramped thread		a thread with as little as there can be does all of its work
 *	cramped default		threads have no more unless who makes them says so
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "program.h"

static const char ptx[] =
	".version 6.3\n.target sm_75\n.address_size 64\n"
	".global .align 4 .u32 counter = 5;\n"
	/* one more for each thread; takes no parameters */
	".visible .entry bump\n{\n"
	"	.reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
	"	mov.u64 %rd1, counter; atom.global.add.u32 %r1, [%rd1], 1; ret;\n}\n";

#define PLENTY (1u << 20)

static atomic_uint cramped;	/* threads that somebody else has made so */

/* Called instead of the C library's, by the agent too. */
__attribute__((visibility("default")))
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *data)
{
	static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	size_t bytes = 0;
	Dl_info caller;

	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "pthread_create");
	if (attr)
		pthread_attr_getstacksize(attr, &bytes);
	if (dladdr(__builtin_return_address(0), &caller) && strstr(caller.dli_fname, "libgputrace-agent"))
		cramped += bytes < PLENTY;
	return next(thread, attr, run, data);
}

static void *work(void *unused)
{
	CUdeviceptr address;
	CUcontext context;
	CUmodule module;
	CUfunction bump;
	uint32_t value;
	size_t size;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&bump, module, "bump"));
	for (int i = 0; i < 2; i++)
		CHECK(cuLaunchKernel(bump, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cuModuleGetGlobal_v2(&address, &size, module, "counter"));
	CHECK(cuMemcpyDtoH_v2(&value, address, 4));
	printf("counter %u\n", value);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t thread;

	find_driver();
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	if (argc > 1 && !strcmp(argv[1], "default")) {
		pthread_setattr_default_np(&attr);
		work(NULL);
	} else {
		pthread_create(&thread, &attr, work, NULL);
		pthread_join(thread, NULL);
	}
	printf("%u cramped\n", cramped);
	return 0;
}
