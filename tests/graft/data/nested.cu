/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel, another that launches it, and one that has nothing to do with them. */

extern "C" __global__ void child(unsigned *data)
{
	data[threadIdx.x]++;
}

extern "C" __global__ void parent(unsigned *data)
{
	child<<<1, 32>>>(data);
}

extern "C" __global__ void neighbour(unsigned *data)
{
	data[threadIdx.x]--;
}
