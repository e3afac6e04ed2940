/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs at exit find is what programs at entry found, by kernel: [kernel id] of
 * entered and left are threads, of params_in and params_out sums of the first parameter's
 * low half, of quotients_in and quotients_out sums of divisions of 64 bits, of blocks_in and
 * blocks_out blocks.  A multiprocessor's number, which a warp has in common, is asked for
 * before threads part and used after.  The first block of a launch prints at both ends.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

#define KERNELS 16384

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, KERNELS);
	__type(key, __u32);
	__type(value, __u64);
} entered SEC(".maps"), left SEC(".maps"), params_in SEC(".maps"), params_out SEC(".maps"), quotients_in SEC(".maps"),
  quotients_out SEC(".maps"), blocks_in SEC(".maps"), blocks_out SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} sm_in SEC(".maps"), sm_out SEC(".maps");

static __always_inline void add(void *map, __u32 key, __u64 n)
{
	__u64 *count = bpf_map_lookup_elem(map, &key);

	if (count)
		__sync_fetch_and_add(count, n);
}

static __always_inline void note(struct gputrace_gpu_ctx *ctx, void *threads, void *params, void *quotients, void *sms)
{
	__u64 dividend = (__u64)ctx->thread[0] << 50 | ctx->launch_id, divisor = 1ull << 33 | ctx->block[0];
	__u32 sm = gputrace_sm_id(), value = 0;

	add(threads, ctx->kernel_id, 1);
	if (!gputrace_read_param(&value, sizeof(value), 0))
		add(params, ctx->kernel_id, value);
	add(quotients, ctx->kernel_id, dividend / divisor);
	add(sms, sm, 1);
}

static __always_inline int is_first(const struct gputrace_gpu_ctx *ctx)
{
	return !(ctx->block[0] | ctx->block[1] | ctx->block[2]);
}

SEC("cuda/entry:*")
int on_entry(struct gputrace_gpu_ctx *ctx)
{
	note(ctx, &entered, &params_in, &quotients_in, &sm_in);
	return 0;
}

SEC("cuda/exit:*")
int on_exit(struct gputrace_gpu_ctx *ctx)
{
	note(ctx, &left, &params_out, &quotients_out, &sm_out);
	return 0;
}

SEC("cuda.cta/entry:*")
int on_block(struct gputrace_gpu_ctx *ctx)
{
	add(&blocks_in, ctx->kernel_id, 1);
	if (is_first(ctx))
		bpf_printk("kernel %u begins", ctx->kernel_id);
	return 0;
}

SEC("cuda.cta/exit:*")
int on_block_end(struct gputrace_gpu_ctx *ctx)
{
	add(&blocks_out, ctx->kernel_id, 1);
	if (is_first(ctx))
		bpf_printk("kernel %u ends", ctx->kernel_id);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
