/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for tests/gpu/graft.c, all with the same parameters and results that
 * are the same in every run; each makes something difficult for code that is
 * added at its entry and its exits.
 */
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

#define GID (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL k_tiny(float *out, const float *in, int n)
{
	int i = GID;

	out[i] = i * 3.0f;
}

/* Blocks and grids of more than one dimension; threads of a warp leave at three places. */
KERNEL k_dims(float *out, const float *in, int n)
{
	int b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int i = b * (blockDim.x * blockDim.y * blockDim.z) + t;

	if (i >= n)
		return;
	if (threadIdx.y & 1) {
		out[i] = in[i] - blockIdx.z;
		return;
	}
	out[i] = in[i] * 2 + threadIdx.z;
}

/* Three exits, two of them divergent; a loop that depends on the thread. */
KERNEL k_exits(float *out, const float *in, int n)
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

/* A function that may end the thread. */
__device__ __noinline__ float helper(float x, int d, float *out, int i)
{
	if (d == 5) {
		out[i] = -7;
		asm volatile("exit;");
	}
	for (int k = 0; k < d; k++)
		x = x * 1.5f + k;
	return x;
}

KERNEL k_call(float *out, const float *in, int n)
{
	int i = GID;
	float v = helper(in[i % n], i & 15, out, i) / 3.3f;

	out[i] = v + helper(v, i & 3, out, i);
}

/* Barriers of the block, and threads that leave before the rest is done. */
KERNEL k_shared(float *out, const float *in, int n)
{
	__shared__ float s[256];
	int t = threadIdx.x, i = GID;

	s[t & 255] = i < n ? in[i] : 1;
	__syncthreads();
	for (int d = 128; d; d >>= 1) {
		if (t < d && t + d < blockDim.x)
			s[t] += s[t + d];
		__syncthreads();
	}
	if (t > 5) {
		out[i] = t;
		return;
	}
	__syncwarp(__activemask());
	out[i] = s[0] + t;
}

/* Many registers. */
KERNEL k_registers(float *out, const float *in, int n)
{
	float a[96], s = 0;
	int i = GID;

#pragma unroll
	for (int k = 0; k < 96; k++)
		a[k] = in[(i + k * 7) % n];
	for (int r = 0; r < 4; r++) {
#pragma unroll
		for (int k = 0; k < 96; k++)
			a[k] = a[k] * a[(k + 1) % 96] + 0.25f;
	}
#pragma unroll
	for (int k = 0; k < 96; k++)
		s += a[k];
	out[i] = s;
}

/* A stack of its own. */
KERNEL k_stack(float *out, const float *in, int n)
{
	float l[64], s = 0;
	int i = GID;

	for (int k = 0; k < 64; k++)
		l[k] = in[(i + k) % n] + k;
	for (int k = 0; k < 40; k++)
		s += l[(i * 7 + k * (int)(1 + (in[i % n] > 0))) & 63];
	out[i] = s;
}

/* Threads leave one after another while the others go on with what the warp shares. */
KERNEL k_peel(float *out, const float *in, int n)
{
	int i = GID, lane = threadIdx.x & 31;
	float x = in[i % n];

	out[i] = 0;
#pragma unroll 1
	for (int k = 0; k < 32; k++) {
		if (lane == k) {
			out[i] = x + k;
			return;
		}
		x = x * 0.75f + k;
		out[i] = x;
		if ((k & 3) == 3)
			x += in[(i + k) % n];
	}
}

/* Shuffles under divergence. */
KERNEL k_shuffle(float *out, const float *in, int n)
{
	int i = GID;
	float x = in[i % n];
	unsigned act = __ballot_sync(__activemask(), x > 0.5f);

	if (x > 0.5f) {
		for (int k = 16; k; k >>= 1) {
			float y = __shfl_xor_sync(act, x, k);

			if (act >> ((threadIdx.x & 31) ^ k) & 1)
				x += y;
		}
		if (threadIdx.x & 1) {
			out[i] = x;
			return;
		}
	}
	out[i] = x + __popc(act);
}

/* Atomics in divergent code. */
KERNEL k_atomic(unsigned *out, const float *in, int n)
{
	int i = GID;
	float x = in[i % n];

	if (x > 0.7f) {
		atomicAdd(out, 1u);
	} else if (x < 0.2f) {
		for (int k = 0; k < (i & 3); k++)
			atomicAdd(out + 1 + k, 2u);
		if (i & 1)
			return;
		atomicAdd(out + 8, 1u);
	} else {
		atomicMax(out + 9, (unsigned)i);
	}
}

/* Wide stores straight before the exit: registers are still being read when it comes. */
KERNEL k_burst(float4 *out, const float *in, int n)
{
	int i = GID;
	float x = in[i % n];
	float4 v[8];

#pragma unroll
	for (int k = 0; k < 8; k++)
		v[k] = make_float4(x + k, x - k, x * k, i + k);
#pragma unroll
	for (int k = 0; k < 8; k++)
		out[(size_t)k * gridDim.x * blockDim.x + i] = v[k];
}

KERNEL k_async(float *out, const float *in, int n)
{
	__shared__ __align__(16) float s[1024];
	int t = threadIdx.x, i = GID;
	unsigned d = (unsigned)__cvta_generic_to_shared(&s[(t & 255) * 4]);
	const float *src = in + ((size_t)(i * 4) % (n & ~3));

	asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(d), "l"(src) : "memory");
	asm volatile("cp.async.commit_group; cp.async.wait_all;" ::: "memory");
	__syncthreads();
	out[i] = s[(t & 255) * 4] + s[(t & 255) * 4 + 3];
}

/* Constant banks and a call into the system. */
__constant__ float table[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };

KERNEL k_printf(float *out, const float *in, int n)
{
	int i = GID;

	if (in[i % n] == 12345.f)
		printf("never %d\n", i);
	out[i] = table[i & 15] + sinf(in[i % n]);
}

/* At the limit of registers for two blocks of 1024 threads. */
KERNEL __launch_bounds__(1024, 2) k_bounded(float *out, const float *in, int n)
{
	int i = GID;
	float x = in[i % n], y = x;

#pragma unroll 4
	for (int k = 0; k < 64; k++) {
		x = x * y + in[(i + k) % n];
		y = y * 0.5f + x;
	}
	out[i] = x + y;
}

/* Uniform work that stays alive over divergent exits. */
KERNEL k_uniform(float *out, const float *in, int n)
{
	int i = GID, b = blockIdx.x, lane = threadIdx.x & 31;
	float s = 0;

#pragma unroll 1
	for (int k = 0; k < n % 97; k++) {
		int j = (b * 13 + k * 7) % n;	/* the same in the whole block */

		s += in[j] * (float)(k + (b & 3)) + in[(j + lane) % n];
		if (lane == k) {
			out[i] = s;
			return;
		}
	}
	out[i] = -s;
}

#if __CUDA_ARCH__ >= 900
/* Clusters and shared memory of another block. */
KERNEL __cluster_dims__(2, 1, 1) k_cluster(float *out, const float *in, int n)
{
	__shared__ float s[256];
	auto c = cg::this_cluster();
	int t = threadIdx.x, i = GID;

	s[t & 255] = in[i % n] + c.block_rank();
	c.sync();
	float v = c.map_shared_rank(s, c.block_rank() ^ 1)[t & 255];
	c.sync();
	out[i] = v;
}
#endif
