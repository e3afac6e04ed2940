/* SPDX-License-Identifier: Apache-2.0 */
/* Five programs at one point: each appends its number to the block's value. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, GPUTRACE_MAP_TYPE_BLOCK_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} order SEC(".maps");

static __always_inline int append(__u64 number)
{
	__u32 zero = 0;
	__u64 *value = bpf_map_lookup_elem(&order, &zero);

	if (value)
		*value = *value * 10 + number;
	return 0;
}

#define PROGRAM(number) \
	SEC("cuda.cta/entry:*") \
	int program_##number(struct gputrace_gpu_ctx *ctx) \
	{ \
		return append(number); \
	}
PROGRAM(1)
PROGRAM(2)
PROGRAM(3)
PROGRAM(4)
PROGRAM(5)
