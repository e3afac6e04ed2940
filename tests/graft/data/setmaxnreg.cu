/* SPDX-License-Identifier: Apache-2.0 */
/* Two kinds of warps: one gives registers away, the other takes them. */
extern "C" __global__ void __maxnreg__(168) gives_registers(float *out, int n)
{
	if (threadIdx.x < 128) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
		out[threadIdx.x] = 1;
		return;
	}
	asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
	out[threadIdx.x] = n;
}
