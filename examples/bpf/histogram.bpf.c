/* SPDX-License-Identifier: Apache-2.0 */
/* How long blocks of threads ran: element n counts those of 2^n to 2^(n+1) - 1 ns. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#include "block-times.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} block_ns_log2 SEC(".maps");

static __always_inline __u32 log2_of(__u64 value)
{
	__u32 log = 0;

	if (value >> 32) {
		value >>= 32;
		log += 32;
	}
	if (value >> 16) {
		value >>= 16;
		log += 16;
	}
	if (value >> 8) {
		value >>= 8;
		log += 8;
	}
	if (value >> 4) {
		value >>= 4;
		log += 4;
	}
	if (value >> 2) {
		value >>= 2;
		log += 2;
	}
	return log + (value >> 1);
}

SEC("cuda.cta/entry:*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	remember_start(ctx);
	return 0;
}

SEC("cuda.cta/exit:*")
int on_exit(struct gputrace_gpu_ctx *ctx)
{
	__u64 start = start_of(ctx), *count;
	__u32 bucket;

	if (!start)
		return 0;
	bucket = log2_of(bpf_ktime_get_ns() - start);
	count = bpf_map_lookup_elem(&block_ns_log2, &bucket);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
