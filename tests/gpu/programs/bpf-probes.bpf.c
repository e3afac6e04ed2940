/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of tests/gpu/bpf.  Those in cuda/load sections are called by a kernel of
 * the test's own, which sets address and size.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#include "tests/gpu/programs/bpf-probes.h"

#define EEXIST 17
#define ENOENT 2
#define E2BIG 7

static __always_inline __u32 thread_number(const struct gputrace_gpu_ctx *ctx)
{
	return ctx->block[0] * ctx->block_dim[0] + ctx->thread[0];
}

static __always_inline void add(void *map, __u32 key, __u64 value)
{
	__u64 *count = bpf_map_lookup_elem(map, &key);

	if (count)
		__sync_fetch_and_add(count, value);
}

/* ---- hash tables ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TALLY_KINDS * FEW_KEYS);
	__type(key, __u32);
	__type(value, __u64);
} tally SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FEW_KEYS);
	__type(key, __u32);
	__type(value, struct pair);
} few SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FEW_KEYS);
	__uint(map_flags, GPUTRACE_MAP_HOST);
	__type(key, __u32);
	__type(value, struct pair);
} few_on_host SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FULL_ENTRIES);
	__type(key, __u32);
	__type(value, struct pair);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MANY_ENTRIES);
	__type(key, __u64);
	__type(value, struct pair);
} many SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FULL_ENTRIES);
	__type(key, struct odd_key);
	__type(value, struct odd_value);
} full SEC(".maps");

static __always_inline void count(__u32 kind, __u32 key)
{
	add(&tally, kind * FEW_KEYS + key % FEW_KEYS, 1);
}

static __always_inline void count_insert(long result, __u32 key)
{
	if (!result)
		count(TALLY_INSERTED, key);
	else if (result == -EEXIST)
		count(TALLY_EXISTED, key);
	else if (result == -E2BIG)
		count(TALLY_REFUSED, key);
	else
		count(TALLY_WRONG, key);
}

static __always_inline void count_update(long result, __u32 key)
{
	count(!result ? TALLY_UPDATED : result == -ENOENT ? TALLY_MISSED : TALLY_WRONG, key);
}

static __always_inline void count_delete(long result, __u32 key)
{
	count(!result ? TALLY_DELETED : result == -ENOENT ? TALLY_ABSENT : TALLY_WRONG, key);
}

/* Each thread inserts its key if it can and adds one to the value. */
SEC("cuda/load:*")
int few_add(struct gputrace_gpu_ctx *ctx)
{
	struct pair zero = {}, *found;
	__u32 key = thread_number(ctx) % FEW_KEYS;

	count_insert(bpf_map_update_elem(&few, &key, &zero, BPF_NOEXIST), key);
	found = bpf_map_lookup_elem(&few, &key);
	if (found)
		__sync_fetch_and_add(&found->a, 1);
	else
		count(TALLY_MISSED, key);
	return 0;
}

static __always_inline void toss_once(void *map, __u32 thread, __u32 draw)
{
	struct pair value = { thread, ~(__u64)thread };
	__u32 key = thread % FEW_KEYS;

	switch (draw & 3) {
	case 0:
		count_insert(bpf_map_update_elem(map, &key, &value, BPF_NOEXIST), key);
		break;
	case 1:
		count_update(bpf_map_update_elem(map, &key, &value, BPF_EXIST), key);
		break;
	case 2:
		count_delete(bpf_map_delete_elem(map, &key), key);
		break;
	default:
		if (!bpf_map_lookup_elem(map, &key))
			count(TALLY_MISSED, key);
		break;
	}
}

static __always_inline void toss(void *map, __u32 thread)
{
	__u32 draw = thread * 2654435761u + 1, i;

	for (i = 0; i < TOSSES; i++) {
		draw ^= draw << 13;
		draw ^= draw >> 17;
		draw ^= draw << 5;
		toss_once(map, thread, draw >> 7);
	}
}

/* Inserts, updates, deletes and lookups of the same keys, each thread as it draws. */
SEC("cuda/load:*")
int few_toss(struct gputrace_gpu_ctx *ctx)
{
	toss(&few, thread_number(ctx));
	return 0;
}

SEC("cuda/load:*")
int few_toss_on_host(struct gputrace_gpu_ctx *ctx)
{
	toss(&few_on_host, thread_number(ctx));
	return 0;
}

/* Many more keys than places in a table that makes room. */
SEC("cuda/load:*")
int recent_put(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = thread_number(ctx);
	struct pair value = { key, ~(__u64)key };

	count_insert(bpf_map_update_elem(&recent, &key, &value, BPF_NOEXIST), key);
	return 0;
}

/* A key for each thread; odd ones are updated, every fourth is deleted again. */
SEC("cuda/load:*")
int many_keys(struct gputrace_gpu_ctx *ctx)
{
	__u32 thread = thread_number(ctx);
	__u64 key = thread * 0x9e3779b97f4a7c15ull;
	struct pair value = { thread, ~(__u64)thread }, *found;

	count_insert(bpf_map_update_elem(&many, &key, &value, BPF_NOEXIST), thread);
	found = bpf_map_lookup_elem(&many, &key);
	if (!found || found->a != thread || found->b != ~(__u64)thread)
		count(TALLY_WRONG, thread);
	value.a += UPDATED;
	if (thread & 1)
		count_update(bpf_map_update_elem(&many, &key, &value, BPF_EXIST), thread);
	if (thread % 4 == 2)
		count_delete(bpf_map_delete_elem(&many, &key), thread);
	return 0;
}

static __always_inline void make_odd(__u32 thread, struct odd_key *key, struct odd_value *value)
{
	int i;

	for (i = 0; i < 3; i++)
		key->words[i] = thread + i;
	for (i = 0; i < 5; i++)
		value->words[i] = thread * (i + 1);
}

