/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels without probes, and with what the programs in bpf-probes.bpf.c do written
 * into their source by hand.
 */
#include <stdint.h>

typedef unsigned long long u64;

/* Where the probes written by hand put things. */
struct hand {
	u64 *counter, *counters, *times, *buckets;
	u64 *ring_head, *ring_lost, *ring_credits;
	u64 *ring;		/* host memory */
	u64 ring_bytes;		/* a power of two */
	u64 launch;
};

#define RECORD_BYTES 40u

static __device__ __forceinline__ u64 globaltimer()
{
	u64 time;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
	return time;
}

static __device__ __forceinline__ unsigned thread_number()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ __forceinline__ void count_thread(const struct hand &h)
{
	atomicAdd(h.counter, 1ull);
}

static __device__ __forceinline__ void count_warp(const struct hand &h)
{
	if (threadIdx.x % 32 == 0)
		atomicAdd(h.counter, 1ull);
}

static __device__ __forceinline__ void count_own(const struct hand &h)
{
	h.counters[thread_number()] += 1;
}

static __device__ __forceinline__ void exit_time(const struct hand &h)
{
	if (threadIdx.x == 0)
		h.times[blockIdx.x] = globaltimer();
}

static __device__ __forceinline__ void histogram(const struct hand &h)
{
	u64 value = thread_number() * 0x9e3779b97f4a7c15ull;

	atomicAdd(&h.buckets[63 - __clzll((long long)(value | 1))], 1ull);
}

/*
 * Records are dropped and counted when the ring is full; the first word says that a record
 * is whole.  Bytes are taken from the ring's credits before a place is, so that a reader that
 * gives some back finds no hole: one atomic more than filling a buffer once would take.
 */
static __device__ __forceinline__ void warp_ring(const struct hand &h)
{
	u64 position, at[5];

	if (threadIdx.x % 32)
		return;
	if ((long long)atomicAdd(h.ring_credits, -(u64)RECORD_BYTES) < (long long)RECORD_BYTES) {
		atomicAdd(h.ring_credits, (u64)RECORD_BYTES);
		atomicAdd(h.ring_lost, 1ull);
		return;
	}
	position = atomicAdd(h.ring_head, (u64)RECORD_BYTES);
	at[0] = (u64)RECORD_BYTES << 32 | (uint32_t)((position >> 3) + 1);
	at[1] = 24ull << 32 | 1;
	at[2] = h.launch;
	at[3] = globaltimer();
	at[4] = (u64)threadIdx.x << 32 | blockIdx.x;
	for (int i = 1; i < 5; i++)
		h.ring[(position / 8 + i) & (h.ring_bytes / 8 - 1)] = at[i];
	asm volatile("st.release.sys.global.u64 [%0], %1;"
		     :: "l"(h.ring + (position / 8 & (h.ring_bytes / 8 - 1))), "l"(at[0]) : "memory");
}

static __device__ __forceinline__ void add_one(const float *a, const float *b, float *c, unsigned n)
{
	unsigned i = thread_number();

	if (i < n)
		c[i] = a[i] + b[i];
}

static __device__ __forceinline__ void multiply(const float *a, const float *b, float *c, unsigned rounds)
{
	unsigned i = thread_number();
	float x = a[i], y = b[i];

#pragma unroll 4
	for (unsigned k = 0; k < rounds; k++)
		x = x * y + 0.5f;
	c[i] = x;
}

#define KERNELS(name, entry, exit) \
	extern "C" __global__ void vecadd_##name(const float *a, const float *b, float *c, unsigned n, struct hand h) \
	{ \
		entry; \
		add_one(a, b, c, n); \
		exit; \
	} \
	extern "C" __global__ void compute_##name(const float *a, const float *b, float *c, unsigned n, struct hand h) \
	{ \
		entry; \
		multiply(a, b, c, n); \
		exit; \
	}

KERNELS(count_thread, count_thread(h), )
KERNELS(count_warp, count_warp(h), )
KERNELS(count_own, count_own(h), )
KERNELS(exit_time, , exit_time(h))
KERNELS(histogram, histogram(h), )
KERNELS(warp_ring, , warp_ring(h))

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, unsigned n)
{
	add_one(a, b, c, n);
}

extern "C" __global__ void compute(const float *a, const float *b, float *c, unsigned n)
{
	multiply(a, b, c, n);
}

/* Keeps the stream busy while launches are queued behind it. */
extern "C" __global__ void spin(u64 ns)
{
	u64 end = globaltimer() + ns;

	while (globaltimer() < end)
		;
}
