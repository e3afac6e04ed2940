/* SPDX-License-Identifier: Apache-2.0 */
/* Many loads at once in blocks of a size that is said: compiled for linking it would get more registers. */
extern "C" __global__ void __launch_bounds__(128) bins(const unsigned *in, unsigned *out, unsigned n)
{
	__shared__ unsigned counts[256];

	for (unsigned i = threadIdx.x; i < 256; i += 128)
		counts[i] = 0;
	__syncthreads();
	for (unsigned i = blockIdx.x * 128 + threadIdx.x; i + 31 * 128 < n; i += 32 * 128) {
		unsigned values[32];

#pragma unroll
		for (int j = 0; j < 32; j++)
			values[j] = in[i + j * 128];
#pragma unroll
		for (int j = 0; j < 32; j++)
			atomicAdd(&counts[values[j] & 255], values[j] >> 8);
	}
	__syncthreads();
	for (unsigned i = threadIdx.x; i < 256; i += 128)
		atomicAdd(&out[i], counts[i]);
}
