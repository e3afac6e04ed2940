/* SPDX-License-Identifier: Apache-2.0 */
/* When each block began and ended, in GPU time; the last launch's. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct stamps {
	__u64 begin, end;
};

struct {
	__uint(type, GPUTRACE_MAP_TYPE_BLOCK_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stamps);
} stamps SEC(".maps");

SEC("cuda.cta/entry:*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	__u32 zero = 0;
	struct stamps *own = bpf_map_lookup_elem(&stamps, &zero);

	if (own)
		own->begin = bpf_ktime_get_ns();
	return 0;
}

SEC("cuda.cta/exit:*")
int on_exit(struct gputrace_gpu_ctx *ctx)
{
	__u32 zero = 0;
	struct stamps *own = bpf_map_lookup_elem(&stamps, &zero);

	if (own)
		own->end = bpf_ktime_get_ns();
	return 0;
}
