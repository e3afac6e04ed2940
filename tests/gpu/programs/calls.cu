/* SPDX-License-Identifier: Apache-2.0 */
/* Recursion, pointers to functions, virtual functions, and memory from the device's heap. */
#include "common.h"

__device__ uint32_t ackermann(uint32_t m, uint32_t n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

__device__ __noinline__ uint32_t plus(uint32_t a, uint32_t b) { return a + b; }
__device__ __noinline__ uint32_t times(uint32_t a, uint32_t b) { return a * b; }
__device__ __noinline__ uint32_t mixed(uint32_t a, uint32_t b) { return a ^ b << 3; }
__device__ uint32_t (*const table[])(uint32_t, uint32_t) = { plus, times, mixed };

struct shape {
	__device__ virtual uint32_t area(void) const = 0;
};

struct square : shape {
	uint32_t side;
	__device__ square(uint32_t side) : side(side) {}
	__device__ uint32_t area(void) const override { return side * side; }
};

struct bar : shape {
	uint32_t length;
	__device__ bar(uint32_t length) : length(length) {}
	__device__ uint32_t area(void) const override { return length; }
};

__global__ void recurse(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] += ackermann(2, i % 4);
}

__global__ void by_pointer(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = table[(i + data[i]) % 3](data[i], i);
}

__global__ void by_class(uint32_t *data)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	shape *one;

	if (i % 2)
		one = new square(i);
	else
		one = new bar(i);
	data[i] += one->area();
	if (i % 2)
		delete static_cast<square *>(one);
	else
		delete static_cast<bar *>(one);
}

int main(void)
{
	uint32_t *data;

	CHECK(cudaMalloc(&data, 1024 * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, 1024 * sizeof(uint32_t)));
	CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
	LAUNCH(recurse, 8, 128, 0, 0, data);
	LAUNCH(by_pointer, 8, 128, 0, 0, data);
	LAUNCH(by_class, 8, 128, 0, 0, data);
	report(checksum_device(data, 1024));
	return 0;
}
