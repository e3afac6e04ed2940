/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that entered and that left, and warps that entered. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} entered SEC(".maps"), left SEC(".maps"), warps SEC(".maps");

static __always_inline int add(void *map)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(map, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

SEC("cuda/entry:*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	return add(&entered);
}

SEC("cuda/exit:*")
int on_exit(struct gputrace_gpu_ctx *ctx)
{
	return add(&left);
}

SEC("cuda.warp/entry:*")
int on_warp(struct gputrace_gpu_ctx *ctx)
{
	return add(&warps);
}
