/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of one GPU, by the thread that samples. */
#ifndef GT_METRICS_DEVICE_H
#define GT_METRICS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/metrics/gpm.h"
#include "lib/metrics/missing.h"
#include "lib/metrics/nvml.h"
#include "lib/metrics/outbox.h"
#include "lib/metrics/usage.h"
#include "lib/target/gpu.h"

struct gt_metric_device {
	const struct gputrace_gpu *gpu;	/* for events; only the reader looks into it */
	struct gputrace_gpu identity;	/* a copy: the target may be gone before the driver answers */
	gt_nvml_device handle;
	bool opened, unknown;		/* unknown: the library does not have it */
	struct gt_missing missing;
	struct gt_gpm gpm;
	struct gt_usage usage;
};

/* Ask for what is selected (GPUTRACE_METRICS_*), and put it into the outbox. */
void gt_metric_device_sample(struct gt_metric_device *device, const struct gt_nvml *nvml, uint32_t select,
			     struct gt_outbox *outbox);
void gt_metric_device_close(struct gt_metric_device *device, const struct gt_nvml *nvml);

#endif
