/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels whose memory accesses can be counted by hand in their machine code. */
extern "C" {

/* One load and one store, both on a condition that the compiler may make a predicate or a branch. */
__global__ void copy(int *out, const int *in, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = in[i];
}

/* Loads of 1, 2, 4, 8 and 16 bytes, each with an offset of its own, and stores of the same sizes. */
__global__ void sizes(char *out, const char *in)
{
	volatile const char *from = in;
	volatile char *to = out;

	to[1] = from[1];
	*(volatile short *)(to + 2) = *(volatile const short *)(from + 2);
	*(volatile int *)(to + 4) = *(volatile const int *)(from + 4);
	*(volatile long long *)(to + 8) = *(volatile const long long *)(from + 8);
	*(int4 *)(out + 16) = *(const int4 *)(in + 16);
}

/* An address below the pointer, and one that may be of any memory. */
__global__ void places(int *out, const int *in, int i)
{
	int on_stack[32];
	int *any;

	for (int k = 0; k < 32; k++)
		on_stack[k] = in[-1 - k];
	any = i & 1 ? on_stack : out;
	any[i & 31] = 5;
	out[-2] = on_stack[i & 15];
}

/* Added to, and asked for; as integers and as floats. */
__global__ void atomics(unsigned *out, float *sums, unsigned long long *wide)
{
	atomicAdd(out, threadIdx.x);
	out[2] = atomicMax(out + 1, threadIdx.x);
	atomicAdd(sums, 1.5f);
	wide[1] = atomicCAS(wide, 1ull, 2ull);
}

/* Shared memory in between. */
__global__ void shared(int *out, const int *in)
{
	__shared__ int s[256];

	s[threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	out[threadIdx.x] = s[255 - threadIdx.x];
}

/* Nothing but shared memory. */
__global__ void only_shared(int k)
{
	__shared__ volatile int s[256];

	s[threadIdx.x] = k;
	s[k] = threadIdx.x;
}

__global__ void none()
{
}

static __device__ __noinline__ int deep(const int *in, int i)
{
	volatile int a[16];

	for (int k = 0; k < 16; k++)
		a[k] = in[k];
	return a[i & 15];
}

/* A function with a stack of its own. */
__global__ void calls(int *out, const int *in, int i)
{
	out[i] = deep(in, i) + deep(in + 16, i + 1);
}

static __device__ __noinline__ int again(const int *in, int n)
{
	volatile int a[8];

	for (int k = 0; k < 8; k++)
		a[k] = in[k + n];
	return n < 2 ? a[n & 7] : again(in, n - 1) + again(in, n - 2) + a[3];
}

/* How deep its stack goes depends on its data. */
__global__ void recursive(int *out, const int *in)
{
	out[0] = again(in, in[0]);
}

}
