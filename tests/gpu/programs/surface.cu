/* SPDX-License-Identifier: Apache-2.0 */
/* A surface, written by one kernel, changed by another, and read back as an array. */
#include "common.h"

#define SIZE 64

__global__ void write(cudaSurfaceObject_t surface)
{
	unsigned x = threadIdx.x, y = blockIdx.x;

	surf2Dwrite(make_uint2(x * 3 + y, x ^ y), surface, x * sizeof(uint2), y);
}

__global__ void change(cudaSurfaceObject_t surface)
{
	unsigned x = threadIdx.x, y = blockIdx.x;
	uint2 value = surf2Dread<uint2>(surface, x * sizeof(uint2), y);

	/* Beyond the edge reads 0. */
	value.x += surf2Dread<uint2>(surface, (x + SIZE) * sizeof(uint2), y, cudaBoundaryModeZero).x;
	value.y += value.x;
	surf2Dwrite(value, surface, x * sizeof(uint2), y);
}

int main(void)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<uint2>();
	std::vector<uint2> host(SIZE * SIZE);
	cudaResourceDesc resource = {};
	cudaSurfaceObject_t surface;

	resource.resType = cudaResourceTypeArray;
	CHECK(cudaMallocArray(&resource.res.array.array, &format, SIZE, SIZE, cudaArraySurfaceLoadStore));
	CHECK(cudaCreateSurfaceObject(&surface, &resource));
	LAUNCH(write, SIZE, SIZE, 0, 0, surface);
	LAUNCH(change, SIZE, SIZE, 0, 0, surface);
	CHECK(cudaMemcpy2DFromArray(host.data(), SIZE * sizeof(uint2), resource.res.array.array, 0, 0, SIZE * sizeof(uint2),
				    SIZE, cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < SIZE * SIZE; i++) {
		unsigned x = i % SIZE, y = i / SIZE;

		require(host[i].x == x * 3 + y && host[i].y == (x ^ y) + x * 3 + y, "an element of the surface");
	}
	report(checksum((uint32_t *)host.data(), 2 * SIZE * SIZE));
	return 0;
}
