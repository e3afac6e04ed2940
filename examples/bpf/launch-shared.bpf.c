/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One map, two sides: element 0 counts launches, by a uprobe in the operating
 * system's kernel; element 1 counts blocks of threads, by the GPU.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

static __always_inline void count(__u32 index)
{
	__u64 *value = bpf_map_lookup_elem(&counts, &index);

	if (value)
		__sync_fetch_and_add(value, 1);
}

SEC("uprobe/libcuda.so.1:cuLaunchKernel")
int on_launch(void *ctx)
{
	count(0);
	return 0;
}

SEC("cuda.cta/entry:*")
int on_block(struct gputrace_gpu_ctx *ctx)
{
	count(1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
