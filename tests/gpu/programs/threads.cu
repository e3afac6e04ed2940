/* SPDX-License-Identifier: Apache-2.0 */
/* Eight host threads launch at the same time, each on a stream of its own: threads [--launches N] */
#include "common.h"

#include <thread>

#define THREADS 8
#define WORDS 2048

__global__ void step(uint32_t *data, uint32_t value)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = data[i] * 1664525u + value;
}

static void work(uint32_t *data, unsigned seed, unsigned long count)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	for (unsigned long i = 0; i < count; i++) {
		LAUNCH(step, WORDS / 128, 128, 0, stream, data, seed + i);
		if (i % 50 == 49)
			CHECK(cudaStreamSynchronize(stream));
	}
	CHECK(cudaStreamSynchronize(stream));
	CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
	unsigned long count = option(argc, argv, "--launches", 250);
	std::vector<std::thread> workers;
	uint32_t *data;

	CHECK(cudaMalloc(&data, THREADS * WORDS * sizeof(uint32_t)));
	CHECK(cudaMemset(data, 0, THREADS * WORDS * sizeof(uint32_t)));
	CHECK(cudaDeviceSynchronize());
	for (unsigned i = 0; i < THREADS; i++)
		workers.emplace_back(work, data + i * WORDS, i * 1000, count);
	for (std::thread &worker : workers)
		worker.join();
	report(checksum_device(data, THREADS * WORDS));
	return 0;
}
