/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the tests of grafting; see README for how they are compiled. */
#define GID (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

__device__ int counter;

KERNEL no_params()
{
	atomicAdd(&counter, 1);
}

/* Three ways out, two of them divergent. */
KERNEL three_exits(float *out, const float *in, int n)
{
	int i = GID;

	if (i >= n)
		return;
	float x = in[i];
	if (x < 0) {
		out[i] = 0;
		return;
	}
	for (int k = 0; k < (i & 7); k++)
		x = x * 0.5f + 1;
	out[i] = x;
}

/* A thread may end in a function that the kernel calls. */
__device__ __noinline__ float helper(float x, int d)
{
	if (d == 5)
		asm volatile("exit;");
	for (int k = 0; k < d; k++)
		x = x * 1.5f + k;
	return x;
}

KERNEL ends_in_call(float *out, const float *in, int n)
{
	int i = GID;

	out[i] = helper(in[i % n], i & 15) + helper(in[i % n], i & 3);
}

/* Does not end by itself. */
KERNEL endless(volatile int *flag)
{
	while (true)
		*flag = threadIdx.x;
}

KERNEL bounded(float *out, const float *in, int n) __launch_bounds__(1024);
KERNEL bounded(float *out, const float *in, int n)
{
	float a[40];
	int i = GID;

#pragma unroll
	for (int k = 0; k < 40; k++)
		a[k] = in[(i + k * 7) % n];
#pragma unroll
	for (int k = 0; k < 40; k++)
		a[k] = a[k] * a[(k + 1) % 40] + 0.25f;
	float s = 0;
#pragma unroll
	for (int k = 0; k < 40; k++)
		s += a[k];
	out[i] = s;
}

/* Its own stack. */
KERNEL own_stack(float *out, const float *in, int n)
{
	float l[64], s = 0;
	int i = GID;

	for (int k = 0; k < 64; k++)
		l[k] = in[(i + k) % n] + k;
	for (int k = 0; k < 40; k++)
		s += l[(i * 7 + k * (int)(1 + (in[i % n] > 0))) & 63];
	out[i] = s;
}

struct too_large { char bytes[32760]; };
struct large { char bytes[5000]; };
struct fitting { char bytes[4092]; };

KERNEL params_32760(struct too_large p)
{
	counter = p.bytes[threadIdx.x];
}

KERNEL params_5000(struct large p)
{
	counter = p.bytes[threadIdx.x];
}

/* 4092 bytes and 4: what older tools allowed at most. */
KERNEL params_4096(struct fitting p, int i)
{
	counter = p.bytes[i];
}

/* Parameters of several sizes. */
KERNEL odd_params(char a, short b, int c)
{
	counter = a + b + c;
}
