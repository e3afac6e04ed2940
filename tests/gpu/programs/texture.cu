/* SPDX-License-Identifier: Apache-2.0 */
/* Textures: an array with linear filter, and plain memory fetched by index. */
#include "common.h"

#define SIZE 64

__global__ void sample(cudaTextureObject_t texture, float *out)
{
	unsigned x = threadIdx.x, y = blockIdx.x;

	/* Half-way between four texels. */
	out[y * SIZE + x] = tex2D<float>(texture, x + 1.0f, y + 1.0f);
}

__global__ void fetch(cudaTextureObject_t texture, uint32_t *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = tex1Dfetch<uint32_t>(texture, (i * 7) % (SIZE * SIZE)) + 1;
}

static cudaTextureObject_t filtered(const std::vector<float> &texels)
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaResourceDesc resource = {};
	cudaTextureDesc settings = {};
	cudaTextureObject_t texture;

	resource.resType = cudaResourceTypeArray;
	CHECK(cudaMallocArray(&resource.res.array.array, &format, SIZE, SIZE));
	CHECK(cudaMemcpy2DToArray(resource.res.array.array, 0, 0, texels.data(), SIZE * sizeof(float), SIZE * sizeof(float),
				  SIZE, cudaMemcpyHostToDevice));
	settings.addressMode[0] = settings.addressMode[1] = cudaAddressModeClamp;
	settings.filterMode = cudaFilterModeLinear;
	CHECK(cudaCreateTextureObject(&texture, &resource, &settings, NULL));
	return texture;
}

static cudaTextureObject_t linear(uint32_t *data)
{
	cudaResourceDesc resource = {};
	cudaTextureDesc settings = {};
	cudaTextureObject_t texture;

	resource.resType = cudaResourceTypeLinear;
	resource.res.linear.devPtr = data;
	resource.res.linear.desc = cudaCreateChannelDesc<uint32_t>();
	resource.res.linear.sizeInBytes = SIZE * SIZE * sizeof(uint32_t);
	CHECK(cudaCreateTextureObject(&texture, &resource, &settings, NULL));
	return texture;
}

int main(void)
{
	std::vector<float> texels(SIZE * SIZE), seen(SIZE * SIZE);
	uint32_t *words, *out;
	uint64_t sum;

	for (unsigned i = 0; i < SIZE * SIZE; i++)
		texels[i] = i % SIZE * 4 + i / SIZE * 8;
	CHECK(cudaMalloc(&words, SIZE * SIZE * sizeof(uint32_t)));
	CHECK(cudaMalloc(&out, SIZE * SIZE * sizeof(uint32_t)));
	LAUNCH(sample, SIZE, SIZE, 0, 0, filtered(texels), (float *)out);
	CHECK(cudaMemcpy(seen.data(), out, SIZE * SIZE * sizeof(float), cudaMemcpyDeviceToHost));
	for (unsigned y = 0; y + 1 < SIZE; y++)
		for (unsigned x = 0; x + 1 < SIZE; x++)
			require(seen[y * SIZE + x] == texels[y * SIZE + x] + 6, "a filtered texel");
	sum = checksum((uint32_t *)seen.data(), SIZE * SIZE);
	CHECK(cudaMemcpy(words, texels.data(), SIZE * SIZE * sizeof(uint32_t), cudaMemcpyHostToDevice));
	LAUNCH(fetch, SIZE, SIZE, 0, 0, linear(words), out);
	report(sum ^ checksum_device(out, SIZE * SIZE) * 3);
	return 0;
}
