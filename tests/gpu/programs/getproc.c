/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every driver call by cuGetProcAddress, the old function and the new one, for old and
 * new versions of CUDA and with either default stream.
 */
#include "driver.h"

#define BLOCKS 4
#define WIDTH 64
#define N (BLOCKS * WIDTH)
#define LEGACY_STREAM 1
#define PER_THREAD_STREAM 2

struct launch_config {
	unsigned grid[3], block[3], shared;
	void *stream, *attributes;
	unsigned attribute_count;
};

typedef int old_resolver(const char *, void **, int, uint64_t);
typedef int new_resolver(const char *, void **, int, uint64_t, int *);
typedef int launch_call(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
			void **);
typedef int config_call(const struct launch_config *, void *, void **, void **);

static const char ptx[] = STEP_PTX("step");
static old_resolver *resolve_old;
static new_resolver *resolve_new;

static void *resolve(int old, const char *name, int version, uint64_t flags)
{
	void *address = NULL;
	int status;

	CHECK(old ? resolve_old(name, &address, version, flags) : resolve_new(name, &address, version, flags, &status));
	require(address != NULL, name);
	return address;
}

/* One module, loaded and launched through what was resolved: two launches, three where there is cuLaunchKernelEx. */
static unsigned run(int old, int version, uint64_t flags, uint64_t out, uint32_t value)
{
	int (*load)(void **, const void *) = (int (*)(void **, const void *))resolve(old, "cuModuleLoadData", version, flags);
	int (*get)(void **, void *, const char *) =
		(int (*)(void **, void *, const char *))resolve(old, "cuModuleGetFunction", version, flags);
	int (*unload)(void *) = (int (*)(void *))resolve(old, "cuModuleUnload", version, flags);
	int (*wait)(void) = (int (*)(void))resolve(old, "cuCtxSynchronize", version, flags);
	launch_call *launch = (launch_call *)resolve(old, "cuLaunchKernel", version, flags);
	struct launch_config config = { { BLOCKS, 1, 1 }, { WIDTH, 1, 1 }, 0, NULL, NULL, 0 };
	void *module, *function, *parameters[] = { &out, &value };
	unsigned count = 2;

	CHECK(load(&module, ptx));
	CHECK(get(&function, module, "step"));
	CHECK(launch(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	CHECK(launch(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	if (version >= 11060) {
		config_call *launch_config = (config_call *)resolve(old, "cuLaunchKernelEx", version, flags);

		CHECK(launch_config(&config, function, parameters, NULL));
		count++;
	}
	CHECK(wait());
	CHECK(unload(module));
	return count;
}

int main(void)
{
	static const int versions[] = { 4000, 7000, 11030, 11060, 12000, 12080 };
	static const uint64_t streams[] = { 0, LEGACY_STREAM, PER_THREAD_STREAM };
	unsigned long launched = 0;
	uint32_t seen[N], right = 0;
	uint64_t out;

	driver_open();
	resolve_old = (old_resolver *)driver_symbol(driver, "cuGetProcAddress");
	resolve_new = (new_resolver *)driver_symbol(driver, "cuGetProcAddress_v2");
	/* As the runtime does: the resolver by the resolver. */
	resolve_old = (old_resolver *)resolve(1, "cuGetProcAddress", 11030, 0);
	resolve_new = (new_resolver *)resolve(0, "cuGetProcAddress", 12000, 0);
	CHECK(cuMemAlloc_v2(&out, sizeof(seen)));
	CHECK(cuMemsetD32_v2(out, 0, N));
	for (unsigned i = 0; i < 2 * 6 * 3; i++) {
		int version = versions[i / 2 % 6];
		unsigned count;

		/* Before there were streams of threads. */
		if (streams[i / 12] == PER_THREAD_STREAM && version < 7000)
			continue;
		count = run(i % 2, version, streams[i / 12], out, i);
		launched += count;
		while (count--)
			right = right * 1664525u + i;
	}
	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	for (unsigned i = 0; i < N; i++)
		require(seen[i] == right, "the values");
	report(launched, launched * N, checksum(seen, N));
	CHECK(cuMemFree_v2(out));
	driver_close();
	return 0;
}
