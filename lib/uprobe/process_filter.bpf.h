/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A process with all that it starts, or every process: which ones programs at uprobes are
 * for.  What is attached to a file runs for all who have it mapped, so each asks here first.
 */
#ifndef GT_UPROBE_PROCESS_FILTER_BPF_H
#define GT_UPROBE_PROCESS_FILTER_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "lib/uprobe/process_filter_config.h"

/* The few kernel types that are looked into; libbpf finds the real offsets. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};
struct pid_namespace {
	struct ns_common ns;
};
struct upid {
	int nr;
	struct pid_namespace *ns;
};
struct pid {
	unsigned int level;
	struct upid numbers[1];
};
struct counter {
	int counter;
};
struct signal_struct {
	struct counter live;
};
struct mm_struct {
	unsigned long start_stack;
};
/* A function that is running and whose return is watched. */
struct return_instance {
	unsigned long stack;		/* where its return address is */
	unsigned long orig_ret_vaddr;	/* and which that was */
	struct return_instance *next;	/* the one that it was called in */
};
struct uprobe_task {
	struct return_instance *return_instances;
};
struct task_struct {
	struct mm_struct *mm;
	struct uprobe_task *utask;
	int pid, tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct signal_struct *signal;
};
#pragma clang attribute pop

const volatile struct gt_process_filter_config gt_which SEC(".rodata.which");
/* Child processes that found no room in the list. */
__u64 gt_unfollowed SEC(".data.unfollowed");

/* The processes to watch, by their ids in the opener's namespace. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, __u32);
} processes SEC(".maps");

#define NS_DEPTH_MAX 32		/* the kernel's own limit */

/* 0 for a task that the opener's namespace cannot see. */
static __u32 id_in_namespace(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);
	const char *numbers = (const char *)pid + bpf_core_field_offset(struct pid, numbers);

	for (__u32 i = 0; i < NS_DEPTH_MAX && i <= level; i++) {
		struct upid *upid = (struct upid *)(numbers + i * bpf_core_type_size(struct upid));

		if (BPF_CORE_READ(upid, ns, ns.inum) == gt_which.pid_ns)
			return BPF_CORE_READ(upid, nr);
	}
	return 0;
}

static __u32 process_id(struct task_struct *task)
{
	if (!gt_which.pid_ns)
		return BPF_CORE_READ(task, tgid);
	return id_in_namespace(BPF_CORE_READ(task, group_leader));
}

static void current_ids(__u32 *pid, __u32 *tid)
{
	struct task_struct *task;
	__u64 ids;

	if (!gt_which.pid_ns) {
		ids = bpf_get_current_pid_tgid();
		*pid = ids >> 32;
		*tid = (__u32)ids;
		return;
	}
	task = (struct task_struct *)bpf_get_current_task();
	*pid = id_in_namespace(BPF_CORE_READ(task, group_leader));
	*tid = id_in_namespace(task);
}

static bool watched(__u32 pid)
{
	return gt_which.everybody || bpf_map_lookup_elem(&processes, &pid);
}

/* Arguments: the parent's task, the child's. */
SEC("raw_tp/sched_process_fork")
int gt_task_fork(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 parent = process_id((struct task_struct *)ctx->args[0]);
	__u32 child = process_id((struct task_struct *)ctx->args[1]);
	__u32 value = 0;

	if (!child || child == parent || !bpf_map_lookup_elem(&processes, &parent))
		return 0;
	if (bpf_map_update_elem(&processes, &child, &value, BPF_ANY))
		__sync_fetch_and_add(&gt_unfollowed, 1);
	return 0;
}

/* A thread ends; with the last one its process does. */
static void forget_process(struct task_struct *task)
{
	__u32 pid;

	if (gt_which.everybody || BPF_CORE_READ(task, signal, live.counter))
		return;
	pid = process_id(task);
	bpf_map_delete_elem(&processes, &pid);
}

#endif
