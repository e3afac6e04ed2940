/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the traced programs share: they count what they launch and say so at the
 * end, with a checksum of what their kernels computed, one "word number" a line.
 */
#ifndef COMMON_H
#define COMMON_H

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "program.h"

#define CHECK(call) check((call), #call)
static inline void check(cudaError_t error, const char *call)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
	exit(1);
}

static unsigned long long launches, threads, warps;

static inline unsigned long long volume(dim3 size)
{
	return (unsigned long long)size.x * size.y * size.z;
}

/* Count `times` runs of a kernel. */
static inline void tally(dim3 grid, dim3 block, unsigned long long times = 1)
{
	unsigned long long blocks = volume(grid), width = volume(block);

	__atomic_fetch_add(&launches, times, __ATOMIC_RELAXED);
	__atomic_fetch_add(&threads, times * blocks * width, __ATOMIC_RELAXED);
	__atomic_fetch_add(&warps, times * blocks * ((width + 31) / 32), __ATOMIC_RELAXED);
}

#define LAUNCH(kernel, grid, block, shared, stream, ...) do { \
	kernel<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__); \
	CHECK(cudaGetLastError()); \
	tally((grid), (block)); \
} while (0)

static inline uint64_t checksum_device(const uint32_t *words, size_t count)
{
	std::vector<uint32_t> host(count);

	CHECK(cudaMemcpy(host.data(), words, count * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	return checksum(host.data(), count);
}

/* For programs that do not know what a library launches on their behalf. */
static inline void report_checksum(uint64_t sum)
{
	printf("checksum %016llx\n", (unsigned long long)sum);
}

static inline void report(uint64_t sum)
{
	printf("launches %llu\nthreads %llu\nwarps %llu\n", launches, threads, warps);
	report_checksum(sum);
}

static inline bool has(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

#endif
