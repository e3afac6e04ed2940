/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that launch kernels (dynamic parallelism), one with many parameters before one
 * with few, so that what follows the few is not zero by chance.
 */
#include "common.h"

#define ROUNDS 3
#define PARENTS 4
#define WORDS 512

struct many_words {
	uint64_t words[16];
};

__global__ void child(uint32_t *data, uint32_t value)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void wide(uint32_t *data, struct many_words many)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += (uint32_t)many.words[threadIdx.x % 16];
}

__global__ void parent(uint32_t *data)
{
	struct many_words many;

	if (threadIdx.x)
		return;
	for (uint64_t &word : many.words)
		word = 0x100000000000ff00ull + blockIdx.x;
	wide<<<2, 64>>>(data + blockIdx.x * 128, many);
	child<<<2, 64>>>(data + blockIdx.x * 128, blockIdx.x + 1);
}

int main(void)
{
	std::vector<uint32_t> host(WORDS);
	uint32_t *data;

	CHECK(cudaMalloc(&data, WORDS * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, WORDS * sizeof(uint32_t)));
	for (int i = 0; i < ROUNDS; i++) {
		LAUNCH(parent, PARENTS, 32, 0, 0, data);
		LAUNCH(child, 8, 64, 0, 0, data, 10);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaMemcpy(host.data(), data, WORDS * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < WORDS; i++)
		require(host[i] == ROUNDS * (10 + 0xff00 + i / 128 + i / 128 + 1), "what children added");
	/* The host's launches; each block of parent made two more. */
	report(checksum(host.data(), WORDS));
	return 0;
}
