/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels that call functions which the driver supplies: assertions that hold, printf by one thread, room from the
 * heap; and one of the compiler's; between accesses whose values are needed behind the call, and beside threads of the same warp that access
 * memory meanwhile.  On standard error, for each kind, a line of what there was to see: kind, space, how many, bytes.
 */
#include "common.h"

#include <cassert>

#define WIDTH 256
#define BLOCKS 64
#define N (WIDTH * BLOCKS)
#define SAYS (N / 2 + 5)	/* the thread that prints */
#define TURNS 3

enum kind { LOAD, STORE, ATOMIC, KINDS };

__global__ void asserting(volatile int *out, const volatile int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, first = in[i], second;

	assert(first >= 0);
	second = in[first % N];
	assert(second >= 0);
	out[i] = first + second;
	atomicAdd((int *)out + N + i % 64, second);
}

__global__ void printing(volatile int *out, const volatile int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, first = in[i];

	if (i == SAYS)
		printf("thread %d has %d\n", i, first);
	out[i] = first * 3 + in[(i + 1) % N];
}

/* Dividing numbers of 64 bits is a function of the compiler's. */
__global__ void dividing(volatile int *out, const volatile int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned long long first = in[i] * 0x9e3779b97f4a7c15ull, second = in[(i + 1) % N];

	out[i] = (int)(first / (second | 1));
}

/* Odd threads and even ones are apart for a while. */
__global__ void allotting(volatile int *out, const volatile int *in)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, sum = in[i];

	for (int turn = 0; turn < TURNS; turn++) {
		if (i & 1) {
			void *room = malloc(16 + turn);

			sum += room != NULL;
			free(room);
		} else {
			sum += in[(i + turn) % N];
			out[i] = sum;
		}
	}
	out[i] = sum;
}

static uint64_t take(const int *out)
{
	uint64_t sum = checksum_device((const uint32_t *)out, 2 * N);

	CHECK(cudaMemset((void *)out, 0, 2 * N * sizeof(int)));
	return sum;
}

int main(void)
{
	static const unsigned long long counts[KINDS] = {
		2 * N + 2 * N + 2 * N + N + TURNS * N / 2,
		N + N + N + N + TURNS * N / 2,
		N,
	};
	std::vector<int> host(N);
	uint64_t sum = 0;
	int *in, *out;

	for (unsigned i = 0; i < N; i++)
		host[i] = (int)((i * 2654435761u + 7) >> 8);
	CHECK(cudaMalloc(&in, N * sizeof(int)));
	CHECK(cudaMalloc(&out, 2 * N * sizeof(int)));
	CHECK(cudaMemcpy(in, host.data(), N * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(out, 0, 2 * N * sizeof(int)));
	LAUNCH(asserting, BLOCKS, WIDTH, 0, 0, out, in);
	sum = sum * 31 + take(out);
	LAUNCH(printing, BLOCKS, WIDTH, 0, 0, out, in);
	sum = sum * 31 + take(out);
	LAUNCH(dividing, BLOCKS, WIDTH, 0, 0, out, in);
	sum = sum * 31 + take(out);
	LAUNCH(allotting, BLOCKS, WIDTH, 0, 0, out, in);
	sum = sum * 31 + take(out);
	for (int kind = 0; kind < KINDS; kind++)
		fprintf(stderr, "points %d 1 %llu %llu\n", kind, counts[kind], 4 * counts[kind]);
	fflush(stdout);
	report(sum);
	return 0;
}
