/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What is attached in place of a user's programs, to let them run for the processes they are for. */
#include "lib/uprobe/process_filter.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);		/* the opener sets it */
	__type(key, __u32);
	__type(value, __u32);
} programs SEC(".maps");

/* Which of them it stands for is in the attach cookie. */
SEC("uprobe")
int gt_gate(void *regs)
{
	__u32 pid, tid;

	current_ids(&pid, &tid);
	if (watched(pid))
		bpf_tail_call(regs, &programs, (__u32)bpf_get_attach_cookie(regs));
	return 0;
}

/* Argument: the task that ends. */
SEC("raw_tp/sched_process_exit")
int gt_task_exit(struct bpf_raw_tracepoint_args *ctx)
{
	forget_process((struct task_struct *)ctx->args[0]);
	return 0;
}

char gt_license[] SEC("license") = "Dual BSD/GPL";
