// SPDX-License-Identifier: Apache-2.0
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

// Jacobi steps over the whole grid, which meets after each.
extern "C" __global__ void grid_steps(float *a, float *b, int n, int steps)
{
	cg::grid_group grid = cg::this_grid();
	int i = (int)grid.thread_rank();

	for (int s = 0; s < steps; s++) {
		const float *from = s & 1 ? b : a;
		float *to = s & 1 ? a : b;

		if (i > 0 && i < n - 1)
			to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
		else if (i < n)
			to[i] = from[i];
		grid.sync();
	}
}

extern "C" __global__ void tiles(const int *in, int *out)
{
	cg::thread_block block = cg::this_thread_block();
	cg::thread_block_tile<8> tile = cg::tiled_partition<8>(block);
	int v = in[block.thread_rank()];

	for (int step = tile.size() / 2; step; step /= 2)
		v += tile.shfl_xor(v, step);
	if (v & 1) {
		cg::coalesced_group together = cg::coalesced_threads();

		v += together.size() << 16;
	}
	block.sync();
	out[block.thread_rank()] = v;
}
