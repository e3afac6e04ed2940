/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many short kernels: many [--launches N] [--batch N], with a synchronise after
 * each batch (of one, by default).
 */
#include "common.h"

__global__ void bump(uint32_t *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main(int argc, char **argv)
{
	unsigned long count = option(argc, argv, "--launches", 10000), batch = option(argc, argv, "--batch", 1);
	cudaStream_t stream;
	uint32_t *out;

	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaMalloc(&out, 1024 * sizeof(uint32_t)));
	CHECK(cudaMemset(out, 0, 1024 * sizeof(uint32_t)));
	for (unsigned long i = 1; i <= count; i++) {
		LAUNCH(bump, 8, 128, 0, stream, out);
		if (i % batch == 0)
			CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	report(checksum_device(out, 1024));
	return 0;
}
