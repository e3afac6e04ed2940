/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that print, through a buffer of the driver's. */
#include "common.h"

__global__ void say(unsigned round, const char *word, double number)
{
	if (threadIdx.x == 0 && blockIdx.x == 0)
		printf("round %u of %s: %a, %p\n", round, word, number, (void *)(size_t)0x1234);
}

__global__ void count(void)
{
	/* One thread after the other, so that the lines have an order. */
	for (unsigned turn = 0; turn < blockDim.x; turn++) {
		if (threadIdx.x == turn)
			printf("thread %u\n", threadIdx.x);
		__syncthreads();
	}
}

int main(void)
{
	static const char word[] = "printf";
	char *device;

	CHECK(cudaMalloc(&device, sizeof(word)));
	CHECK(cudaMemcpy(device, word, sizeof(word), cudaMemcpyHostToDevice));
	for (unsigned round = 0; round < 4; round++) {
		LAUNCH(say, 4, 64, 0, 0, round, device, round / 3.0);
		CHECK(cudaDeviceSynchronize());
	}
	LAUNCH(count, 1, 40, 0, 0);
	CHECK(cudaDeviceSynchronize());
	fflush(stdout);
	report(0);
	return 0;
}
