/* SPDX-License-Identifier: Apache-2.0 */
/* What threads of a warp do together: shuffles, votes, matches, reductions, in divergent code too. */
#include "common.h"

__global__ void together(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	uint32_t value = data[i];

	for (int step = 16; step; step /= 2)
		value += __shfl_xor_sync(~0u, value, step);
	value ^= __ballot_sync(~0u, value & 1 << lane % 8);
	value += __match_any_sync(~0u, i % 5);
	value += __reduce_add_sync(~0u, lane * value);
	data[i] = value;
}

__global__ void divergent(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	uint32_t value = data[i];

	for (unsigned k = 0; k < lane; k++) {
		if ((value >> k % 32) & 1)
			value = value * 3 + k;
		else
			value ^= k << 4;
		__syncwarp(__activemask());
	}
	if (lane % 3 == 0) {
		uint32_t mask = 0x49249249;	/* lanes 0, 3, 6, ... */

		value += __shfl_sync(mask, value, 30);
		value += __popc(__ballot_sync(mask, value & 1));
	}
	__syncwarp();
	data[i] = value + __shfl_down_sync(~0u, value, 1);
}

int main(void)
{
	const unsigned n = 8192;
	std::vector<uint32_t> host(n);
	uint32_t *data;

	for (unsigned i = 0; i < n; i++)
		host[i] = i * 2246822519u;
	CHECK(cudaMalloc(&data, n * sizeof(uint32_t)));
	CHECK(cudaMemcpy(data, host.data(), n * sizeof(uint32_t), cudaMemcpyHostToDevice));
	LAUNCH(together, n / 256, 256, 0, 0, data);
	LAUNCH(divergent, n / 256, 256, 0, 0, data);
	report(checksum_device(data, n));
	return 0;
}
