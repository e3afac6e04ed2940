// SPDX-License-Identifier: Apache-2.0
#include <cuda_fp16.h>
#include <cuda_bf16.h>

extern "C" __global__ void half_axpy(const __half2 *x, __half2 *y, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		y[i] = __hfma2(__float2half2_rn(a), x[i], y[i]);
}

extern "C" __global__ void half_convert(const float *in, __half *h, __nv_bfloat16 *b, float *back, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	h[i] = __float2half(in[i]);
	b[i] = __float2bfloat16(in[i]);
	back[i] = __half2float(h[i]) + __bfloat162float(b[i]);
}

extern "C" __global__ void half_sum(const __half *in, __half *out)
{
	__half v = in[threadIdx.x];

	for (int step = 16; step; step /= 2)
		v = __hadd(v, __shfl_xor_sync(~0u, v, step));
	if (!threadIdx.x)
		*out = v;
}
