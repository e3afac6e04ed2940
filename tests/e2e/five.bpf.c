/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Five programs at one point; each appends its digit to a number.  A sixth, at the
 * way out, counts how often which number came about.  For kernels of one thread.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

enum { NUMBER, ALL, WITHOUT_FIVE, OTHERS, FIELDS };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FIELDS);
	__type(key, __u32);
	__type(value, __u64);
} order SEC(".maps");

static __always_inline void append(__u64 digit)
{
	__u32 key = NUMBER;
	__u64 *number = bpf_map_lookup_elem(&order, &key);

	if (number)
		*number = *number * 10 + digit;
}

#define PROGRAM(digit) \
SEC("cuda/entry:*") \
int program##digit(struct gputrace_gpu_ctx *ctx) \
{ \
	append(digit); \
	return 0; \
}

PROGRAM(1)
PROGRAM(2)
PROGRAM(3)
PROGRAM(4)
PROGRAM(5)

SEC("cuda/exit:*")
int at_exit(struct gputrace_gpu_ctx *ctx)
{
	__u32 key = NUMBER;
	__u64 *number = bpf_map_lookup_elem(&order, &key), *count;

	if (!number)
		return 0;
	key = *number == 31524 ? ALL : *number == 3124 ? WITHOUT_FIVE : OTHERS;
	*number = 0;
	count = bpf_map_lookup_elem(&order, &key);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
