/* SPDX-License-Identifier: Apache-2.0 */
/* A program that does nothing, in each thread: what it costs to be there. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <gputrace/bpf/gputrace_gpu.h>

SEC("cuda/entry:*")
int nothing(struct gputrace_gpu_ctx *ctx)
{
	return 0;
}
