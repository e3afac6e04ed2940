/* SPDX-License-Identifier: Apache-2.0 */
/* Three contexts on one device, the same module in each, one destroyed while the others go on. */
#include "driver.h"

#define CONTEXTS 3
#define BLOCKS 4
#define WIDTH 64
#define N (BLOCKS * WIDTH)

static const char ptx[] = STEP_PTX("step");

struct one {
	void *context, *module, *function;
	uint64_t out;
	uint32_t right;
};

static void open_one(struct one *one)
{
	int (*create)(void **, unsigned, int) = (int (*)(void **, unsigned, int))driver_symbol(driver, "cuCtxCreate_v2");

	CHECK(create(&one->context, 0, device));
	CHECK(cuModuleLoadData(&one->module, ptx));
	CHECK(cuModuleGetFunction(&one->function, one->module, "step"));
	CHECK(cuMemAlloc_v2(&one->out, N * sizeof(uint32_t)));
	CHECK(cuMemsetD32_v2(one->out, 0, N));
}

static void launch(struct one *one, uint32_t value)
{
	void *parameters[] = { &one->out, &value };

	CHECK(cuCtxSetCurrent(one->context));
	CHECK(cuLaunchKernel(one->function, BLOCKS, 1, 1, WIDTH, 1, 1, 0, NULL, parameters, NULL));
	one->right = one->right * 1664525u + value;
}

/* Adds what the context's kernels computed to the sum. */
static uint64_t close_one(struct one *one)
{
	int (*destroy)(void *) = (int (*)(void *))driver_symbol(driver, "cuCtxDestroy_v2");
	uint32_t seen[N];

	CHECK(cuCtxSetCurrent(one->context));
	CHECK(cuMemcpyDtoH_v2(seen, one->out, sizeof(seen)));
	for (unsigned i = 0; i < N; i++)
		require(seen[i] == one->right, "the values of a context");
	CHECK(destroy(one->context));
	return checksum(seen, N);
}

int main(void)
{
	struct one contexts[CONTEXTS] = { 0 };
	unsigned long launched = 0;
	uint64_t sum = 0;

	driver_load();
	CHECK(cuDeviceGet(&device, 0));
	for (unsigned i = 0; i < CONTEXTS; i++)
		open_one(&contexts[i]);
	for (unsigned round = 0; round < 10; round++) {
		for (unsigned i = 0; i < CONTEXTS; i++) {
			if (round >= 5 && i == 1)
				continue;
			launch(&contexts[i], round * 10 + i);
			launched++;
		}
		if (round == 4)
			sum = close_one(&contexts[1]);
	}
	sum ^= close_one(&contexts[0]) * 3;
	sum ^= close_one(&contexts[2]) * 5;
	report(launched, launched * N, sum);
	return 0;
}
