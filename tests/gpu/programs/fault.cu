/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel that is right, then one that fails: fault assert | trap | address.
 * The program expects the error, says its name, and ends well.
 */
#include "common.h"

#include <cassert>

__global__ void right(uint32_t *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += 3;
}

__global__ void assertion(uint32_t *data)
{
	assert(data[threadIdx.x] == 7);
}

__global__ void trap(uint32_t *data)
{
	if (data[threadIdx.x] == 3)
		__trap();
}

__global__ void address(uint32_t *data)
{
	data[(size_t)threadIdx.x << 44] = 1;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "trap";
	uint32_t *data;

	CHECK(cudaMalloc(&data, 4096));
	CHECK(cudaMemset(data, 0, 4096));
	LAUNCH(right, 4, 256, 0, 0, data);
	report(checksum_device(data, 1024));
	if (!strcmp(how, "assert"))
		assertion<<<1, 64>>>(data);
	else if (!strcmp(how, "trap"))
		trap<<<1, 64>>>(data);
	else
		address<<<1, 64>>>(data);
	printf("then %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	/* It stays. */
	printf("and %s\n", cudaGetErrorName(cudaMemset(data, 0, 4096)));
	return 0;
}
