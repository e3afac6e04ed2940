/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses, their bytes, and basic blocks, by additions that may wait in threads and by such that may not. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct counts {
	__u64 calls, bytes;
};

/* Loads, stores, atomics, blocks. */
#define COUNTS(map) \
struct { \
	__uint(type, BPF_MAP_TYPE_ARRAY); \
	__uint(max_entries, 4); \
	__type(key, __u32); \
	__type(value, struct counts); \
} map SEC(".maps")

COUNTS(held);
COUNTS(at_once);

static __always_inline int wait(__u32 key, __u64 bytes)
{
	struct counts *counts = bpf_map_lookup_elem(&held, &key);

	if (!counts)
		return 0;
	__sync_fetch_and_add(&counts->calls, 1);
	if (bytes)
		__sync_fetch_and_add(&counts->bytes, bytes);
	return 0;
}

/* The old values are wanted. */
static __always_inline int add(__u32 key, __u64 bytes)
{
	struct counts *counts = bpf_map_lookup_elem(&at_once, &key);

	if (!counts)
		return 0;
	return (int)(__sync_fetch_and_add(&counts->calls, 1) + __sync_fetch_and_add(&counts->bytes, bytes));
}

#define PROGRAMS(name, section, key, bytes) \
SEC(section) \
int name##_waits(struct gputrace_gpu_ctx *ctx) \
{ \
	return wait(key, bytes); \
} \
\
SEC(section) \
int name##_adds(struct gputrace_gpu_ctx *ctx) \
{ \
	return add(key, bytes); \
}

PROGRAMS(load, "cuda/load:*", 0, ctx->size)
PROGRAMS(store, "cuda.warp/store:*", 1, ctx->size)
PROGRAMS(atomic, "cuda.warp/atomic:*", 2, ctx->size)
PROGRAMS(block, "cuda/block:*", 3, 0)
