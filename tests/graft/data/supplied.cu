/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that call functions which the driver supplies, and others; their own accesses can be counted by hand. */
#include <cassert>
#include <cstdio>

extern "C" {

/* A load, a store and an atomic behind the assertion; nothing else of global memory. */
__global__ void asserts(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, k = in[i];

	assert(k < n);
	out[k] = i;
	atomicAdd(out + n, k);
}

/* What it prints goes by its stack: two stores there. */
__global__ void prints(int *out, const int *in)
{
	int k = in[threadIdx.x];

	if (k == 7)
		printf("%d at %d\n", k, threadIdx.x);
	out[threadIdx.x] = in[threadIdx.x + k];
}

__global__ void heap(int **out, int n)
{
	int *room = (int *)malloc(n);

	if (n & 1)
		free(room);
	out[threadIdx.x] = room;
}

/* No access of its own. */
__global__ void only_asserts(int n)
{
	assert(n);
}

static __device__ __noinline__ int part(const int *in, int n)
{
	assert(n > 1);
	return in[n] / n;
}

/* A function with an assertion, which has a section of its own when it is linked separately. */
__global__ void inner(int *out, const int *in)
{
	out[threadIdx.x] = part(in, threadIdx.x);
}

typedef int function(int);

static __device__ int more(int x) { return x + 1; }
static __device__ int times(int x) { return x * 3; }
__device__ function *table[2] = { more, times };

/* A function that nobody can know. */
__global__ void by_pointer(int *out, int n)
{
	out[0] = table[n & 1](n);
}

/* Without an access of its own but to shared memory. */
__global__ void only_by_pointer(int n)
{
	__shared__ volatile int s[4];

	s[1] = 1;
	s[0] = table[s[1] + n](n);
}

}
