/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in shared memory, one of them read in rows. */
#define TILE 16

extern "C" __global__ void tiles(const float *a, const float *b, float *out, unsigned n)
{
	__shared__ float left[TILE][TILE], right[TILE][TILE];
	unsigned row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (unsigned k = 0; k < n; k += TILE) {
		left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];
		right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + column];
		__syncthreads();
		for (unsigned j = 0; j < TILE; j++)
			sum += left[threadIdx.y][j] * right[j][threadIdx.x];
		__syncthreads();
	}
	out[row * n + column] = sum;
}
