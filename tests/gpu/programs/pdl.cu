/* SPDX-License-Identifier: Apache-2.0 */
/* Programmatic dependent launch: a kernel begins before the one ahead of it has ended. */
#include "common.h"

#define N 4096
#define ROUNDS 20

__global__ void first(uint32_t *data, uint32_t value)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	cudaGridDependencySynchronize();
	data[i] = data[i] * 5 + value;
	cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void second(uint32_t *data, uint32_t value)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t mine = i * 3;

	cudaGridDependencySynchronize();
	data[N - 1 - i] ^= mine + value;
}

static void launch(void (*kernel)(uint32_t *, uint32_t), cudaStream_t stream, uint32_t *data, uint32_t value)
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(N / 128);
	config.blockDim = dim3(128);
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK(cudaLaunchKernelEx(&config, kernel, data, value));
	tally(N / 128, 128);
}

int main(void)
{
	std::vector<uint32_t> host(N), right(N);
	cudaStream_t stream;
	uint32_t *data;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&data, N * sizeof(uint32_t)));
	CHECK(cudaMemsetAsync(data, 0, N * sizeof(uint32_t), stream));
	for (uint32_t round = 0; round < ROUNDS; round++) {
		launch(first, stream, data, round);
		launch(second, stream, data, round);
		for (uint32_t i = 0; i < N; i++)
			right[N - 1 - i] = (right[N - 1 - i] * 5 + round) ^ (i * 3 + round);
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaMemcpy(host.data(), data, N * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	require(host == right, "the values");
	report(checksum(host.data(), N));
	return 0;
}
