/* SPDX-License-Identifier: Apache-2.0 */
/* Several processes: children that forked before CUDA was used, one that runs the program anew, and their parent. */
#include "driver.h"

#include <sys/wait.h>

#define CHILDREN 3
#define ROUNDS 5
#define BLOCKS 4
#define WIDTH 64
#define N (BLOCKS * WIDTH)

static const char ptx[] = STEP_PTX("step");

static uint64_t work(uint32_t seed)
{
	void *module, *function;
	uint32_t seen[N], right = 0;
	uint64_t out;

	driver_open();
	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, "step"));
	CHECK(cuMemAlloc_v2(&out, sizeof(seen)));
	CHECK(cuMemsetD32_v2(out, 0, N));
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t value = seed + i;
		void *parameters[] = { &out, &value };

		CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
		right = right * 1664525u + value;
	}
	CHECK(cuMemcpyDtoH_v2(seen, out, sizeof(seen)));
	for (unsigned i = 0; i < N; i++)
		require(seen[i] == right, "the values of a process");
	driver_close();
	return checksum(seen, N);
}

int main(int argc, char **argv)
{
	uint64_t sum;
	int status;

	if (argc > 1) {
		work(strtoul(argv[1], NULL, 0));
		return 0;
	}
	for (unsigned i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		if (i == 0)
			execl("/proc/self/exe", argv[0], "700", (char *)NULL);
		work(i * 100);
		exit(0);
	}
	sum = work(1000);
	for (unsigned i = 0; i < CHILDREN; i++)
		require(wait(&status) > 0 && status == 0, "a child");
	report((CHILDREN + 1) * ROUNDS, (CHILDREN + 1) * ROUNDS * N, sum);
	return 0;
}
