/* SPDX-License-Identifier: Apache-2.0 */
/* What process_filter.bpf.h and the library tell each other; <linux/types.h> first. */
#ifndef GT_UPROBE_PROCESS_FILTER_CONFIG_H
#define GT_UPROBE_PROCESS_FILTER_CONFIG_H

/* Constant while the programs run. */
struct gt_process_filter_config {
	__u32 pid_ns;		/* inode of the opener's pid namespace, 0: the initial one */
	__u32 everybody;	/* no filter */
};

#endif
