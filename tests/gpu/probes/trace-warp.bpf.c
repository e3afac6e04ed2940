/* SPDX-License-Identifier: Apache-2.0 */
/* A memory trace of each warp by itself: how many loads and stores it made, and of how many bytes. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct trace {
	__u64 count;
	__u64 bytes;
};

struct {
	__uint(type, GPUTRACE_MAP_TYPE_WARP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct trace);
} traces SEC(".maps");

static __always_inline int note(struct gputrace_gpu_ctx *ctx)
{
	__u32 zero = 0;
	struct trace *trace = bpf_map_lookup_elem(&traces, &zero);

	if (trace) {
		__sync_fetch_and_add(&trace->count, 1);
		__sync_fetch_and_add(&trace->bytes, ctx->size);
	}
	return 0;
}

SEC("cuda.warp/load:*")
int on_load(struct gputrace_gpu_ctx *ctx)
{
	return note(ctx);
}

SEC("cuda.warp/store:*")
int on_store(struct gputrace_gpu_ctx *ctx)
{
	return note(ctx);
}
