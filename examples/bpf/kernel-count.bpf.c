/* SPDX-License-Identifier: Apache-2.0 */
/* How many warps entered each kernel, by kernel id (gputrace-run --kernels names them). */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} warps SEC(".maps");

SEC("cuda.warp/entry:*")
int count_warp(struct gputrace_gpu_ctx *ctx)
{
	__u32 kernel = ctx->kernel_id;
	__u64 *count = bpf_map_lookup_elem(&warps, &kernel);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
