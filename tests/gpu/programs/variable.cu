/* SPDX-License-Identifier: Apache-2.0 */
/* One __device__ variable, counted up by kernels and read and written by the host. */
#include "common.h"

__device__ unsigned long long counter = 5;
__managed__ unsigned managed = 3;

__global__ void count(void)
{
	atomicAdd(&counter, 1);
	if (blockIdx.x == 0 && threadIdx.x == 0)
		managed += 2;
}

static unsigned long long read(void)
{
	unsigned long long value;

	CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
	return value;
}

static void expect(unsigned long long value, unsigned long long right)
{
	if (value == right)
		return;
	fprintf(stderr, "the variable is %llu, not %llu\n", value, right);
	exit(1);
}

int main(void)
{
	unsigned long long start = 1000;

	expect(read(), 5);
	LAUNCH(count, 10, 64, 0, 0);
	expect(read(), 645);
	CHECK(cudaMemcpyToSymbol(counter, &start, sizeof(start)));
	LAUNCH(count, 10, 64, 0, 0);
	LAUNCH(count, 10, 64, 0, 0);
	CHECK(cudaDeviceSynchronize());
	expect(read(), 2280);
	expect(managed, 9);
	report(read());
	return 0;
}
