/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's side of a trace of calls: the BPF programs, the ring that they fill, and the processes that they watch. */
#ifndef GT_UPROBE_API_KERNEL_H
#define GT_UPROBE_API_KERNEL_H

#include <bpf/libbpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include "lib/uprobe/api_record.h"
#include "lib/uprobe/api_trace.h"
#include "lib/uprobe/process_filter.h"

struct gt_api_kernel {
	struct bpf_object *object;
	struct ring_buffer *ring;	/* of struct gt_api_record */
	struct gt_process_filter processes;
	struct gt_api_counters *counters;
	int enter_fd, leave_fd;		/* programs for the functions' entries and returns */
	bool multi;			/* they are for links to many places */
};

/*
 * Load the programs and watch the processes; fn gets what is in the ring when that is consumed.
 * The errors of gt_api_trace_open(), with gt_error() text.  On failure too, gt_api_kernel_stop() has to be called.
 */
int gt_api_kernel_start(struct gt_api_kernel *kernel, const struct gt_api_trace_opts *opts, ring_buffer_sample_fn fn,
			void *data);
void gt_api_kernel_stop(struct gt_api_kernel *kernel);

#endif
