/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled for debugging: functions have sections of their own. */
__device__ __noinline__ float ends(float x, int d)
{
	if (d == 5)
		asm volatile("exit;");
	return x * d;
}

extern "C" __global__ void calls(float *out)
{
	out[threadIdx.x] = ends(out[threadIdx.x], threadIdx.x);
}

extern "C" __global__ void calls_nothing(float *out)
{
	out[threadIdx.x] = 1;
}
