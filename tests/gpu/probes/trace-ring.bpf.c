/* SPDX-License-Identifier: Apache-2.0 */
/* A memory trace as a stream: a record of each access of each warp, across the bus; what finds no room is counted. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct record {
	__u64 address;
	__u32 size;
	__u32 block;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} records SEC(".maps");

static __always_inline int note(struct gputrace_gpu_ctx *ctx)
{
	struct record record = { .address = ctx->address, .size = ctx->size, .block = ctx->block[0] };

	bpf_ringbuf_output(&records, &record, sizeof(record), 0);
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
