/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that the tests of this folder compile and run. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#include "tests/compile/probes.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps"), live SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
	__uint(map_flags, GPUTRACE_MAP_HOST);
} host_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TABLE_ENTRIES);
	__type(key, __u32);
	__type(value, struct pair);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TABLE_ENTRIES);
	__type(key, __u32);
	__type(value, struct pair);
} recent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TABLE_ENTRIES);
	__uint(map_flags, GPUTRACE_MAP_HOST);
	__type(key, __u32);
	__type(value, struct pair);
} recent_on_host SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} ring SEC(".maps");

struct {
	__uint(type, GPUTRACE_MAP_TYPE_THREAD_ARRAY);
	__uint(max_entries, 2);
	__uint(map_extra, 1024);
	__type(key, __u32);
	__type(value, __u64);
} by_thread SEC(".maps");

struct {
	__uint(type, GPUTRACE_MAP_TYPE_WARP_ARRAY);
	__uint(max_entries, 1);
	__uint(map_extra, 64);
	__type(key, __u32);
	__type(value, __u64);
} by_warp SEC(".maps");

struct {
	__uint(type, GPUTRACE_MAP_TYPE_BLOCK_ARRAY);
	__uint(max_entries, 1);
	__uint(map_extra, 16);
	__type(key, __u32);
	__type(value, __u64);
} by_block SEC(".maps");

const volatile __u64 step = 3;
__u64 total;
struct result result;

static __always_inline void add(void *map, __u32 key, __u64 value)
{
	__u64 *count = bpf_map_lookup_elem(map, &key);

	if (count)
		__sync_fetch_and_add(count, value);
}

SEC("cuda/entry:*")
int count(struct gputrace_gpu_ctx *ctx)
{
	add(&counts, ctx->thread[0], 1);
	return 0;
}

SEC("cuda/entry:*")
int count_on_host(struct gputrace_gpu_ctx *ctx)
{
	add(&host_counts, 1, 1);
	return 0;
}

SEC("cuda/entry:*")
int globals(struct gputrace_gpu_ctx *ctx)
{
	__sync_fetch_and_add(&total, step);
	return 0;
}

SEC("cuda/load:*")
int context(struct gputrace_gpu_ctx *ctx)
{
	result.launch_id = ctx->launch_id;
	result.address = ctx->address;
	result.kernel_id = ctx->kernel_id;
	result.space = ctx->space;
	result.size = ctx->size;
	result.thread = ctx->thread[0] + 10 * ctx->thread[1] + 100 * ctx->thread[2];
	result.block = ctx->block[0] + 10 * ctx->block[1] + 100 * ctx->block[2];
	result.block_dim = ctx->block_dim[0] + 10 * ctx->block_dim[1] + 100 * ctx->block_dim[2];
	result.grid_dim = ctx->grid_dim[0] + 10 * ctx->grid_dim[1] + 100 * ctx->grid_dim[2];
	result.low_byte = *(__u8 *)&ctx->kernel_id;
	result.high_half = *((__u16 *)&ctx->kernel_id + 1);
	result.helper_launch_id = gputrace_launch_id();
	result.sm = gputrace_sm_id();
	result.lane = gputrace_lane_id();
	result.mask = gputrace_active_mask();
	result.warp_sum = gputrace_warp_sum(7);
	result.time = bpf_ktime_get_ns();
	result.pid_tgid = bpf_get_current_pid_tgid();
	return 0;
}

SEC("cuda/entry:*")
int array_errors(struct gputrace_gpu_ctx *ctx)
{
	__u32 in = 15, out = 16;
	__u64 value = 5;

	result.codes[0] = bpf_map_update_elem(&counts, &in, &value, BPF_ANY);
	result.codes[1] = bpf_map_update_elem(&counts, &in, &value, BPF_EXIST);
	result.codes[2] = bpf_map_update_elem(&counts, &in, &value, BPF_NOEXIST);
	result.codes[3] = bpf_map_update_elem(&counts, &out, &value, BPF_ANY);
	result.codes[4] = bpf_map_update_elem(&counts, &in, &value, 17);
	result.codes[5] = bpf_map_delete_elem(&counts, &in);
	result.codes[6] = bpf_map_lookup_elem(&counts, &out) != 0;
	result.codes[7] = bpf_map_lookup_elem(&counts, &in) != 0;
	return 0;
}

SEC("cuda/entry:*")
int table_errors(struct gputrace_gpu_ctx *ctx)
{
	struct pair value = { 1, ~1ull };
	__u32 key = 5;

	result.codes[0] = bpf_map_delete_elem(&table, &key);
	result.codes[1] = bpf_map_update_elem(&table, &key, &value, BPF_EXIST);
	result.codes[2] = bpf_map_update_elem(&table, &key, &value, BPF_NOEXIST);
	result.codes[3] = bpf_map_update_elem(&table, &key, &value, BPF_NOEXIST);
	result.codes[4] = bpf_map_update_elem(&table, &key, &value, BPF_EXIST);
	result.codes[5] = bpf_map_update_elem(&table, &key, &value, 3);
	result.codes[6] = bpf_map_lookup_elem(&table, &key) != 0;
	result.codes[7] = bpf_map_delete_elem(&table, &key);
	result.codes[8] = bpf_map_lookup_elem(&table, &key) != 0;
	return 0;
}

