/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of each thread by kind and space, in all kernels: how many, and their bytes. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

enum { LOAD, STORE, ATOMIC, KINDS };
#define SPACES 4

struct access {
	__u64 count;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KINDS * SPACES);
	__type(key, __u32);
	__type(value, struct access);
} points SEC(".maps");

static __always_inline int add(struct gputrace_gpu_ctx *ctx, __u32 kind)
{
	__u32 key = kind * SPACES + ctx->space;
	struct access *access = bpf_map_lookup_elem(&points, &key);

	if (!access)
		return 0;
	__sync_fetch_and_add(&access->count, 1);
	__sync_fetch_and_add(&access->bytes, ctx->size);
	return 0;
}

SEC("cuda/load:*")
int on_load(struct gputrace_gpu_ctx *ctx)
{
	return add(ctx, LOAD);
}

SEC("cuda/store:*")
int on_store(struct gputrace_gpu_ctx *ctx)
{
	return add(ctx, STORE);
}

SEC("cuda/atomic:*")
int on_atomic(struct gputrace_gpu_ctx *ctx)
{
	return add(ctx, ATOMIC);
}
