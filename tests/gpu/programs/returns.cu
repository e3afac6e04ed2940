/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that end in many ways: in branches, in a loop, by exit, after a call. */
#include "common.h"

__device__ __noinline__ uint32_t mix(uint32_t value, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (value % 7 == 3)
			return value + i;
		value = value * 1664525u + 1013904223u;
	}
	return value;
}

__device__ __noinline__ void leave_if(bool condition, uint32_t *slot)
{
	if (condition) {
		*slot = 99;
		asm volatile("exit;");
	}
}

__global__ void branches(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i % 5 == 0) {
		data[i] = 1;
		return;
	}
	if (threadIdx.x == 31)
		return;
	data[i] = mix(i, 20);
	if (data[i] & 1)
		return;
	data[i] += 7;
}

__global__ void loop(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	for (unsigned k = 0; k < 100; k++) {
		data[i] += k;
		if (k == i % 64)
			return;
	}
}

__global__ void exits(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] += 2;
	asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %0, 100;\n\t@p exit;\n\t}" :: "r"(i));
	leave_if(i % 3 == 0, &data[i]);
	data[i] *= 5;
}

/* A whole warp leaves before the others meet at a barrier. */
__global__ void barrier(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x / 32 == 1)
		return;
	asm volatile("barrier.sync 1, %0;" :: "r"(blockDim.x - 32));
	data[i] += 11;
}

/* Runs to its end without a return of its own, for every thread or none. */
__global__ void uniform(uint32_t *data, int skip)
{
	if (skip)
		return;
	data[blockIdx.x * blockDim.x + threadIdx.x] ^= 0x5555;
}

int main(void)
{
	const unsigned n = 1 << 14;
	uint32_t *data;

	CHECK(cudaMalloc(&data, n * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, n * sizeof(uint32_t)));
	LAUNCH(branches, n / 128, 128, 0, 0, data);
	LAUNCH(loop, n / 128, 128, 0, 0, data);
	LAUNCH(exits, n / 128, 128, 0, 0, data);
	LAUNCH(barrier, n / 128, 128, 0, 0, data);
	LAUNCH(uniform, n / 128, 128, 0, 0, data, 0);
	LAUNCH(uniform, n / 128, 128, 0, 0, data, 1);
	report(checksum_device(data, n));
	return 0;
}
