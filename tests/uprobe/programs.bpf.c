/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Programs for the kernel and for the GPU in one object, sharing a map. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 6);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

/* A type that no kernel knows: it must not be asked to make one. */
struct {
	__uint(type, 1502);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} only_gpu SEC(".maps");

static void add(__u32 index, __u64 value)
{
	__u64 *count = bpf_map_lookup_elem(&counts, &index);

	if (count)
		__sync_fetch_and_add(count, value);
}

#ifdef __TARGET_ARCH_arm64
#define REGS struct user_pt_regs
#define RESULT(regs) ((regs)->regs[0])
#else
#define REGS struct pt_regs
#define RESULT(regs) ((regs)->rax)
#endif

SEC("uprobe/cuLaunchKernel")
int on_launch(REGS *regs)
{
	(void)regs;
	add(0, 1);
	return 0;
}

SEC("uretprobe/libcuda.so.1:cuMemAlloc_v2")
int on_alloc(REGS *regs)
{
	add(1, RESULT(regs));
	return 0;
}

/* Of a library that is known by its name alone. */
SEC("uprobe/libgtfake.so.1:cuMemAlloc_v2")
int on_named(REGS *regs)
{
	(void)regs;
	add(4, 1);
	return 0;
}

SEC("uretprobe/libgtfake.so.1:cuMemAlloc_v2")
int on_named_return(REGS *regs)
{
	(void)regs;
	add(5, 1);
	return 0;
}

SEC("uprobe.s/cuLaunchKernel")
int on_launch_sleeping(REGS *regs)
{
	(void)regs;
	add(4, 1);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int on_exit(void *ctx)
{
	(void)ctx;
	add(2, 1);
	return 0;
}

SEC("uprobe/cuNoSuchFunction")
int on_nothing(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uprobe")
int nowhere(void *ctx)
{
	(void)ctx;
	return 0;
}

SEC("uprobe/cuLaunchKernel")
int refused(void *ctx)
{
	return *(int *)(*(long *)ctx);
}

static long (*gpu_helper)(void) = (void *)505;

SEC("cuda/entry:*")
int on_gpu(void *ctx)
{
	__u32 key = 0;

	(void)ctx;
	add(3, gpu_helper());
	return bpf_map_lookup_elem(&only_gpu, &key) != 0;
}

char gt_license[] SEC("license") = "Dual BSD/GPL";
