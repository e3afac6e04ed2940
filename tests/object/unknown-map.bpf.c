/* SPDX-License-Identifier: Apache-2.0 */
/* Fixture of test-object.c: a GPU program with a map that no GPU has. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 16);
	__type(key, __u32);
	__uint(value_size, 8 * 127);
} stacks SEC(".maps");

SEC("cuda/entry:*")
int on_entry(void *ctx)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&stacks, &key) != 0;
}
