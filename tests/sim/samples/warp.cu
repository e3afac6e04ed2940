// SPDX-License-Identifier: Apache-2.0
// out holds ten words a thread
extern "C" __global__ void warp_primitives(const int *in, int *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, v = in[i];
	int *row = out + 10 * i;

	row[0] = __shfl_sync(~0u, v, (lane + 5) % 32);
	row[1] = __shfl_up_sync(~0u, v, 1, 8);
	row[2] = __shfl_xor_sync(~0u, v, 3);
	row[3] = __ballot_sync(~0u, v & 1);
	row[4] = __any_sync(~0u, v == 7) + 2 * __all_sync(~0u, v >= 0);
	row[5] = __match_any_sync(~0u, v % 5);
	row[6] = __reduce_add_sync(~0u, v);
	row[7] = __reduce_max_sync(~0u, (unsigned)v);
	if (v & 1)
		row[8] = __popc(__activemask());
	else
		row[8] = -__popc(__activemask());
	__syncwarp();
	row[9] = __popc(__activemask());
}
