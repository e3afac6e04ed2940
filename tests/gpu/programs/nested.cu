/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that launch kernels (dynamic parallelism). */
#include "common.h"

__global__ void child(uint32_t *data, uint32_t value)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += value;
}

__global__ void parent(uint32_t *data)
{
	if (threadIdx.x == 0)
		child<<<2, 64>>>(data + blockIdx.x * 128, blockIdx.x + 1);
}

int main(void)
{
	std::vector<uint32_t> host(512);
	uint32_t *data;

	CHECK(cudaMalloc(&data, 512 * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, 512 * sizeof(uint32_t)));
	for (int i = 0; i < 3; i++) {
		LAUNCH(parent, 4, 32, 0, 0, data);
		LAUNCH(child, 8, 64, 0, 0, data, 10);
		CHECK(cudaDeviceSynchronize());
	}
	CHECK(cudaMemcpy(host.data(), data, 512 * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < 512; i++)
		require(host[i] == 3 * (10 + i / 128 + 1), "what children added");
	/* Those that the host made; each block of parent made one more, of 2 x 64 threads. */
	report(checksum(host.data(), 512));
	return 0;
}