/* Many more keys than places. */
SEC("cuda/load:*")
int full_insert(struct gputrace_gpu_ctx *ctx)
{
	struct odd_value value;
	struct odd_key key;

	make_odd(thread_number(ctx), &key, &value);
	count_insert(bpf_map_update_elem(&full, &key, &value, BPF_NOEXIST), 0);
	return 0;
}

/* The map is full: each thread deletes its key, which may be there, and inserts another. */
SEC("cuda/load:*")
int full_churn(struct gputrace_gpu_ctx *ctx)
{
	__u32 thread = thread_number(ctx);
	struct odd_value value;
	struct odd_key key;

	make_odd(thread, &key, &value);
	count_delete(bpf_map_delete_elem(&full, &key), 0);
	make_odd(thread ^ 1, &key, &value);
	count_insert(bpf_map_update_elem(&full, &key, &value, BPF_NOEXIST), 0);
	return 0;
}

/* ---- rings ---- */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

struct pattern {
	__u8 bytes[PATTERN_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pattern);
} pattern SEC(".maps");

/* Records of any size: a piece of the pattern that the thread's number chooses. */
SEC("cuda/load:*")
int ring_any(struct gputrace_gpu_ctx *ctx)
{
	__u32 zero = 0, size = ctx->size, place = thread_number(ctx) % PATTERNS * 4;
	struct pattern *p = bpf_map_lookup_elem(&pattern, &zero);

	if (!p || size > RECORD_MOST)
		return 0;
	/* Else clang makes one comparison of two, from which the verifier learns nothing. */
	asm volatile("" : "+r"(size));
	if (!size)
		return 0;
	count(bpf_ringbuf_output(&ring, p->bytes + place, size, 0) ? TALLY_REFUSED : TALLY_INSERTED, 0);
	return 0;
}

/* Records of a size that the compiler knows: the thread's number, then the same byte over and over. */
#define RING_OUTPUT(bytes) \
	SEC("cuda/load:*") \
	int ring_output_##bytes(struct gputrace_gpu_ctx *ctx) \
	{ \
		struct { \
			__u32 number; \
			__u8 fill[bytes - 4]; \
		} __attribute__((packed, aligned(8))) record; \
		__builtin_memset(&record, RECORD_FILL, sizeof(record)); \
		record.number = thread_number(ctx); \
		count(bpf_ringbuf_output(&ring, &record, bytes, 0) ? TALLY_REFUSED : TALLY_INSERTED, 0); \
		return 0; \
	}

RING_OUTPUT(5)
RING_OUTPUT(8)
RING_OUTPUT(17)
RING_OUTPUT(24)
RING_OUTPUT(99)
RING_OUTPUT(300)

#define RING_RESERVE(bytes) \
	SEC("cuda/load:*") \
	int ring_reserve_##bytes(struct gputrace_gpu_ctx *ctx) \
	{ \
		struct { \
			__u32 number; \
			__u8 fill[bytes - 4]; \
		} __attribute__((packed)) *record = bpf_ringbuf_reserve(&ring, bytes, 0); \
		if (!record) { \
			count(TALLY_REFUSED, 0); \
			return 0; \
		} \
		record->number = thread_number(ctx); \
		__builtin_memset(record->fill, RECORD_FILL, bytes - 4); \
		bpf_ringbuf_submit(record, 0); \
		count(TALLY_INSERTED, 0); \
		return 0; \
	}

RING_RESERVE(13)
RING_RESERVE(32)
RING_RESERVE(301)

/* ---- speed ---- */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} counter SEC(".maps");

struct {
	__uint(type, GPUTRACE_MAP_TYPE_THREAD_ARRAY);
	__uint(max_entries, 1);
	__uint(map_extra, COUNTS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TIMES);
	__type(key, __u32);
	__type(value, __u64);
} times SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} buckets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SPEED_RING_BYTES);
} speed_ring SEC(".maps");

SEC("cuda/entry:*")
int count_thread(struct gputrace_gpu_ctx *ctx)
{
	add(&counter, 0, 1);
	return 0;
}

SEC("cuda.warp/entry:*")
int count_warp(struct gputrace_gpu_ctx *ctx)
{
	add(&counter, 0, 1);
	return 0;
}

SEC("cuda/entry:*")
int count_own(struct gputrace_gpu_ctx *ctx)
{
	__u32 zero = 0;
	__u64 *own = bpf_map_lookup_elem(&counters, &zero);

	if (own)
		*own += 1;
	return 0;
}

SEC("cuda.cta/exit:*")
int exit_time(struct gputrace_gpu_ctx *ctx)
{
	__u32 block = ctx->block[0];
	__u64 *time = bpf_map_lookup_elem(&times, &block);

	if (time)
		*time = bpf_ktime_get_ns();
	return 0;
}

static __always_inline __u32 log2_of(__u64 value)
{
	__u32 log = 0, step;

#pragma unroll
	for (step = 32; step; step /= 2)
		if (value >> step) {
			value >>= step;
			log += step;
		}
	return log;
}

/* Of a value that differs from thread to thread. */
SEC("cuda/entry:*")
int histogram(struct gputrace_gpu_ctx *ctx)
{
	add(&buckets, log2_of(thread_number(ctx) * 0x9e3779b97f4a7c15ull), 1);
	return 0;
}

SEC("cuda.warp/exit:*")
int warp_ring(struct gputrace_gpu_ctx *ctx)
{
	struct warp_record record = {
		.launch = ctx->launch_id,
		.time = bpf_ktime_get_ns(),
		.block = ctx->block[0],
		.thread = ctx->thread[0],
	};

	bpf_ringbuf_output(&speed_ring, &record, sizeof(record), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
