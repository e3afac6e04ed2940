/* SPDX-License-Identifier: Apache-2.0 */
/* Why the clocks are not as high as they could be, in words. */
#ifndef GT_METRICS_REASONS_H
#define GT_METRICS_REASONS_H

#include <stdbool.h>
#include <stdint.h>

#define GT_REASONS_SIZE 256

/* Is it the metric of that? */
bool gt_reasons_are(const char *name);

/* "sw_power_cap, hw_slowdown", "none"; in the buffer of GT_REASONS_SIZE bytes, which is returned. */
const char *gt_reasons_text(uint64_t reasons, char *buffer);

#endif
