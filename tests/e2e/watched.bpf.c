/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts calls, by process. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);	/* of the whole machine, if all are watched */
	__type(key, __u32);
	__type(value, __u64);
} gt_test_calls SEC(".maps");

/* What can be looked into from outside, which a map of another type cannot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u32);	/* of 8 bytes each in the kernel */
} totals SEC(".maps");

__u64 calls;
__u64 step = 1;

SEC("uprobe/cuMemAlloc_v2")
int on_alloc(void *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u64 one = 1, *count = bpf_map_lookup_elem(&gt_test_calls, &pid);
	__u32 last = 2, *total = bpf_map_lookup_elem(&totals, &last);

	if (total)
		__sync_fetch_and_add(total, step);
	__sync_fetch_and_add(&calls, 1);

	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&gt_test_calls, &pid, &one, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
