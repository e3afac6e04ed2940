/* Warpgroup matrix multiplication: needs the architecture-specific target sm_90a. */
#include <cstdint>

extern "C" __global__ void __launch_bounds__(128) wgmma(const float4 *a, float *c)
{
	__shared__ __align__(128) float4 tile[512];
	float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
	uint64_t descriptor = ((uint64_t)__cvta_generic_to_shared(tile) & 0x3ffff) >> 4;

	tile[threadIdx.x] = a[threadIdx.x];
	__syncthreads();
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
	asm volatile("{\n\t.reg .pred p;\n\tsetp.ne.b32 p, 1, 0;\n\t"
		     "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, p, 1, 1, 0, 0;\n\t}"
		     : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "l"(descriptor), "l"(descriptor));
	asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
	asm volatile("setmaxnreg.inc.sync.aligned.u32 160;");
	c[threadIdx.x] = d0 + d1 + d2 + d3;
}
