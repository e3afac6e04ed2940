/* SPDX-License-Identifier: Apache-2.0 */
/* What single processes use of a GPU. */
#ifndef GT_METRICS_USAGE_H
#define GT_METRICS_USAGE_H

#include <stdint.h>

#include "lib/metrics/missing.h"
#include "lib/metrics/nvml.h"
#include "lib/metrics/outbox.h"

struct gt_usage {
	uint64_t since_us;		/* the driver's samples up to then have been seen */
	uint64_t since;			/* CLOCK_MONOTONIC ns: when they were asked for */
	unsigned lists;			/* of the processes that use the GPU, so often one was given */
};

void gt_usage_open(struct gt_usage *usage, const struct gt_nvml *nvml, gt_nvml_device device);
void gt_usage_sample(struct gt_usage *usage, const struct gt_nvml *nvml, gt_nvml_device device,
		     const struct gputrace_gpu *gpu, struct gt_missing *missing, struct gt_outbox *outbox);

#endif