/* Insert, update, look up and delete, by what the context says; the code is the program's result. */
SEC("cuda/load:*")
int table_step(struct gputrace_gpu_ctx *ctx)
{
	struct pair value = { ctx->address, ~ctx->address }, *found;
	__u32 key = ctx->kernel_id;

	switch (ctx->size) {
	case TABLE_INSERT:
		return bpf_map_update_elem(&table, &key, &value, BPF_NOEXIST);
	case TABLE_UPDATE:
		return bpf_map_update_elem(&table, &key, &value, BPF_EXIST);
	case TABLE_DELETE:
		return bpf_map_delete_elem(&table, &key);
	case TABLE_ADD:
		found = bpf_map_lookup_elem(&table, &key);
		if (!found)
			return -2;
		__sync_fetch_and_add(&found->a, 1);
		return 0;
	default:
		return -22;
	}
}

/* Every thread inserts the key of its number, modulo 64. */
SEC("cuda/entry:*")
int table_storm(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = (ctx->block[0] * ctx->block_dim[0] + ctx->thread[0]) & 63;
	struct pair zero = {}, *found;

	if (bpf_map_update_elem(&table, &key, &zero, BPF_NOEXIST) == 0)
		add(&counts, 0, 1);
	found = bpf_map_lookup_elem(&table, &key);
	if (found)
		__sync_fetch_and_add(&found->a, 1);
	return 0;
}

SEC("cuda/entry:*")
int table_churn(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = ctx->block[0] * ctx->block_dim[0] + ctx->thread[0];
	struct pair value = { key, ~(__u64)key };

	if (bpf_map_update_elem(&table, &key, &value, BPF_NOEXIST) == 0)
		add(&counts, 1, 1);
	if (bpf_map_delete_elem(&table, &key) == 0)
		add(&counts, 2, 1);
	return 0;
}

/* Many more keys than places, all of which go in. */
SEC("cuda/entry:*")
int recent_storm(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = ctx->block[0] * ctx->block_dim[0] + ctx->thread[0];
	struct pair value = { key, ~(__u64)key };

	if (bpf_map_update_elem(&recent, &key, &value, BPF_NOEXIST) == 0)
		add(&counts, 0, 1);
	if (bpf_map_update_elem(&recent_on_host, &key, &value, BPF_ANY) == 0)
		add(&counts, 1, 1);
	return 0;
}

SEC("cuda/entry:*")
int output(struct gputrace_gpu_ctx *ctx)
{
	struct record record = {
		.number = ctx->block[0] * ctx->block_dim[0] + ctx->thread[0],
		.check = ~(__u64)ctx->thread[0],
		.tail = 0x5a,
	};

	return bpf_ringbuf_output(&ring, &record, RECORD_BYTES, 0);
}

SEC("cuda.warp/entry:*")
int output_per_warp(struct gputrace_gpu_ctx *ctx)
{
	struct record record = { .number = ctx->thread[0] / 32, .check = 1, .tail = 0x5a };

	return bpf_ringbuf_output(&ring, &record, RECORD_BYTES, 0);
}

/* Records of different lengths from neighbouring threads. */
SEC("cuda/entry:*")
int output_lengths(struct gputrace_gpu_ctx *ctx)
{
	__u64 record[8] = { ctx->thread[0] };
	__u32 size = 8 + (ctx->thread[0] & 31);

	return bpf_ringbuf_output(&ring, record, size, 0);
}

SEC("cuda/entry:*")
int output_some(struct gputrace_gpu_ctx *ctx)
{
	__u64 record = ctx->thread[0];

	if (ctx->thread[0] % 3 == 1)
		bpf_ringbuf_output(&ring, &record, sizeof(record), 0);
	return 0;
}

SEC("cuda/entry:*")
int reserve(struct gputrace_gpu_ctx *ctx)
{
	struct record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record)
		return 1;
	record->number = ctx->thread[0];
	record->check = 99;
	if (ctx->thread[0] & 1)
		bpf_ringbuf_discard(record, 0);
	else
		bpf_ringbuf_submit(record, 0);
	return 0;
}

SEC("cuda/entry:*")
int slots(struct gputrace_gpu_ctx *ctx)
{
	__u32 zero = 0, one = 1;
	__u64 *mine = bpf_map_lookup_elem(&by_thread, &one);

	if (mine)
		*mine += 1;
	add(&by_warp, zero, 1);
	add(&by_block, zero, 1);
	return 0;
}

static long sum_up(__u32 index, void *sum)
{
	*(__u64 *)sum += index;
	return index == 9;
}

static __noinline __u64 square(__u64 x)
{
	return x * x;
}

SEC("cuda/entry:*")
int functions(struct gputrace_gpu_ctx *ctx)
{
	__u64 sum = 0;

	result.codes[0] = bpf_loop(100, sum_up, &sum, 0);
	result.codes[1] = sum;
	result.codes[2] = square(ctx->thread[0]) + square(3);
	return 0;
}

/* A loop whose end nobody can prove. */
SEC("cuda/entry:*")
int endless(struct gputrace_gpu_ctx *ctx)
{
	__u64 i;

	for (i = 0; i != ctx->launch_id; i++)
		add(&counts, 3, 1);
	return 7;
}

SEC("cuda/entry:*")
int print(struct gputrace_gpu_ctx *ctx)
{
	bpf_printk("thread %u of %u", ctx->thread[0], ctx->block_dim[0]);
	bpf_printk("%d %d %d %d", 1, 2, 3, 4);
	return 0;
}

SEC("uprobe/libcuda.so.1:cuInit")
int for_the_kernel(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
