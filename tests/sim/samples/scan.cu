// SPDX-License-Identifier: Apache-2.0
// Inclusive prefix sums: one block by doubling, and many blocks that wait for one another.
extern "C" __global__ void scan_block(const int *in, int *out)
{
	__shared__ int buffer[2][256];
	int from = 0;

	buffer[0][threadIdx.x] = in[threadIdx.x];
	__syncthreads();
	for (int step = 1; step < blockDim.x; step *= 2) {
		int v = buffer[from][threadIdx.x];

		if (threadIdx.x >= step)
			v += buffer[from][threadIdx.x - step];
		buffer[1 - from][threadIdx.x] = v;
		from = 1 - from;
		__syncthreads();
	}
	out[threadIdx.x] = buffer[from][threadIdx.x];
}

__device__ int warp_scan(int v)
{
	for (int step = 1; step < 32; step *= 2) {
		int other = __shfl_up_sync(~0u, v, step);

		if (threadIdx.x % 32 >= step)
			v += other;
	}
	return v;
}

// Each block waits for the total of the block before it.
extern "C" __global__ void scan_chained(const int *in, int *out, volatile int *totals,
					volatile int *ready, unsigned *ticket)
{
	__shared__ int warps[8], before;
	__shared__ unsigned block;

	if (!threadIdx.x)
		block = atomicAdd(ticket, 1);
	__syncthreads();
	int i = block * blockDim.x + threadIdx.x;
	int v = warp_scan(in[i]);

	if (threadIdx.x % 32 == 31)
		warps[threadIdx.x / 32] = v;
	__syncthreads();
	for (int w = 0; w < threadIdx.x / 32; w++)
		v += warps[w];
	if (threadIdx.x == blockDim.x - 1) {
		int sum = 0;

		if (block) {
			while (!ready[block - 1])
				;
			__threadfence();
			sum = totals[block - 1];
		}
		before = sum;
		totals[block] = sum + v;
		__threadfence();
		ready[block] = 1;
	}
	__syncthreads();
	out[i] = before + v;
}
