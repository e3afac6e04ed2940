/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A hash table for each side, used by functions of the same section; with BOTH, one for both sides. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} in_kernel SEC(".maps"), on_gpu SEC(".maps");

#ifdef BOTH
#define ON_GPU in_kernel
#else
#define ON_GPU on_gpu
#endif

static __noinline int keep_in_kernel(__u64 value)
{
	__u32 key = 1;

	return bpf_map_update_elem(&in_kernel, &key, &value, BPF_ANY);
}

static __noinline int keep_on_gpu(__u64 value)
{
	__u32 key = 1;

	return bpf_map_update_elem(&ON_GPU, &key, &value, BPF_ANY);
}

SEC("uprobe/cuLaunchKernel")
int on_launch(void *ctx)
{
	return keep_in_kernel(5);
}

SEC("cuda.cta/entry:*")
int on_block(struct gputrace_gpu_ctx *ctx)
{
	return keep_on_gpu(6);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
