/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps and variables that both sides use.  For each launch the operating system's
 * kernel sets a value; the GPU reads it and answers, which the kernel reads when
 * the program unloads its module.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

enum { LAUNCHES, VALUE, VALUES_SEEN, ANSWER, ANSWERS_SEEN, THREADS, GIVEN, NUMBERS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, NUMBERS);
	__type(key, __u32);
	__type(value, __u64);
} numbers SEC(".maps");

/* 12 bytes, which lie 16 apart; more than a page of them. */
struct triple {
	__u32 a, b, c;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, GPUTRACE_MAP_HOST);
	__uint(max_entries, 300);
	__type(key, __u32);
	__type(value, struct triple);
} triples SEC(".maps");

const volatile __u64 factor SEC(".rodata.factor") = 1;
volatile __u64 step = 7;
volatile __u64 latest;

static __always_inline void add(__u32 index, __u64 amount)
{
	__u64 *value = bpf_map_lookup_elem(&numbers, &index);

	if (value)
		__sync_fetch_and_add(value, amount);
}

static __always_inline __u64 get(__u32 index)
{
	__u64 *value = bpf_map_lookup_elem(&numbers, &index);

	return value ? *(volatile __u64 *)value : 0;
}

SEC("uprobe/cuLaunchKernel")
int on_launch(void *ctx)
{
	__u32 index = VALUE, last = 299;
	struct triple triple = { 1, 2, 3 };
	__u64 value;

	add(LAUNCHES, 1);
	value = get(LAUNCHES) * step * factor;
	bpf_map_update_elem(&numbers, &index, &value, BPF_ANY);
	bpf_map_update_elem(&triples, &last, &triple, BPF_ANY);
	latest = value;
	return 0;
}

SEC("uprobe/cuModuleUnload")
int on_unload(void *ctx)
{
	add(ANSWERS_SEEN, get(ANSWER));
	return 0;
}

SEC("cuda/entry:bump")
int on_thread(struct gputrace_gpu_ctx *ctx)
{
	add(THREADS, 1);
	return 0;
}

SEC("cuda.cta/entry:bump")
int on_block(struct gputrace_gpu_ctx *ctx)
{
	__u32 index = ANSWER, last = 299, other = 298;
	struct triple *triple, turned;
	__u64 answer = latest + step * factor;

	add(VALUES_SEEN, get(VALUE));
	add(GIVEN, 1);
	bpf_map_update_elem(&numbers, &index, &answer, BPF_ANY);
	triple = bpf_map_lookup_elem(&triples, &last);
	if (!triple)
		return 0;
	turned.a = triple->c;
	turned.b = triple->b + 10;
	turned.c = triple->a;
	bpf_map_update_elem(&triples, &other, &turned, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
