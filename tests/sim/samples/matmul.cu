// SPDX-License-Identifier: Apache-2.0
template <typename T, int TILE>
__device__ void multiply(const T *a, const T *b, T *c, int n)
{
	__shared__ T as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	T sum = 0;

	for (int t = 0; t < n; t += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * n + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * n + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * n + column] = sum;
}

extern "C" __global__ void matmul_float(const float *a, const float *b, float *c, int n)
{
	multiply<float, 16>(a, b, c, n);
}

extern "C" __global__ void matmul_int(const int *a, const int *b, int *c, int n)
{
	multiply<int, 8>(a, b, c, n);
}
