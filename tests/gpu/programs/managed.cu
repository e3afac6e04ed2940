/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory that host and kernels change in turns. */
#include "common.h"

#define N 65536
#define ROUNDS 4

__managed__ uint32_t rounds_done;

__global__ void step(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = data[i] * 1664525u + i;
	if (i == 0)
		rounds_done++;
}

int main(void)
{
	std::vector<uint32_t> right(N);
	uint32_t *data;

	CHECK(cudaMallocManaged(&data, N * sizeof(uint32_t)));
	for (unsigned i = 0; i < N; i++)
		data[i] = right[i] = i;
	for (unsigned round = 0; round < ROUNDS; round++) {
		LAUNCH(step, N / 256, 256, 0, 0, data);
		CHECK(cudaDeviceSynchronize());
		for (unsigned i = 0; i < N; i++) {
			right[i] = right[i] * 1664525u + i;
			data[i] += round;
			right[i] += round;
		}
	}
	require(rounds_done == ROUNDS, "the managed variable");
	require(!memcmp(data, right.data(), N * sizeof(uint32_t)), "the managed array");
	report(checksum(data, N));
	CHECK(cudaFree(data));
	return 0;
}
