// SPDX-License-Identifier: Apache-2.0
// llvm.ptx is what clang 19 makes of it: --target=nvptx64-nvidia-cuda -Xclang -target-cpu -Xclang sm_75 -O2 -S
#define kernel __attribute__((nvptx_kernel))
typedef unsigned long long u64;

static __attribute__((noinline)) u64 mix(u64 x, u64 *steps)
{
	for (int i = 0; i < 3; i++) {
		x = (x ^ x >> 27) * 0x94d049bb133111ebull;
		++*steps;
	}
	return x;
}

kernel void llvm_mix(u64 *data, u64 *count, int n)
{
	int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
	u64 steps = 0;

	if (i < n) {
		data[i] = mix(data[i], &steps);
		__atomic_fetch_add(count, steps, __ATOMIC_RELAXED);
	}
}
