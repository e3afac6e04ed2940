/* SPDX-License-Identifier: Apache-2.0 */
/* The GPUs of this machine, for targets whose processes nobody asks which they use. */
#ifndef GT_METRICS_MACHINE_H
#define GT_METRICS_MACHINE_H

#include "lib/metrics/nvml.h"

struct gputrace_target;

/* All of them become the target's.  -ENODEV: there is none, and as of gt_nvml_error(); with gt_error() text. */
int gt_machine_add_gpus(struct gputrace_target *target, const struct gt_nvml *nvml);

#endif
