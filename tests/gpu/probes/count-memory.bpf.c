/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of each warp, counted. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} accesses SEC(".maps");

static __always_inline int note(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&accesses, &zero);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

SEC("cuda.warp/load:*")
int on_load(struct gputrace_gpu_ctx *ctx)
{
	return note();
}

SEC("cuda.warp/store:*")
int on_store(struct gputrace_gpu_ctx *ctx)
{
	return note();
}
