// SPDX-License-Identifier: Apache-2.0
// Bitonic sort of a block's keys; odd-even merge would do as well.
extern "C" __global__ void sort_block(unsigned *keys)
{
	__shared__ unsigned s[512];
	unsigned base = blockIdx.x * 512;

	for (int i = threadIdx.x; i < 512; i += blockDim.x)
		s[i] = keys[base + i];
	__syncthreads();
	for (unsigned size = 2; size <= 512; size *= 2)
		for (unsigned step = size / 2; step; step /= 2) {
			for (unsigned i = threadIdx.x; i < 512; i += blockDim.x) {
				unsigned other = i ^ step;

				if (other > i && (s[i] > s[other]) == !(i & size)) {
					unsigned t = s[i];

					s[i] = s[other];
					s[other] = t;
				}
			}
			__syncthreads();
		}
	for (int i = threadIdx.x; i < 512; i += blockDim.x)
		keys[base + i] = s[i];
}

// One lane sorts a small array of its own, in local memory, by recursion.
__device__ void quick(int *a, int low, int high)
{
	int i = low, j = high, pivot = a[(low + high) / 2];

	while (i <= j) {
		while (a[i] < pivot)
			i++;
		while (a[j] > pivot)
			j--;
		if (i <= j) {
			int t = a[i];

			a[i++] = a[j];
			a[j--] = t;
		}
	}
	if (low < j)
		quick(a, low, j);
	if (i < high)
		quick(a, i, high);
}

extern "C" __global__ void sort_each(int *data)
{
	int mine[24], *row = data + 24 * (blockIdx.x * blockDim.x + threadIdx.x);

	for (int i = 0; i < 24; i++)
		mine[i] = row[i];
	quick(mine, 0, 23);
	for (int i = 0; i < 24; i++)
		row[i] = mine[i];
}
