/* Calls: by pointer, virtual, recursive, printf; functions shared by kernels. */
#include <cstdio>

struct shape { __device__ virtual float area(float x) const { return x; } };
struct square : shape { __device__ float area(float x) const override { return x * x; } };

__device__ __noinline__ float twice(float x) { return x + x; }
__device__ __noinline__ float store(float *a, float x) { a[1] = x; return x; }
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ float (*const functions[])(float) = { twice, sinf };

extern "C" __global__ void pointers(float *a, int n)
{
	a[0] = functions[n & 1](a[1]);
	store(a, a[3]);
}

extern "C" __global__ void virtuals(float *a, const shape *s)
{
	square q;

	a[0] = (a[1] > 0 ? s : &q)->area(a[2]);
}

extern "C" __global__ void prints(float *a, int n)
{
	if (store(a, 5) > n)
		printf("%d %f\n", fib(n), a[0]);
}
