/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels with no parameter, with 4,000 bytes of them, and with as many as the driver allows. */
#include "common.h"

template <unsigned WORDS> struct block_of_words {
	uint32_t words[WORDS];
};

__device__ uint32_t total;

__global__ void none(void)
{
	atomicAdd(&total, 1);
}

template <unsigned WORDS> __global__ void many(const __grid_constant__ block_of_words<WORDS> words, uint32_t *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	/* Also through a pointer. */
	const uint32_t *from = words.words;
	out[i] += from[i % WORDS] + words.words[WORDS - 1 - i % WORDS];
}

template <unsigned WORDS> static void run(uint32_t *out)
{
	static block_of_words<WORDS> words;

	for (unsigned i = 0; i < WORDS; i++)
		words.words[i] = i * 2654435761u;
	LAUNCH(many<WORDS>, 8, 128, 0, 0, words, out);
}

int main(void)
{
	uint32_t *out, seen;

	CHECK(cudaMalloc(&out, 1024 * sizeof(uint32_t)));
	CHECK(cudaMemset(out, 0, 1024 * sizeof(uint32_t)));
	LAUNCH(none, 3, 33, 0, 0);
	run<1000>(out);
	run<1020>(out);		/* together with the pointer 4,088 of the old limit of 4,096 */
	run<8187>(out);		/* 32,760 bytes; 32,764 is the limit */
	CHECK(cudaMemcpyFromSymbol(&seen, total, sizeof(seen)));
	require(seen == 99, "the kernel without parameters");
	report(checksum_device(out, 1024));
	return 0;
}
