/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the first thread of each block entered its kernel.  Blocks far apart may
 * share a slot, so the slot says whose it is.
 */
#ifndef BLOCK_TIMES_H
#define BLOCK_TIMES_H

#define SLOTS 65536

struct slot {
	__u64 launch;
	__u64 block;
	__u64 start;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} starts SEC(".maps");

static __always_inline __u64 block_number(const struct gputrace_gpu_ctx *ctx)
{
	__u64 row = (__u64)ctx->block[2] * ctx->grid_dim[1] + ctx->block[1];

	return row * ctx->grid_dim[0] + ctx->block[0];
}

static __always_inline struct slot *slot_of(const struct gputrace_gpu_ctx *ctx)
{
	__u32 index = (ctx->launch_id * 40503 + block_number(ctx)) % SLOTS;

	return bpf_map_lookup_elem(&starts, &index);
}

static __always_inline void remember_start(const struct gputrace_gpu_ctx *ctx)
{
	struct slot *slot = slot_of(ctx);

	if (!slot)
		return;
	slot->launch = ctx->launch_id;
	slot->block = block_number(ctx);
	slot->start = bpf_ktime_get_ns();
}

/* 0: another block has taken the slot meanwhile. */
static __always_inline __u64 start_of(const struct gputrace_gpu_ctx *ctx)
{
	struct slot *slot = slot_of(ctx);

	if (!slot || slot->launch != ctx->launch_id || slot->block != block_number(ctx))
		return 0;
	return slot->start;
}

#endif
