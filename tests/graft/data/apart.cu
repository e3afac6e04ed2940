/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that can run from a second module of the same code, and such that cannot. */
#include <cstdio>

typedef float (*function)(float);

__device__ int counter;
__constant__ float table[64];
__device__ const float fixed[4] = { 1, 2, 3, 4 };

__device__ __noinline__ float pure(float x)
{
	return sinf(x) * x;
}

__device__ __noinline__ float counts(float x)
{
	return x + counter;
}

__device__ function functions[2] = { pure, counts };

extern "C" {

/* ---- these can ---- */

__global__ void plain(float *p, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		p[i] *= 2;
}

__global__ void mathematics(double *p)
{
	p[0] = sin(p[0]) / p[1] + pow(p[2], p[3]);
}

__global__ void shared(float *p, int i)
{
	__shared__ float s[64];

	s[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[i] = s[i];
}

__global__ void dynamic_shared(float *p, int i)
{
	extern __shared__ float d[];

	d[threadIdx.x] = p[threadIdx.x];
	__syncthreads();
	p[i] = d[i];
}

__global__ void local_array(float *p, int i)
{
	float a[64];

	for (int k = 0; k < 64; k++)
		a[k] = p[k];
	p[i] = a[i];
}

__global__ void jump_table(float *p, int i)
{
	switch (i) {
	case 0: p[0] = 1; break;
	case 1: p[1] = sinf(p[3]); break;
	case 2: p[5] = cosf(p[2]); break;
	case 3: p[7] = expf(p[1]); break;
	case 4: p[9] = tanf(p[2]); break;
	case 5: p[11] = 3; break;
	case 6: p[i] = __ldg(p + 4); break;
	}
}

__global__ void calls_pure(float *p, int i)
{
	p[i] = pure(p[i]);
}

/* ---- these cannot ---- */

__global__ void global_variable(float *p)
{
	atomicAdd(&counter, 1);
	p[0] = 1;
}

__global__ void constant_indexed(float *p, int i)
{
	p[i] = table[i];
}

__global__ void constant_direct(float *p)
{
	p[threadIdx.x] = table[3];
}

__global__ void constant_in_memory(float *p, int i)
{
	p[i] = fixed[i];
}

__global__ void static_variable(int *p)
{
	static int n;

	p[0] = n++;
}

__global__ void calls_counts(float *p, int i)
{
	p[i] = counts(p[i]);
}

__global__ void by_pointer(float *p, int i)
{
	p[i] = functions[i & 1](p[i]);
}

__global__ void prints(float *p)
{
	printf("%f\n", p[0]);
}

__global__ void allocates(float **p)
{
	p[threadIdx.x] = (float *)malloc(16);
}

}
