/* SPDX-License-Identifier: Apache-2.0 */
/* Records of 32 bytes from each warp, or each thread: of kernels that come one by one, and of those that come as fast as they can. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

struct record {
	__u64 time;	/* GPU ns */
	__u64 launch;
	__u32 block[2];	/* and the thread in it */
	__u64 zero;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} pulses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 28);
} floods SEC(".maps");

static __always_inline int send(void *ring, struct gputrace_gpu_ctx *ctx)
{
	struct record record = {
		.time = bpf_ktime_get_ns(), .launch = ctx->launch_id, .block = { ctx->block[0], ctx->thread[0] },
	};

	bpf_ringbuf_output(ring, &record, sizeof(record), 0);
	return 0;
}

SEC("cuda.warp/entry:pulse")
int on_pulse(struct gputrace_gpu_ctx *ctx)
{
	return send(&pulses, ctx);
}

SEC("cuda.warp/entry:flood_warps")
int on_flood_of_warps(struct gputrace_gpu_ctx *ctx)
{
	return send(&floods, ctx);
}

SEC("cuda/entry:flood_threads")
int on_flood_of_threads(struct gputrace_gpu_ctx *ctx)
{
	return send(&floods, ctx);
}
