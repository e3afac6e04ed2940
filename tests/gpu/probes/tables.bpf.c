/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash tables at entry, with what they answered counted: [0] threads, [1] keys that went
 * into by_lane, [2] insertions into recent that were refused.  One thread of each launch
 * prints.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} by_lane SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} tally SEC(".maps");

static __noinline int add(__u32 key)
{
	__u64 *count = bpf_map_lookup_elem(&tally, &key);

	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}

SEC("cuda/entry:*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = ctx->thread[0] & 31, number = ctx->block[0] * ctx->block_dim[0] + ctx->thread[0];
	__u64 zero = 0, value = number + 1, *count;

	if (bpf_map_update_elem(&by_lane, &key, &zero, BPF_NOEXIST) == 0)
		add(1);
	count = bpf_map_lookup_elem(&by_lane, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	/* Fewer keys than places, so that none is dropped. */
	if (number < 256 && bpf_map_update_elem(&recent, &number, &value, BPF_ANY))
		add(2);
	add(0);
	if (number == 5)
		bpf_printk("thread %u of block %u", ctx->thread[0], ctx->block[0]);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
