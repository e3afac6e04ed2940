/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A map of each kind, for a program that overwrites their memory. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#define TABLE(NAME, TYPE, FLAGS) \
	struct { \
		__uint(type, TYPE); \
		__uint(map_flags, FLAGS); \
		__uint(max_entries, 64); \
		__type(key, __u32); \
		__type(value, __u64); \
	} NAME SEC(".maps")

TABLE(array, BPF_MAP_TYPE_ARRAY, 0);
TABLE(host_array, BPF_MAP_TYPE_ARRAY, GPUTRACE_MAP_HOST);
TABLE(processors, BPF_MAP_TYPE_PERCPU_ARRAY, 0);
TABLE(hash, BPF_MAP_TYPE_HASH, 0);
TABLE(host_hash, BPF_MAP_TYPE_HASH, GPUTRACE_MAP_HOST);
TABLE(host_lru, BPF_MAP_TYPE_LRU_HASH, GPUTRACE_MAP_HOST);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 65536);
} ring SEC(".maps");

SEC("cuda.cta/entry:*")
int on_block(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = 1;
	__u64 value = 2;

	bpf_map_update_elem(&array, &key, &value, BPF_ANY);
	bpf_map_update_elem(&host_array, &key, &value, BPF_ANY);
	bpf_map_update_elem(&processors, &key, &value, BPF_ANY);
	bpf_map_update_elem(&hash, &key, &value, BPF_ANY);
	bpf_map_update_elem(&host_hash, &key, &value, BPF_ANY);
	bpf_map_update_elem(&host_lru, &key, &value, BPF_ANY);
	bpf_ringbuf_output(&ring, &value, sizeof(value), 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
