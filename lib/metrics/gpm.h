/* SPDX-License-Identifier: Apache-2.0 */
/* GPM: counters of the GPU's units, as rates between two samples of them. */
#ifndef GT_METRICS_GPM_H
#define GT_METRICS_GPM_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/metrics/missing.h"
#include "lib/metrics/nvml.h"
#include "lib/metrics/outbox.h"

struct gt_gpm {
	bool supported;
	gt_nvml_gpm_sample earlier, later;
	uint64_t earlier_time;		/* CLOCK_MONOTONIC ns before it was taken; 0: there is none */
};

void gt_gpm_open(struct gt_gpm *gpm, const struct gt_nvml *nvml, gt_nvml_device device, struct gt_missing *missing);
void gt_gpm_close(struct gt_gpm *gpm, const struct gt_nvml *nvml);

/* Take a sample, if that is due, and put what there is between it and the one before into the outbox. */
void gt_gpm_sample(struct gt_gpm *gpm, const struct gt_nvml *nvml, gt_nvml_device device,
		   const struct gputrace_gpu *gpu, uint32_t select, struct gt_missing *missing, struct gt_outbox *outbox);

#endif
