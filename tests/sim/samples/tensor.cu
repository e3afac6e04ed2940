// SPDX-License-Identifier: Apache-2.0
// A 16 x 8 product of half-precision matrices by one warp: ldmatrix, mma, and by integers.
#include <cuda_fp16.h>

extern "C" __global__ void tensor_half(const __half *a, const __half *b, float *c)
{
	__shared__ alignas(16) __half as[16 * 16], bs[16 * 8];
	unsigned ar[4], br[2];
	float d[4] = { 1, 1, 1, 1 };
	int lane = threadIdx.x;

	for (int i = lane; i < 256; i += 32)
		as[i] = a[i];
	for (int i = lane; i < 128; i += 32)
		bs[i] = b[i];
	__syncwarp();
	unsigned ap = (unsigned)__cvta_generic_to_shared(&as[lane % 16 * 16 + lane / 16 * 8]);
	unsigned bp = (unsigned)__cvta_generic_to_shared(&bs[lane % 16 * 8]);

	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
		     : "=r"(ar[0]), "=r"(ar[1]), "=r"(ar[2]), "=r"(ar[3]) : "r"(ap));
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
		     : "=r"(br[0]), "=r"(br[1]) : "r"(bp));
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "r"(ar[0]), "r"(ar[1]), "r"(ar[2]), "r"(ar[3]), "r"(br[0]), "r"(br[1]));
	for (int e = 0; e < 4; e++)
		c[(lane / 4 + e / 2 * 8) * 8 + lane % 4 * 2 + e % 2] = d[e];
}

// a: 16 x 32 by rows, b: 32 x 8 by columns
extern "C" __global__ void tensor_int(const unsigned *a, const unsigned *b, int *c)
{
	int lane = threadIdx.x, g = lane / 4, t = lane % 4, d[4] = { 0, 0, 0, 0 };

	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
		     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
		     : "r"(a[g * 8 + t]), "r"(a[(g + 8) * 8 + t]), "r"(a[g * 8 + t + 4]), "r"(a[(g + 8) * 8 + t + 4]),
		       "r"(b[g * 8 + t]), "r"(b[g * 8 + t + 4]));
	for (int e = 0; e < 4; e++)
		c[(g + e / 2 * 8) * 8 + t * 2 + e % 2] = d[e];
}

// The same by the wmma interface, whose fragments are changed in between.
#include <mma.h>

extern "C" __global__ void tensor_wmma(const __half *a, const __half *b, float *c)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
	fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
	fragment<accumulator, 16, 16, 16, float> fc;

	fill_fragment(fc, 2.0f);
	load_matrix_sync(fa, a, 16);
	load_matrix_sync(fb, b, 16);
	mma_sync(fc, fa, fb, fc);
	for (int i = 0; i < fc.num_elements; i++)
		fc.x[i] *= 2;
	mma_sync(fc, fa, fb, fc);
	store_matrix_sync(c, fc, 16, mem_row_major);
}
