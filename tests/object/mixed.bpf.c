/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fixture of test-object.c: one of everything that an object may hold. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 10);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 100);
	__type(key, __u64);
	__type(value, __u32);
	__uint(map_flags, GPUTRACE_MAP_HOST);
} table SEC(".maps");

struct {
	__uint(type, GPUTRACE_MAP_TYPE_WARP_ARRAY);
	__uint(max_entries, 2);
	__uint(map_extra, 1000);
	__type(key, __u32);
	__type(value, __u32);
} warps SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_PERCPU_HASH);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, __u32);
} kernel_only SEC(".maps");

const volatile __u32 limit = 7;		/* .rodata */
__u64 total = 0x1122334455667788;	/* .data */
__u32 first, second;			/* .bss */

static __noinline int add(__u64 by)
{
	total += by;
	return 0;
}

static long step(__u32 index, void *sum)
{
	*(__u64 *)sum += index;
	return 0;
}

SEC("cuda/entry:vec*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = ctx->thread[0];
	__u64 *value = bpf_map_lookup_elem(&numbers, &key);

	if (value && key < limit)
		*value += 1;
	second = 3;
	return add(key);
}

SEC("cuda.warp/exit:*")
int on_exit(struct gputrace_gpu_ctx *ctx)
{
	__u64 sum = 0;

	bpf_loop(10, step, &sum, 0);
	return add(sum);
}

SEC("cuda.cta/inst:fma.*@gemm*")
int on_inst(struct gputrace_gpu_ctx *ctx)
{
	bpf_ringbuf_output(&ring, &first, sizeof(first), 0);
	return 0;
}

SEC("uprobe/libc.so.6:malloc")
int on_malloc(void *ctx)
{
	__u32 key = 0, value = 1;

	bpf_map_update_elem(&kernel_only, &key, &value, BPF_ANY);
	return 0;
}

SEC("made/up")
int on_nothing(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
