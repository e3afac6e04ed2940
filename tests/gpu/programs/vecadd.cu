/* SPDX-License-Identifier: Apache-2.0 */
/* Vector additions of several sizes on two streams: vecadd [--launches N] */
#include "common.h"

__global__ void vecadd(const uint32_t *a, const uint32_t *b, uint32_t *out, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] += a[i] + b[i];
}

__global__ void fill(uint32_t *out, unsigned n, uint32_t seed)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = i * 2654435761u + seed;
}

int main(int argc, char **argv)
{
	/* One thread, less than a warp, no multiple of the block, and large. */
	static const unsigned sizes[] = { 1, 31, 1000, 4096, 100003, 1 << 20 };
	const unsigned count = sizeof(sizes) / sizeof(sizes[0]), most = 1 << 20;
	unsigned long rounds = option(argc, argv, "--launches", 60);
	cudaStream_t streams[2];
	uint32_t *a[2], *b[2], *out[2];
	uint64_t sum = 0;

	for (int s = 0; s < 2; s++) {
		CHECK(cudaStreamCreate(&streams[s]));
		CHECK(cudaMalloc(&a[s], most * sizeof(uint32_t)));
		CHECK(cudaMalloc(&b[s], most * sizeof(uint32_t)));
		CHECK(cudaMalloc(&out[s], most * sizeof(uint32_t)));
		CHECK(cudaMemsetAsync(out[s], 0, most * sizeof(uint32_t), streams[s]));
		LAUNCH(fill, most / 256, 256, 0, streams[s], a[s], most, 1);
		LAUNCH(fill, most / 256, 256, 0, streams[s], b[s], most, 2);
	}
	for (unsigned long i = 0; i < rounds; i++) {
		unsigned n = sizes[i % count], s = i / count % 2, block = i % 3 ? 256 : 96;

		LAUNCH(vecadd, (n + block - 1) / block, block, 0, streams[s], a[s], b[s], out[s], n);
	}
	for (int s = 0; s < 2; s++) {
		CHECK(cudaStreamSynchronize(streams[s]));
		sum ^= checksum_device(out[s], most);
		sum *= 31;
	}
	report(sum);
	return 0;
}
