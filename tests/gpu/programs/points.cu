/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of which one can tell how often they access global memory, however they were compiled: by one thread
 * and by all, on conditions, in loops where threads part, between votes of a warp, with atomics and shared memory.
 * On standard error, for each kind, a line of what there was to see: kind, space, how many, bytes.
 * With "spin": threads of a warp that wait for one another.
 */
#include "common.h"

#define WIDTH 256
#define BLOCKS 64
#define ALL (WIDTH * BLOCKS)
#define N (ALL - 1000)		/* threads that have something to do */
#define OUT (4 * ALL)

enum kind { LOAD, STORE, ATOMIC, KINDS };

static unsigned long long counts[KINDS], bytes[KINDS];

__global__ void scale(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i] * 3;
}

__global__ void vectors(int4 *out, const int4 *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n / 4) {
		int4 v = in[i];

		v.x ^= v.w;
		out[i] = v;
	}
}

__global__ void parting(volatile int *out, const volatile int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	if (i & 1) {
		for (int j = 0; j < i % 5; j++)
			sum += in[(i + j) % n];
		if (i & 2)
			sum ^= in[0];
	} else {
		for (int j = 0; j < i % 7; j++) {
			sum -= in[(i * 3 + j) % n];
			if (j & 1)
				sum += in[j];
		}
	}
	if (i < n)
		out[i] = sum;
}

__global__ void voting(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31, v = 1;

	if (lane < 7 && i < n)
		v = in[i];
	for (int m = 16; m; m >>= 1)
		v += __shfl_xor_sync(~0u, v, m);
	if (!lane && i < n)
		out[i] = v;
	v = __shfl_sync(~0u, v * lane, (lane * 7) & 31);
	if (i < n)
		out[i + ALL] = v;
}

__global__ void adding(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) {
		atomicAdd(&out[in[i] & 63], 1);
		if ((i & 3) == 1)
			out[ALL + i] = atomicOr(&out[2 * ALL + i], i + 5);
	}
}

__global__ void reducing(int *out, const int *in, int n)
{
	__shared__ int s[WIDTH];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;

	s[t] = i < n ? in[i] : 0;
	__syncthreads();
	for (int m = blockDim.x / 2; m; m >>= 1) {
		if (t < m)
			s[t] += s[t + m];
		__syncthreads();
	}
	if (!t)
		out[blockIdx.x] = s[0];
}

__global__ void spinning(volatile int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (i & 1) {
		while (out[i - 1] != 77)
			;
		out[i] = 78 + in[i];
	} else {
		out[i] = 77;
	}
}

static void see(enum kind kind, unsigned size)
{
	counts[kind]++;
	bytes[kind] += size;
}

static void expect_parting(int i)
{
	if (i & 1) {
		for (int j = 0; j < i % 5; j++)
			see(LOAD, 4);
		if (i & 2)
			see(LOAD, 4);
	} else {
		for (int j = 0; j < i % 7; j++) {
			see(LOAD, 4);
			if (j & 1)
				see(LOAD, 4);
		}
	}
	if (i < N)
		see(STORE, 4);
}

/* What the thread with this index does, in all kernels. */
static void expect_thread(int i)
{
	if (i < N) {
		see(LOAD, 4);		/* scale() */
		see(STORE, 4);
	}
	if (i < N / 4) {
		see(LOAD, 16);		/* vectors() */
		see(STORE, 16);
	}
	expect_parting(i);
	if ((i & 31) < 7 && i < N)
		see(LOAD, 4);		/* voting() */
	if (!(i & 31) && i < N)
		see(STORE, 4);
	if (i < N) {
		see(STORE, 4);
		see(LOAD, 4);		/* adding() */
		see(ATOMIC, 4);
	}
	if (i < N && (i & 3) == 1) {
		see(ATOMIC, 4);
		see(STORE, 4);
	}
	if (i < N)
		see(LOAD, 4);		/* reducing() */
	if (!(i % WIDTH))
		see(STORE, 4);
}

static uint64_t take(const int *out)
{
	uint64_t sum = checksum_device((const uint32_t *)out, OUT);

	CHECK(cudaMemset((void *)out, 0, OUT * sizeof(int)));
	return sum;
}

int main(int argc, char **argv)
{
	std::vector<int> host(4 * ALL);
	uint64_t sum = 0;
	int *in, *out;

	for (unsigned i = 0; i < 4 * ALL; i++)
		host[i] = (int)((i * 2654435761u + 7) >> 8);
	CHECK(cudaMalloc(&in, 4 * ALL * sizeof(int)));
	CHECK(cudaMalloc(&out, OUT * sizeof(int)));
	CHECK(cudaMemcpy(in, host.data(), 4 * ALL * sizeof(int), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(out, 0, OUT * sizeof(int)));
	if (has(argc, argv, "spin")) {
		LAUNCH(spinning, BLOCKS, WIDTH, 0, 0, out, in, N);
		report(take(out));
		return 0;
	}
	LAUNCH(scale, BLOCKS, WIDTH, 0, 0, out, in, N);
	sum = sum * 31 + take(out);
	LAUNCH(vectors, BLOCKS, WIDTH, 0, 0, (int4 *)out, (const int4 *)in, N);
	sum = sum * 31 + take(out);
	LAUNCH(parting, BLOCKS, WIDTH, 0, 0, out, in, N);
	sum = sum * 31 + take(out);
	LAUNCH(voting, BLOCKS, WIDTH, 0, 0, out, in, N);
	sum = sum * 31 + take(out);
	LAUNCH(adding, BLOCKS, WIDTH, 0, 0, out, in, N);
	sum = sum * 31 + take(out);
	LAUNCH(reducing, BLOCKS, WIDTH, 0, 0, out, in, N);
	sum = sum * 31 + take(out);
	for (int i = 0; i < ALL; i++)
		expect_thread(i);
	for (int kind = 0; kind < KINDS; kind++)
		fprintf(stderr, "points %d 1 %llu %llu\n", kind, counts[kind], bytes[kind]);
	report(sum);
	return 0;
}
