/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps whose values programs only add to, and maps that they do more to.  The first
 * kind is spread over the multiprocessors, and must hold the same as if it was not.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#define KEYS 4

#define ARRAY(map, entries, type_) \
struct { \
	__uint(type, BPF_MAP_TYPE_ARRAY); \
	__uint(max_entries, entries); \
	__type(key, __u32); \
	__type(value, type_); \
} map SEC(".maps")

struct pair {
	__u32 first, second;
};

ARRAY(added, KEYS, __u64);
ARRAY(fetched, KEYS, __u64);
ARRAY(narrow, 2, struct pair);
ARRAY(watched, 1, __u64);
ARRAY(large, 65536, __u64);

struct accesses {
	__u64 count, bytes;
};

/* By point, loads first. */
ARRAY(held, 2, struct accesses);
ARRAY(at_once, 2, struct accesses);

#define SM_ARRAY(map) \
struct { \
	__uint(type, GPUTRACE_MAP_TYPE_SM_ARRAY); \
	__uint(max_entries, 2); \
	__type(key, __u32); \
	__type(value, struct accesses); \
} map SEC(".maps")

SM_ARRAY(held_sm);
SM_ARRAY(at_once_sm);

__u64 blocks = 1000;
__u64 threads;

SEC("cuda/entry:*")
int adds(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = ctx->block[0] % KEYS;
	__u64 *value = bpf_map_lookup_elem(&added, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	threads++;	/* by load and store: becomes an addition as well */
	return 0;
}

/* The same by the old value, so that each addition is at one place. */
SEC("cuda/entry:*")
int fetches(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = ctx->block[0] % KEYS;
	__u64 *value = bpf_map_lookup_elem(&fetched, &key);

	return value ? (int)__sync_fetch_and_add(value, 1) : 0;
}

SEC("cuda.warp/exit:*")
int adds_narrow(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = 1;
	struct pair *pair = bpf_map_lookup_elem(&narrow, &key);

	if (pair) {
		__sync_fetch_and_add(&pair->first, 1);
		__sync_fetch_and_add(&pair->second, -1);
	}
	return 0;
}

SEC("cuda.cta/entry:*")
int adds_blocks(struct gputrace_gpu_ctx *ctx)
{
	__sync_fetch_and_add(&blocks, 1);
	return 0;
}

SEC("cuda.cta/entry:*")
int adds_watched(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&watched, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}

SEC("cuda.cta/exit:*")
int watches(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = 0;
	__u64 *value = bpf_map_lookup_elem(&watched, &key);

	return value && *value == 7;
}

SEC("cuda/exit:*")
int adds_large(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = 65535;
	__u64 *value = bpf_map_lookup_elem(&large, &key);

	if (value)
		__sync_fetch_and_add(value, 1);
	return 0;
}

/* Additions at many places wait in the thread, unless their old values are wanted. */
static __always_inline int note_held(struct gputrace_gpu_ctx *ctx, __u32 key)
{
	struct accesses *accesses = bpf_map_lookup_elem(&held, &key), *of_sm = bpf_map_lookup_elem(&held_sm, &key);

	if (!accesses || !of_sm)
		return 0;
	accesses->count++;
	accesses->bytes += ctx->size;
	__sync_fetch_and_add(&of_sm->count, 1);
	return 0;
}

static __always_inline int note_at_once(struct gputrace_gpu_ctx *ctx, __u32 key)
{
	struct accesses *accesses = bpf_map_lookup_elem(&at_once, &key), *of_sm = bpf_map_lookup_elem(&at_once_sm, &key);

	if (!accesses || !of_sm)
		return 0;
	return (int)(__sync_fetch_and_add(&accesses->count, 1) + __sync_fetch_and_add(&accesses->bytes, ctx->size) +
		     __sync_fetch_and_add(&of_sm->count, 1));
}

SEC("cuda/load:*")
int holds_loads(struct gputrace_gpu_ctx *ctx)
{
	return note_held(ctx, 0);
}

SEC("cuda/load:*")
int adds_loads_at_once(struct gputrace_gpu_ctx *ctx)
{
	return note_at_once(ctx, 0);
}

SEC("cuda.warp/store:*")
int holds_stores(struct gputrace_gpu_ctx *ctx)
{
	return note_held(ctx, 1);
}

SEC("cuda.warp/store:*")
int adds_stores_at_once(struct gputrace_gpu_ctx *ctx)
{
	return note_at_once(ctx, 1);
}
