/* SPDX-License-Identifier: Apache-2.0 */
/* The driver API alone: every way to load a module and to launch a kernel. */
#include "driver.h"

#define BLOCKS 8
#define WIDTH 64
#define N (BLOCKS * WIDTH)
#define PARAM_BUFFER ((void *)1)	/* as the driver's header has them */
#define PARAM_SIZE ((void *)2)
#define PARAM_END ((void *)0)
#define PER_THREAD_STREAM ((void *)2)

struct launch_config {
	unsigned grid[3], block[3], shared;
	void *stream, *attributes;
	unsigned attribute_count;
};

static const char ptx[] = STEP_PTX("step");
static uint64_t out;
static uint32_t right[N];
static unsigned long launched;

static void *find(const char *name)
{
	return driver_symbol(driver, name);
}

static void follow(uint32_t value)
{
	for (unsigned i = 0; i < N; i++)
		right[i] = right[i] * 1664525u + value;
	launched++;
}

typedef int launch_call(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
			void **);
typedef int cooperative_call(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
			     void **);
typedef int config_call(const struct launch_config *, void *, void **, void **);

static void by_call(const char *name, void *function, void *stream, uint32_t value)
{
	launch_call *launch = (launch_call *)find(name);
	void *parameters[] = { &out, &value };

	CHECK(launch(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, stream, parameters, NULL));
	follow(value);
}

/* The parameters in one buffer, laid out as the kernel has them. */
static void by_buffer(void *function, uint32_t value)
{
	struct { uint64_t out; uint32_t value; } buffer = { out, value };
	size_t size = 12;
	void *extra[] = { PARAM_BUFFER, &buffer, PARAM_SIZE, &size, PARAM_END };

	CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, NULL, extra));
	follow(value);
}

static void by_config(const char *name, void *function, uint32_t value)
{
	struct launch_config config = { { BLOCKS, 1, 1 }, { WIDTH, 1, 1 }, 0, NULL, NULL, 0 };
	config_call *launch = (config_call *)find(name);
	void *parameters[] = { &out, &value };

	CHECK(launch(&config, function, parameters, NULL));
	follow(value);
}

static void by_cooperative(const char *name, void *function, uint32_t value)
{
	cooperative_call *launch = (cooperative_call *)find(name);
	void *parameters[] = { &out, &value };

	CHECK(launch(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters));
	follow(value);
}

static void all_ways(void *function)
{
	by_call("cuLaunchKernel", function, NULL, 1);
	by_call("cuLaunchKernel", function, PER_THREAD_STREAM, 2);
	CHECK(cuCtxSynchronize());
	by_call("cuLaunchKernel_ptsz", function, NULL, 3);
	CHECK(cuCtxSynchronize());
	by_buffer(function, 4);
	by_config("cuLaunchKernelEx", function, 5);
	CHECK(cuCtxSynchronize());
	by_config("cuLaunchKernelEx_ptsz", function, 6);
	CHECK(cuCtxSynchronize());
	by_cooperative("cuLaunchCooperativeKernel", function, 7);
	CHECK(cuCtxSynchronize());
	by_cooperative("cuLaunchCooperativeKernel_ptsz", function, 8);
	CHECK(cuCtxSynchronize());
}

static void *function_of(void *module)
{
	void *function;

	CHECK(cuModuleGetFunction(&function, module, "step"));
	return function;
}

/* A library's kernel, by its function in this context and by its own handle. */
static void as_library(void)
{
	typedef int load_call(void **, const void *, void *, void *, unsigned, void *, void *, unsigned);
	typedef int get_kernel_call(void **, void *, const char *);
	typedef int get_function_call(void **, void *);
	typedef int unload_call(void *);
	void *library, *kernel, *function;

	CHECK(((load_call *)find("cuLibraryLoadData"))(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	CHECK(((get_kernel_call *)find("cuLibraryGetKernel"))(&kernel, library, "step"));
	CHECK(((get_function_call *)find("cuKernelGetFunction"))(&function, kernel));
	all_ways(function);
	all_ways(kernel);
	CHECK(((unload_call *)find("cuLibraryUnload"))(library));
}

static void as_module(void)
{
	typedef int load_call(void **, const void *, unsigned, void *, void *);
	void *module;

	CHECK(cuModuleLoadData(&module, ptx));
	all_ways(function_of(module));
	CHECK(cuModuleUnload(module));
	CHECK(((load_call *)find("cuModuleLoadDataEx"))(&module, ptx, 0, NULL, NULL));
	all_ways(function_of(module));
	CHECK(cuModuleUnload(module));
}

/* From a file, which is gone before the kernel runs. */
static void as_file(void)
{
	typedef int load_call(void **, const char *);
	char path[] = "/tmp/gputrace-launches-XXXXXX";
	int fd = mkstemp(path);
	void *module;

	require(fd >= 0 && write(fd, ptx, sizeof(ptx)) == sizeof(ptx), "a file in /tmp");
	close(fd);
	CHECK(((load_call *)find("cuModuleLoad"))(&module, path));
	unlink(path);
	all_ways(function_of(module));
	CHECK(cuModuleUnload(module));
}

int main(void)
{
	uint32_t seen[N];

	driver_open();
	CHECK(cuMemAlloc_v2(&out, sizeof(seen)));
	CHECK(cuMemsetD32_v2(out, 0, N));
	as_module();
	as_library();
	as_file();
	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	require(!memcmp(seen, right, sizeof(seen)), "the values");
	report(launched, launched * N, checksum(seen, N));
	CHECK(cuMemFree_v2(out));
	driver_close();
	return 0;
}
