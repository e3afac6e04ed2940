// SPDX-License-Identifier: Apache-2.0
// Sums: through shared memory, and through warps and an atomic.
extern "C" __global__ void reduce_shared(const int *in, int *out, int n)
{
	extern __shared__ int part[];
	int sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int half = blockDim.x / 2; half; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (!threadIdx.x)
		out[blockIdx.x] = part[0];
}

extern "C" __global__ void reduce_warp(const double *in, double *out, int n)
{
	double sum = 0;

	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum += in[i];
	for (int step = 16; step; step /= 2)
		sum += __shfl_down_sync(~0u, sum, step);
	if (threadIdx.x % 32 == 0)
		atomicAdd(out, sum);
}

extern "C" __global__ void reduce_max(const float *in, int *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		atomicMax(out, __float_as_int(in[i]));	// of positive numbers
}
