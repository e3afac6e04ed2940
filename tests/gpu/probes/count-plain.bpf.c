/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores of each thread, counted as one writes it in C, without an atomic operation. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct {
	__uint(type, GPUTRACE_MAP_TYPE_THREAD_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} accesses SEC(".maps");

static __always_inline int note(void)
{
	__u32 zero = 0;
	__u64 *count = bpf_map_lookup_elem(&accesses, &zero);

	if (count)
		*count += 1;
	return 0;
}

SEC("cuda/load:*")
int on_load(struct gputrace_gpu_ctx *ctx)
{
	return note();
}

SEC("cuda/store:*")
int on_store(struct gputrace_gpu_ctx *ctx)
{
	return note();
}
