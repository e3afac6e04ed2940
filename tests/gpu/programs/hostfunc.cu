/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions between kernels of a stream: each sees what the kernels before it did, and no more. */
#include "common.h"

#define N 1024
#define ROUNDS 16

struct round {
	const uint32_t *data;
	unsigned number;
	unsigned *done;
};

__global__ void add(uint32_t *data, uint32_t value)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

static void look(void *argument)
{
	struct round *round = (struct round *)argument;
	uint32_t right = round->number * (round->number + 1) / 2;

	require(*round->done == round->number - 1, "the order of host functions");
	for (unsigned i = 0; i < N; i++)
		require(round->data[i] == right, "what a host function sees");
	*round->done = round->number;
}

int main(void)
{
	struct round rounds[ROUNDS];
	cudaStream_t stream;
	unsigned done = 0;
	uint32_t *data;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMallocHost(&data, N * sizeof(uint32_t)));
	memset(data, 0, N * sizeof(uint32_t));
	for (unsigned i = 0; i < ROUNDS; i++) {
		rounds[i] = { data, i + 1, &done };
		LAUNCH(add, N / 128, 128, 0, stream, data, i + 1);
		CHECK(cudaLaunchHostFunc(stream, look, &rounds[i]));
	}
	CHECK(cudaStreamSynchronize(stream));
	require(done == ROUNDS, "the number of host functions");
	report(checksum(data, N));
	return 0;
}
