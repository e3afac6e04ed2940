/* Asynchronous and bulk copies, clusters, barriers in memory: sm_90. */
#include <cstdint>

extern "C" __global__ void __cluster_dims__(2, 1, 1) async(const float4 *in, float *out, int n)
{
	__shared__ __align__(128) float4 buffer[256];
	__shared__ uint64_t barrier;
	uint32_t to = (uint32_t)__cvta_generic_to_shared(&buffer[threadIdx.x]);
	uint32_t bar = (uint32_t)__cvta_generic_to_shared(&barrier);
	const float4 *from = in + threadIdx.x;

	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(to), "l"(from) : "memory");
	asm volatile("cp.async.ca.shared.global [%0], [%1+32], 4, %2;" : : "r"(to), "l"(from), "r"(n) : "memory");
	asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" : : "r"(bar) : "memory");
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" : : "r"(bar) : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
			     : : "r"(to), "l"(in), "r"(1024), "r"(bar) : "memory");
	}
	asm volatile("{\n\t.reg .pred P1;\n\tWAIT:\n\tmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], 0;\n\t"
		     "@P1 bra DONE;\n\tbra WAIT;\n\tDONE:\n\t}" : : "r"(bar) : "memory");
	asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
	if (threadIdx.x == 1)
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;\n\t"
			     "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 256;\n\t"
			     "cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;"
			     : : "l"(out), "r"(to) : "memory");
}
