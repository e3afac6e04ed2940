/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and atomics of each warp: how many, and how many bytes their lane 0 asked for. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

enum { LOAD, STORE, ATOMIC, KINDS };

struct access {
	__u64 count;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KINDS);
	__type(key, __u32);
	__type(value, struct access);
} accesses SEC(".maps");

static __always_inline int add(struct gputrace_gpu_ctx *ctx, __u32 kind)
{
	struct access *access = bpf_map_lookup_elem(&accesses, &kind);

	if (access) {
		__sync_fetch_and_add(&access->count, 1);
		__sync_fetch_and_add(&access->bytes, ctx->size);
	}
	return 0;
}

SEC("cuda.warp/load:*")
int on_load(struct gputrace_gpu_ctx *ctx)
{
	return add(ctx, LOAD);
}

SEC("cuda.warp/store:*")
int on_store(struct gputrace_gpu_ctx *ctx)
{
	return add(ctx, STORE);
}

SEC("cuda.warp/atomic:*")
int on_atomic(struct gputrace_gpu_ctx *ctx)
{
	return add(ctx, ATOMIC);
}
