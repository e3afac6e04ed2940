/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA runtime on every GPU: two host threads for each, one thread that goes
 * from GPU to GPU, values that travel, a graph on each.  devices-runtime [N]: N launches
 * of each kind.  For each GPU "gpu ORDINAL PCI-ADDRESS launches N threads N", where a
 * graph's kernels count at each replay.
 */
#include "common.h"

#include <cctype>
#include <thread>

#define WIDTH 64
#define REPLAYS 5

__global__ void work(uint32_t *out, uint32_t add)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += add;
}

struct Gpu {
	int ordinal;
	unsigned blocks;
	unsigned long long launches, threads;

	size_t count() const
	{
		return (size_t)blocks * WIDTH;
	}

	void ran(unsigned long long times)
	{
		__atomic_fetch_add(&launches, times, __ATOMIC_RELAXED);
		__atomic_fetch_add(&threads, times * count(), __ATOMIC_RELAXED);
	}

	void launch(uint32_t *out, uint32_t add, cudaStream_t stream)
	{
		work<<<blocks, WIDTH, 0, stream>>>(out, add);
		CHECK(cudaGetLastError());
	}

	uint32_t *memory()
	{
		uint32_t *out;

		CHECK(cudaMalloc(&out, count() * sizeof(*out)));
		CHECK(cudaMemset(out, 0, count() * sizeof(*out)));
		CHECK(cudaDeviceSynchronize());
		return out;
	}

	void expect(const uint32_t *out, uint32_t value) const
	{
		std::vector<uint32_t> seen(count());

		CHECK(cudaMemcpy(seen.data(), out, count() * sizeof(*out), cudaMemcpyDeviceToHost));
		for (uint32_t one : seen) {
			if (one != value) {
				fprintf(stderr, "GPU %d: %u, not %u\n", ordinal, one, value);
				exit(1);
			}
		}
	}
};

static std::vector<Gpu> gpus;

static void run_thread(Gpu *gpu, unsigned n)
{
	cudaStream_t stream;
	uint32_t *out;

	CHECK(cudaSetDevice(gpu->ordinal));
	CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	out = gpu->memory();
	for (unsigned i = 0; i < n; i++)
		gpu->launch(out, 1, stream);
	gpu->ran(n);
	CHECK(cudaStreamSynchronize(stream));
	gpu->expect(out, n);
}

/* From GPU to GPU, and at the end round once more by copies. */
static void run_switch(unsigned n)
{
	std::vector<uint32_t *> out;
	uint32_t sum = 0;

	for (Gpu &gpu : gpus) {
		CHECK(cudaSetDevice(gpu.ordinal));
		out.push_back(gpu.memory());
	}
	for (unsigned i = 0; i < n; i++) {
		for (Gpu &gpu : gpus) {
			CHECK(cudaSetDevice(gpu.ordinal));
			gpu.launch(out[gpu.ordinal], gpu.ordinal + 1, 0);
			gpu.ran(1);
		}
	}
	for (Gpu &gpu : gpus) {
		CHECK(cudaSetDevice(gpu.ordinal));
		gpu.expect(out[gpu.ordinal], n * (gpu.ordinal + 1));
	}
	for (size_t i = 0; i + 1 < gpus.size(); i++) {
		size_t bytes = std::min(gpus[i].count(), gpus[i + 1].count()) * sizeof(uint32_t);

		CHECK(cudaMemcpyPeer(out[i + 1], gpus[i + 1].ordinal, out[i], gpus[i].ordinal, bytes));
		sum = n;
	}
	if (gpus.size() > 1) {
		uint32_t first;

		CHECK(cudaMemcpy(&first, out[gpus.size() - 1], sizeof(first), cudaMemcpyDeviceToHost));
		if (first != sum) {
			fprintf(stderr, "%u has travelled, not %u\n", first, sum);
			exit(1);
		}
	}
}

static void run_graph(Gpu &gpu)
{
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	uint32_t *out;

	CHECK(cudaSetDevice(gpu.ordinal));
	CHECK(cudaStreamCreate(&stream));
	out = gpu.memory();
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	gpu.launch(out, 1, stream);
	gpu.launch(out, 2, stream);
	CHECK(cudaStreamEndCapture(stream, &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < REPLAYS; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
	gpu.ran(2 * REPLAYS);
	gpu.expect(out, 3 * REPLAYS);
	CHECK(cudaGraphExecDestroy(exec));
	CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	std::vector<std::thread> threads;
	int count;

	CHECK(cudaGetDeviceCount(&count));
	for (int i = 0; i < count; i++)
		gpus.push_back(Gpu{ i, 3 + 2 * (unsigned)i, 0, 0 });
	for (int i = 0; i < 2 * count; i++)
		threads.emplace_back(run_thread, &gpus[i % count], n);
	for (std::thread &thread : threads)
		thread.join();
	run_switch(n);
	for (Gpu &gpu : gpus)
		run_graph(gpu);
	for (Gpu &gpu : gpus) {
		char address[32];

		CHECK(cudaDeviceGetPCIBusId(address, sizeof(address), gpu.ordinal));
		for (char *c = address; *c; c++)
			*c = (char)tolower(*c);
		printf("gpu %d %s launches %llu threads %llu\n", gpu.ordinal, address, gpu.launches, gpu.threads);
	}
	return 0;
}
