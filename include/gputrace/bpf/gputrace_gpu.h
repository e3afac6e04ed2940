/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For authors of BPF programs that run on the GPU; include it after
 * <linux/bpf.h> and <bpf/bpf_helpers.h>.
 *
 *   SEC("cuda/entry:vecadd*")        int count(struct gputrace_gpu_ctx *ctx) { ... }
 *   SEC("cuda.warp/exit:*")          once per warp, by its lane 0
 *   SEC("cuda.cta/entry:*")          once per block, by its thread (0,0,0)
 */
#ifndef GPUTRACE_BPF_GPUTRACE_GPU_H
#define GPUTRACE_BPF_GPUTRACE_GPU_H

/* What a GPU program gets as its argument.  Reading a field costs what the field costs, no more. */
struct gputrace_gpu_ctx {
	__u64 launch_id;	/* ties the kernel to its launch; 0: not known */
	__u32 kernel_id;	/* as gputrace_kernel_get_id() */
	__u32 space;		/* memory points: GPUTRACE_SPACE_* */
	__u64 address;		/* memory points: generic address */
	__u32 size;		/* memory points: bytes */
	__u32 reserved;
	__u32 thread[3];	/* threadIdx */
	__u32 block[3];		/* blockIdx */
	__u32 block_dim[3];
	__u32 grid_dim[3];
};

#define GPUTRACE_SPACE_GENERIC 0
#define GPUTRACE_SPACE_GLOBAL 1
#define GPUTRACE_SPACE_SHARED 2
#define GPUTRACE_SPACE_LOCAL 3
#define GPUTRACE_SPACE_CONST 4

/*
 * Kinds of maps that only GPU programs have, above the kernel's numbers.  Threads,
 * warps and blocks are numbered through the grid, modulo the slots; map_extra asks
 * for a number of slots.  gputrace-programs(7) has more.
 */
#define GPUTRACE_MAP_TYPE_THREAD_ARRAY 4096	/* one value for each thread */
#define GPUTRACE_MAP_TYPE_WARP_ARRAY 4097
#define GPUTRACE_MAP_TYPE_BLOCK_ARRAY 4098
#define GPUTRACE_MAP_TYPE_SM_ARRAY 4099

/* map_flags: keep the map in host memory, where it can be read while the GPU runs. */
#define GPUTRACE_MAP_HOST (1u << 24)

/*
 * Helpers.  The kernel's that work here: bpf_map_lookup_elem, _update_elem,
 * _delete_elem, bpf_ringbuf_output, _reserve, _submit, _discard, bpf_ktime_get_ns
 * (the GPU's clock), bpf_get_smp_processor_id (the SM), bpf_get_prandom_u32,
 * bpf_get_current_pid_tgid, bpf_trace_printk, bpf_trace_vprintk,
 * bpf_perf_event_output, bpf_loop.  The GPU's own:
 */
static __u64 (*const gputrace_globaltimer)(void) = (void *)4096;	/* ns, GPU time */
static __u64 (*const gputrace_clock64)(void) = (void *)4097;	/* cycles of this SM */
static __u32 (*const gputrace_sm_id)(void) = (void *)4098;
static __u32 (*const gputrace_warp_id)(void) = (void *)4099;	/* warp slot of the SM */
static __u32 (*const gputrace_lane_id)(void) = (void *)4100;
static __u32 (*const gputrace_active_mask)(void) = (void *)4101;
static __u64 (*const gputrace_launch_id)(void) = (void *)4102;
static __u64 (*const gputrace_grid_id)(void) = (void *)4103;
/* Copy `size` bytes at `offset` of the kernel's parameters; 0, or -EINVAL. */
static long (*const gputrace_read_param)(void *dst, __u32 size, __u32 offset) = (void *)4104;
/* Sum of `value` over the warp's active threads, the same in all of them. */
static __u64 (*const gputrace_warp_sum)(__u64 value) = (void *)4105;

#endif
