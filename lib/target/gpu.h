/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of a target: who they are, and their clocks. */
#ifndef GT_TARGET_GPU_H
#define GT_TARGET_GPU_H

#include <stdint.h>

#include <gputrace/gputrace.h>

#include "lib/wire/wire.h"

#define GT_GPUS_MAX 64		/* of one target */

struct gputrace_gpu {
	struct gputrace_gpu *next;
	uint32_t index;		/* below GT_GPUS_MAX */
	uint8_t uuid[16];
	uint32_t pci_domain, pci_bus, pci_device;
	char pci_address[24];
	uint32_t arch, sm_count;
	char name[96];
	struct gputrace_clock *clock;	/* reads the GPU's timer, or has no source */
	uint64_t next_update;		/* CLOCK_MONOTONIC ns: when it wants a sample */
	unsigned updates;
};

/* The GPU that a process says it has a context on, found or added.  -ENOSPC, -ENOMEM, or why there is no clock. */
int gt_gpu_get(struct gputrace_target *target, const struct gt_rec_context *record, struct gputrace_gpu **ret_gpu);
void gt_gpus_free(struct gputrace_target *target);

#endif
