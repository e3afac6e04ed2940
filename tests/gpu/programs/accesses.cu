/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accesses to memory of every kind, each in the code as it stands here.  On standard
 * error, for each kind and space, a line of what there was to see: kind, space, how many
 * threads, bytes, sum of the addresses (of global memory).
 */
#include "common.h"

#define WIDTH 96
#define BLOCKS 5
#define N (WIDTH * BLOCKS)

enum kind { LOAD, STORE, ATOMIC, KINDS };
enum space { GENERIC, GLOBAL, SHARED, LOCAL, SPACES };	/* as in gputrace_gpu.h */

static struct {
	unsigned long long count, bytes, addresses;
} seen[KINDS][SPACES];

struct areas {
	uint32_t *in, *out;	/* four words for each thread */
	uint32_t *sum;
};

__global__ void accesses(struct areas areas)
{
	__shared__ alignas(16) uint32_t buffer[4 * WIDTH];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	uint32_t *in = areas.in + 4 * i, *out = areas.out + 4 * i, a, b, c, d, e, f, old, third = i % 3 == 0;
	uint32_t shared = __cvta_generic_to_shared(&buffer[4 * threadIdx.x]);
	const uint32_t *generic = in + 2;
	uint64_t pair;

	asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "l"(in));
	asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(e) : "l"(in + 1));
	asm volatile("ld.volatile.global.u32 %0, [%1];" : "=r"(f) : "l"(in));
	asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %2, 0;\n@p ld.global.u16 %0, [%1];\n}"
		     : "+r"(f) : "l"(in + 3), "r"(third));
	asm volatile("ld.u32 %0, [%1];" : "=r"(old) : "l"(generic));
	asm volatile("st.shared.v2.u32 [%0], {%1, %2};" :: "r"(shared), "r"(a + old), "r"(b) : "memory");
	asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(shared + 8), "l"(in + 2) : "memory");
	asm volatile("cp.async.wait_all;" ::: "memory");
	asm volatile("ld.shared.u64 %0, [%1];" : "=l"(pair) : "r"(shared + 8));
	asm volatile("atom.shared.add.u32 %0, [%1], %2;" : "=r"(old) : "r"(shared), "r"(e) : "memory");
	asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
		     :: "l"(out), "r"(old), "r"(d), "r"((uint32_t)pair), "r"((uint32_t)(pair >> 32)) : "memory");
	asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %2, 0;\n@p st.global.u32 [%0], %1;\n}"
		     :: "l"(out + 1), "r"(f + c), "r"(third) : "memory");
	asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(areas.sum), "r"(1) : "memory");
	asm volatile("red.global.max.u32 [%0], %1;" :: "l"(areas.sum + 1), "r"(i) : "memory");
}

/* `times` threads access so many bytes, at `address` the first, the others `step` further each. */
static void expect(enum kind kind, enum space space, unsigned bytes, const void *address, unsigned step,
		   unsigned every = 1, unsigned except = 0)
{
	for (unsigned i = 0; i < N; i++) {
		if ((i % every == 0) == except)
			continue;
		seen[kind][space].count++;
		seen[kind][space].bytes += bytes;
		seen[kind][space].addresses += space == GLOBAL ? (size_t)address + (size_t)i * step : 0;
	}
}

static void expect_all(struct areas areas)
{
	expect(LOAD, GLOBAL, 16, areas.in, 16);
	expect(LOAD, GLOBAL, 4, areas.in + 1, 16);
	expect(LOAD, GLOBAL, 4, areas.in, 16);
	expect(LOAD, GLOBAL, 2, areas.in + 3, 16, 3);
	expect(LOAD, GENERIC, 4, areas.in + 2, 16);
	expect(STORE, SHARED, 8, NULL, 0);
	expect(LOAD, GLOBAL, 8, areas.in + 2, 16);
	expect(LOAD, SHARED, 8, NULL, 0);
	expect(ATOMIC, SHARED, 4, NULL, 0);
	expect(STORE, GLOBAL, 16, areas.out, 16);
	expect(STORE, GLOBAL, 4, areas.out + 1, 16, 3, 1);
	expect(ATOMIC, GLOBAL, 4, areas.sum, 0);
	expect(ATOMIC, GLOBAL, 4, areas.sum + 1, 0);
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned space = 0; space < SPACES; space++)
			if (seen[kind][space].count)
				fprintf(stderr, "access %u %u %llu %llu %llu\n", kind, space, seen[kind][space].count,
					seen[kind][space].bytes, seen[kind][space].addresses);
}

int main(void)
{
	std::vector<uint32_t> host(4 * N);
	struct areas areas;
	uint32_t sum[2];

	for (unsigned i = 0; i < 4 * N; i++)
		host[i] = i * 2654435761u;
	CHECK(cudaMalloc(&areas.in, 4 * N * sizeof(uint32_t)));
	CHECK(cudaMalloc(&areas.out, 4 * N * sizeof(uint32_t)));
	CHECK(cudaMalloc(&areas.sum, sizeof(sum)));
	CHECK(cudaMemcpy(areas.in, host.data(), 4 * N * sizeof(uint32_t), cudaMemcpyHostToDevice));
	CHECK(cudaMemset(areas.sum, 0, sizeof(sum)));
	LAUNCH(accesses, BLOCKS, WIDTH, 0, 0, areas);
	CHECK(cudaMemcpy(sum, areas.sum, sizeof(sum), cudaMemcpyDeviceToHost));
	require(sum[0] == N && sum[1] == N - 1, "the atomic sums");
	expect_all(areas);
	report(checksum_device(areas.out, 4 * N));
	return 0;
}
