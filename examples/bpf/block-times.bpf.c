/* SPDX-License-Identifier: Apache-2.0 */
/* A record for each block of threads: when its first thread came and went, in GPU time. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#include "block-times.h"

struct record {
	__u64 launch;
	__u64 block;
	__u64 start;
	__u64 end;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} blocks SEC(".maps");

SEC("cuda.cta/entry:*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	remember_start(ctx);
	return 0;
}

SEC("cuda.cta/exit:*")
int on_exit(struct gputrace_gpu_ctx *ctx)
{
	struct record record = {
		.launch = ctx->launch_id,
		.block = block_number(ctx),
		.start = start_of(ctx),
		.end = bpf_ktime_get_ns(),
	};

	if (record.start)
		bpf_ringbuf_output(&blocks, &record, sizeof(record), 0);
	return 0;
}
